"""python -m training.mistakes MODEL.gguf ADAPTER.gguf OUT.jsonl.xz [--scenarios 1500] [--seconds 120] [--seed 1001]

What an adapter still gets wrong, as conversations to learn from. It plays scenarios that it has never seen up to its
first mistake. Each becomes an example of what was right there, and, where the mistake was a call, an example of how to
go on after it: the call is shown with its real result, not learnt, and the script goes on behind it.
"""

from __future__ import annotations

import argparse
import asyncio
import lzma
import random
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from training.build import MIXTURE, SYSTEMS, tool_count
from training.render import DIALECT, Conversation, PromptWriter, Turn, render, settings_of, tools_of, written
from training.scenario import Act, Leave, Say, Scenario, Step, deal
from training.worlds.tools import Facts
from treadle import Agent, ModelError
from treadle._types.request import Reply, Request, StreamPart
from treadle._types.usage import Usage

LONG_TEXT = 40
"""Characters from which on the words of an argument are the model's own: a message, not a name."""
SIDE_BY_SIDE = 400


class Dealt(NamedTuple):
    """A scenario that can be dealt again, as it was."""

    make: Callable[[random.Random, Facts], Scenario]
    seed: str

    def deal(self) -> tuple[random.Random, Facts, Scenario, str, int]:
        r = random.Random(self.seed)
        facts, scenario = deal(r, lambda facts: self.make(r, facts))
        return r, facts, scenario, r.choice(SYSTEMS) if r.random() < 0.2 else "", tool_count(r)


class Mistake(NamedTuple):
    at: int
    """Which step of the script it stands in place of."""
    said: Step | None
    """None: nothing that could be read."""


def deals(seed: int, count: int) -> list[Dealt]:
    """In the shares of the mixture."""
    r = random.Random(seed)
    makes = r.choices([make for make, _ in MIXTURE], [number for _, number in MIXTURE], k=count)
    return [Dealt(make, f"{seed}-{index}") for index, make in enumerate(makes)]


def step_of(text: str) -> Step | None:
    """What a model wrote, as a step of a script."""
    try:
        decision = DIALECT.decode(Reply(text), ())
    except Exception:
        return None
    if decision.problem:
        return None
    if decision.calls:
        return Act(decision.calls[0].name, decision.calls[0].args)
    if decision.own_words:
        return Leave("")
    return Say(decision.answer or "", decision.task_successful is not False)


def agrees(said: Step | None, right: Step) -> bool:
    """Whether a step does what the script does. Words of an answer are free, its numbers are not."""
    match said, right:
        case Act(), Act():
            return said.tool == right.tool and _loose(said.args) == _loose(right.args)
        case Say(), Say():
            return said.successful == right.successful and _numbers(said.text) == _numbers(right.text)
        case _:
            return isinstance(said, Leave) and isinstance(right, Leave)


def _loose(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _loose(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_loose(inner) for inner in value]
    if isinstance(value, str):
        return "..." if len(value) > LONG_TEXT else value.strip().casefold()
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:\.\d+)?", text.replace(",", "")))


class Rehearsal(PromptWriter):
    """Follows the script while the model under test says the same; ends at the first step at which it does not."""

    def __init__(self, tested: Any, script: Sequence[Step]) -> None:
        super().__init__()
        self._tested, self._script, self._next = tested, script, 0
        self.mistake: Mistake | None = None

    async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
        if not request.tuned:
            yield Reply(".", usage=Usage(10, 10, requests=1))
            return
        right = self._script[self._next]
        if right.trained:
            text = ""
            async for part in self._tested.stream(request):
                text = part.text if isinstance(part, Reply) else text
            if not agrees(said := step_of(text), right):
                self.mistake = Mistake(self._next, said)
                raise ModelError("the first mistake", provider=self.provider)  # not tried again, as others would be
        self._next += 1
        yield Reply(written(right), usage=Usage(10, 10, requests=1))


async def first_mistake(dealt: Dealt, tested: Any) -> Mistake | None:
    r, facts, scenario, system, count = dealt.deal()
    if scenario.history or scenario.steering or scenario.summary:
        return None
    tools = tools_of(r, facts, scenario, count)
    rehearsal = Rehearsal(tested, scenario.script)
    try:
        await Agent(rehearsal, tools=tools, **settings_of(system)).run(scenario.question)
    except Exception as error:
        if rehearsal.mistake is None:
            print("not played:", scenario.kind, error)
    return rehearsal.mistake


async def lessons(dealt: Dealt, mistake: Mistake) -> list[Conversation]:
    """What can be learnt from a mistake; nothing when it was none, but another way to the same result."""
    r, facts, scenario, system, count = dealt.deal()
    plain = await render(r, facts, scenario, system, count)
    if plain is None:
        return []
    hard = Conversation("hard", [turn._replace(trained=at == mistake.at) for at, turn in enumerate(plain.turns)])
    said = mistake.said
    if not isinstance(said, Act):
        return [hard]
    if any(agrees(said, step) for step in scenario.script[mistake.at + 1 :]):
        return []  # it comes later: only the order is another one
    r, facts, scenario, system, count = dealt.deal()
    script = [*scenario.script[: mistake.at], said._replace(trained=False), *scenario.script[mistake.at :]]
    shown = await render(r, facts, scenario._replace(script=script, kind="mistake"), system, count)
    if shown is None:
        return [hard]
    after = mistake.at + 1
    if isinstance(scenario.script[mistake.at], Act) and _result(shown.turns, after) == _result(plain.turns, after):
        return []
    return [hard, Conversation("mistake", [t._replace(trained=at == after) for at, t in enumerate(shown.turns)])]


def _result(turns: Sequence[Turn], at: int) -> str:
    """What the model was shown last before a turn."""
    return turns[at].prompt.rpartition("<|im_start|>user\n")[2] if at < len(turns) else ""


async def collect(tested: Any, todo: Sequence[Dealt], until: float) -> list[Conversation]:
    found: list[Conversation] = []
    counts: Counter[str] = Counter()
    room = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(dealt: Dealt) -> None:
        async with room:
            if time.time() > until:
                return
            mistake = await first_mistake(dealt, tested)
            counts["played"] += 1
            if mistake is not None:
                counts[f"mistakes in {dealt.make.__name__}"] += 1
                found.extend(await lessons(dealt, mistake))

    await asyncio.gather(*map(one, todo))
    print(dict(counts.most_common()), flush=True)
    return found


def main() -> None:
    from training.evaluate import Batched
    from training.network import Network

    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("adapter", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--scenarios", type=int, default=1500)
    parser.add_argument("--seconds", type=float, default=120, help="after which no scenario is begun")
    parser.add_argument("--seed", type=int, default=1001)
    options = parser.parse_args()
    network = Network(options.model)
    network.restore(options.adapter)
    network.merge(True)
    tested = Batched(network, words=False)
    made = asyncio.run(collect(tested, deals(options.seed, options.scenarios), time.time() + options.seconds))
    part = options.out.with_name(f"{options.out.name}.part")
    part.write_bytes(lzma.compress(b"".join(msgspec.json.encode(one) + b"\n" for one in made)))
    part.replace(options.out)
    print(len(made), "conversations", dict(Counter(one.kind for one in made)))


if __name__ == "__main__":
    main()
