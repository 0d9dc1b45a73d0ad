"""What a change does to recorded runs, checked against an oracle: a scripted model whose replies depend on every byte.

python3 tasks.py measure regress [RUNS]

Runs are recorded, 20 edits of different kinds are made to the agent, and `regress` says which runs are affected. The
oracle makes every run again in full: a run that was called unaffected and goes another way then is a wrong verdict.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import time
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from treadle import Agent, Budget, ScriptedModel, Tool, tool
from treadle._inspect.regress.check import regress
from treadle._journal.memory import MemoryJournal
from treadle._plugins.thinking.reflection import Reflection
from treadle._types.messages import ToolMessage, UserMessage, text_of
from treadle._types.request import Request

SYSTEM = "You are a clerk.\nBe polite.\nLook things up.\nAnswer in one sentence."


def facts(topic: str) -> str:
    """Look a topic up."""
    return f"About {topic}: " + " ".join(f"{topic} {index}" for index in range(len(topic) * 3))


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def plus(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b if a != 3 else a - b)


def book(what: str) -> str:
    """Book something."""
    return f"booked {what}"


def repeat(text: str) -> str:
    """Repeat a text."""
    return text


def tools(**described: str) -> list[Tool]:
    made = [tool(facts, effect="pure"), tool(add, effect="pure"), tool(book, effect="unsafe")]
    return [one.replace(description=described.get(one.name, one.description)) for one in made]


def rule(request: Request) -> Any:
    """Does what the hash of the whole request says: any other byte may make it do anything else."""
    asked = [text_of(m.content) for m in request.messages if isinstance(m, UserMessage)]
    done = sum(isinstance(m, ToolMessage) for m in request.messages)
    whole = msgspec.json.encode((request.messages, request.tools, request.temperature, request.max_tokens, request.seed,
                                 request.tool_choice, request.format))  # fmt: skip
    chance = random.Random(blake2b(whole, digest_size=8).digest())
    if done >= 2 + len(asked[0]) % 9 or not request.tools:
        return f"The answer to {asked[0]} is {chance.randrange(10**6)}."
    offered = [one.name for one in request.tools]
    name = "add" if len(asked[0]) % 2 and chance.random() < 0.7 else chance.choice(offered)
    args: dict[str, Any] = {
        "facts": {"topic": f"t{chance.randrange(50)}"},
        "add": {"a": chance.randrange(9), "b": done},
    }.get(name, {"what": f"seat {done}"})
    return {"name": name, "args": args}


def agent(system: str = SYSTEM, kit: Sequence[Tool] | None = None, journal: Any = None, name: str = "scripted",
          **settings: Any) -> Agent[Any, Any]:  # fmt: skip
    options: dict[str, Any] = {"max_iterations": 20, "on_error": "result"} | settings
    return Agent(ScriptedModel(rule, name=name), list(kit or tools()), system=system, journal=journal, **options)


def edits() -> dict[str, dict[str, Any]]:
    class Other(Reflection):
        name = "other"
        harmless = True

        async def after_round(self, run: Any) -> None:
            return

    return {
        "nothing": {},
        "a comment in the program": {},
        "a line of the prompt": {"system": SYSTEM.replace("Be polite.", "Be brief.")},
        "a blank at the end of the prompt": {"system": f"{SYSTEM} "},
        "a description": {"kit": tools(add="Add two whole numbers.")},
        "a prompt that no run has used": {"prompts": {"reflection": "Say what went wrong."}},
        "a longer window": {"context_budget": 50_000},
        "a tool more": {"kit": [*tools(), tool(repeat, effect="pure")]},
        "a tool less": {"kit": tools()[:2]},
        "the code of a tool": {
            "kit": [tool(plus, name="add", effect="pure") if t.name == "add" else t for t in tools()]
        },
        "temperature": {"temperature": 0.3},
        "a time limit for tools": {"tool_timeout": 7.0},
        "a budget that nobody spends": {"budget": Budget(tokens=10**7)},
        "another model": {"name": "another"},
        "a limit that few reach": {"max_iterations": 9},
        "a limit that nobody reaches": {"max_iterations": 30},
        "results are cut": {"max_observation_chars": 60},
        "results are cut later": {"max_observation_chars": 100_000},
        "a short history": {"max_history_messages": 8},
        "a history that is long enough": {"max_history_messages": 100},
        "a plug-in without effect": {"plugins": [Other()]},
    }


async def again(made: Agent[Any, Any], question: str) -> tuple[str, list[Any]]:
    run = made.start(question)
    await asyncio.wait([run.task])
    return run.state.finished.answer if run.state.finished else "", [(s.tool, s.args) for s in run.state.steps]


async def main(count: int) -> int:
    journal = MemoryJournal()
    made = random.Random(7)
    questions = [f"q{index}{'x' * made.randrange(20)}" for index in range(count)]
    runs, before = dict[str, str](), dict[str, Any]()
    for question in questions:
        run = agent(journal=journal).start(question)
        await asyncio.wait([run.task])
        runs[run.id] = question
        before[run.id] = (
            run.state.finished.answer if run.state.finished else "",
            [(s.tool, s.args) for s in run.state.steps],
        )
    wrong, saved, slowest = 0, list[float](), 0.0
    for name, options in edits().items():
        changed = agent(**options)
        began = time.process_time()
        report = await regress(changed, runs, journal=journal)
        seconds = time.process_time() - began
        unaffected = [one.run for one in report.runs if one.verdict == "unaffected"]
        outcomes = {run: await again(agent(**options), runs[run]) for run in unaffected}
        bad = sum(outcomes[run] != before[run] for run in unaffected)
        wrong, slowest = wrong + bad, max(slowest, seconds)
        saved.append(report.saved)
        print(
            f"{name:40} {len(unaffected):5} unaffected, {bad} wrongly; {report.saved:4.0%} saved; {seconds:5.1f} s; "
            f"{report.counts()}"
        )
    print(f"\n{len(runs)} runs, {len(saved)} edits: {wrong} wrongly called unaffected;")
    print(f"{statistics.median(saved):.0%} of the calls saved on the median edit; at most {slowest:.1f} s of CPU")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)))
