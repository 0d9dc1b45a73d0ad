"""A chat works for its first question while it is typed."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from cli.terminal import Terminal
from local.local_kit import GUARD, short
from treadle import Agent, tool
from treadle._cli.chat.conversation import Ahead
from treadle._local.runtime.job import in_thread
from treadle._types.messages import SystemMessage
from treadle._types.request import Request
from treadle.testing import ScriptedModel
from waiting import eventually

SECONDS = 60.0
SYSTEM = "You sell things."


@tool
def price(name: str) -> str:
    """What a thing costs."""
    return f"{name}: 3"


class Reading(ScriptedModel):
    """A model that reads ahead until it is let go."""

    needs_download = False

    def __init__(self, *replies: Any) -> None:
        super().__init__(list(replies))
        self.ahead: list[Request] = []
        self.begun, self.go_on, self.stopped = threading.Event(), threading.Event(), threading.Event()
        self.isolated = False
        self.failure: Exception | None = None

    def isolate(self, warm_seconds: float) -> None:
        self.isolated = True

    async def read_ahead(self, request: Request) -> None:
        self.ahead.append(request)
        self.begun.set()
        try:
            await in_thread(self.go_on.wait, daemon=True)
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        if self.failure is not None:
            raise self.failure

    async def load(self) -> None:
        self.begun.set()


def test_without_a_prompt_that_is_known_before_the_model_is_only_loaded():
    model = Reading()
    ahead = Ahead()
    ahead.start(Agent(model, [price], system=lambda context: SYSTEM))
    assert model.begun.wait(SECONDS)
    asyncio.run(ahead.done())
    assert model.ahead == []


def test_it_reads_what_the_first_request_begins_with():
    model = Reading("done")
    agent = Agent(model, [price], system=SYSTEM)
    ahead = Ahead()
    ahead.start(agent)
    assert model.begun.wait(SECONDS)
    assert model.isolated, "loading it here would stop everything else, Ctrl-C as well"

    async def ask() -> None:
        waiting = asyncio.ensure_future(ahead.done())
        await asyncio.sleep(0.05)
        assert not waiting.done(), "a question waits for what is being read"
        model.go_on.set()
        await waiting
        await ahead.done()
        await agent.run("What is a pen?")

    asyncio.run(ask())
    (system,) = model.ahead[0].messages
    assert isinstance(system, SystemMessage)
    assert SYSTEM in system.text
    assert model.requests[0].messages[0] == system
    assert model.requests[0].tuned == model.ahead[0].tuned


def test_it_stops_when_the_chat_ends_and_when_another_model_is_chosen():
    first, second = Reading(), Reading()
    ahead = Ahead()
    ahead.start(Agent(first, [price], system=SYSTEM))
    assert first.begun.wait(SECONDS)
    ahead.start(Agent(second, [price], system=SYSTEM))
    assert first.stopped.wait(SECONDS)
    assert second.begun.wait(SECONDS)
    ahead.stop()
    assert second.stopped.wait(SECONDS)


def test_what_fails_is_left_to_the_question():
    model = Reading()
    model.failure = RuntimeError("no memory")
    model.go_on.set()
    ahead = Ahead()
    ahead.start(Agent(model, [price], system=SYSTEM))
    asyncio.run(ahead.done())


def test_nothing_is_begun_for_a_model_that_cannot_or_that_has_to_be_downloaded():
    missing = Reading()
    missing.needs_download = True
    for model in (ScriptedModel([]), missing):
        ahead = Ahead()
        ahead.start(Agent(model, [price], system=SYSTEM))
        assert ahead._thread is None
    assert missing.ahead == []


@pytest.mark.model
@GUARD
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_real_model_reads_its_instructions_before_there_is_a_question(home: Path):
    cache = home / "cache"
    with Terminal(home, "chat", "-m", f"local:{short()}", TREADLE_CACHE=str(cache)) as screen:
        screen.wait_for_prompt()
        # It is written under another name first.
        eventually(
            lambda: [file for file in (cache / "prompts").glob("*") if "." not in file.name], "the prompt is kept"
        )
        screen.type("\x04")
        assert screen.end() == 0
