"""Scenarios become pairs of request and reply by running them: through the engine, with a model that plays the script.

What a model learns is exactly what the product will show it, because the product writes it.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any, NamedTuple

import jsonschema_rs
import msgspec

from training.scenario import Act, Leave, Say, Scenario, Step, distractors
from training.worlds.tools import Facts
from treadle import Agent, Plugin, Tool
from treadle import Conversation as Talk
from treadle._dialects.base import Decision
from treadle._engine.context import RunContext
from treadle._engine.run import Run
from treadle._local.dialects.compact import CompactDialect
from treadle._models.catalog.providers import FREE, provider_named
from treadle._models.openai.chat_wire import ChatWriter
from treadle._models.transport.wire import encoded_messages
from treadle._plugins.guards.context_guard import SUMMARY, ContextGuard
from treadle._types.messages import ToolCall
from treadle._types.profile import Profile
from treadle._types.request import Reply, Request, StreamPart
from treadle._types.usage import Usage

PROFILE = Profile(json_mode=True, json_schema=True, grammar=True, logprobs=True, window=8192, prices=FREE)
TAUGHT = msgspec.structs.replace(PROFILE, parameters=1.0, adapter="taught")
"""Of a model with an adapter: the guards that stand beside it act in what is learnt as well."""
DIALECT = CompactDialect()


class Turn(NamedTuple):
    prompt: str
    reply: str
    trained: bool


class Conversation(NamedTuple):
    kind: str
    turns: list[Turn]


def chat_prompt(body: bytes) -> str:
    return chat_text(msgspec.json.decode(body)["messages"])


def chat_text(messages: Sequence[dict[str, str]]) -> str:
    """Messages as the ChatML template of Qwen 2.5 and SmolLM 2 shows them to the model."""
    text = "".join(f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages)
    return text + "<|im_start|>assistant\n"


def plain_prompt(question: str) -> str:
    """A question without tools, as a base model is asked for its own answer."""
    system = "You are a helpful assistant. Answer briefly."
    turns = f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{question}<|im_end|>\n"
    return turns + "<|im_start|>assistant\n"


def written(step: Step) -> str:
    """A step as the model writes it: in the dialect's form, with the blanks that the constraint engine demands."""
    match step:
        case Act():
            decision = Decision(calls=(ToolCall("", step.tool, step.args),))
        case Say():
            decision = Decision(answer=step.text, task_successful=step.successful)
        case Leave():
            decision = Decision(answer="", own_words=True)
    return spaced(DIALECT.write(decision))


def spaced(reply: str) -> str:
    """A reply with the blanks that the constraint engine demands."""
    return json.dumps(msgspec.json.decode(reply), ensure_ascii=False)


class PromptWriter:
    """What all models here share: how a request becomes the text a model reads."""

    name = "training"
    provider = "local"
    profile = PROFILE

    def __init__(self) -> None:
        self._writer = ChatWriter(self.name, provider_named("llamacpp"), PROFILE, {})

    def prompt(self, request: Request) -> str:
        return chat_prompt(
            self._writer.body(request.replace(format=None), encoded_messages(request, self, "local"), True)
        )

    async def aclose(self) -> None:
        pass


class Player(PromptWriter):
    """Plays the script and writes down what it was asked."""

    profile = TAUGHT

    def __init__(self, script: Sequence[Step], steering: str = "", steering_after: int = 1) -> None:
        super().__init__()
        self._script: Iterator[Step] = iter(script)
        self._steering, self._steering_after = steering, steering_after
        self.run: Run | None = None
        """The run that is steered."""
        self.turns: list[Turn] = []
        self.over = False
        self._words = ""

    async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
        if not request.tuned:  # the words of the base model
            yield Reply(self._words, usage=Usage(10, 10, requests=1))
            return
        step = next(self._script, None)
        if step is None:
            self.over = True
            raise RuntimeError("the engine asked for more than the script has")
        text = written(step)
        if not permitted(request, text):
            self.over = True
            raise RuntimeError(f"the engine's constraint does not permit {text}")
        self._words = step.text if isinstance(step, Leave) else ""
        self.turns.append(Turn(self.prompt(request), text, step.trained))
        if self._steering and self.run is not None:
            self._steering_after -= 1
            if not self._steering_after:
                self.run.send(self._steering)
                self._steering = ""
        yield Reply(text, usage=Usage(10, 10, requests=1))


def permitted(request: Request, text: str) -> bool:
    """Whether the constraint of the request lets a model write this."""
    if request.format is None or request.format.schema is None:
        return True
    return jsonschema_rs.is_valid(request.format.schema, msgspec.json.decode(text))


class Shortening(Plugin):
    """Puts a summary in the place of what was done so far, as a long run does: by the engine's own means."""

    name = "shortening"

    def __init__(self, summary: str, after: int) -> None:
        self.summary, self.left = summary, after + 1

    async def before_round(self, run: RunContext) -> None:
        self.left -= 1
        if self.left:
            return
        guard = ContextGuard(keep=0)
        covered = [entry for group in guard._removable(run, 0) for entry in group]
        await guard._replace(run, covered, SUMMARY + self.summary, "compacted")


def tools_of(r: random.Random, facts: Facts, scenario: Scenario, count: int) -> list[Tool]:
    """Of an agent that plays a scenario: its tools among others."""
    return [tool if isinstance(tool, Tool) else tool.tool() for tool in distractors(r, facts, scenario, count)]


def settings_of(system: str) -> dict[str, Any]:
    """Of an agent that plays a scenario."""
    settings: dict[str, Any] = {
        "answer": "direct",
        "dialect": "compact",
        "temperature": 0,
        "max_iterations": 14,
        "selection_threshold": None,
    }
    return settings | ({"system": system} if system else {})


async def render(
    r: random.Random, facts: Facts, scenario: Scenario, system: str, tool_count: int, guarded: bool = True
) -> Conversation | None:
    """The conversation, or None when the engine did not take the script as it is: a mistake of the script or, where it
    is `guarded`, a right call that a guard refused (about 4 of 1000 in the written worlds)."""
    tools = tools_of(r, facts, scenario, tool_count)
    settings = settings_of(system)
    if scenario.summary:
        settings["plugins"] = [Shortening(scenario.summary, scenario.summary_after)]
    past = [
        step if scenario.learn_history else step._replace(trained=False)
        for _, script in scenario.history
        for step in script
    ]
    player = Player([*past, *scenario.script], scenario.steering, scenario.steering_after)
    if not guarded:  # the guards act on models that are known to be small
        player.profile = msgspec.structs.replace(TAUGHT, parameters=None)
    talk = Talk(Agent(player, tools=tools, **settings))
    for question, script in [*scenario.history, (scenario.question, scenario.script)]:
        run = await talk.start(question)
        player.run = run if script is scenario.script else None
        try:
            result = await run
        except Exception:
            return None
        last = script[-1]
        if player.over or result.answer != (None if isinstance(last, Act) else last.text):
            return None
    if len(player.turns) != len(past) + len(scenario.script):
        return None
    if scenario.summary and scenario.summary not in player.turns[-1].prompt:
        return None
    return Conversation(scenario.kind, player.turns)
