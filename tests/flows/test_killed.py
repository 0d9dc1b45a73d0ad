"""Work of another agent survives `kill -9`, and goes on when a worker of Temporal takes over."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kit import call, until
from programs import python
from treadle import Agent, ScriptedModel, tool
from treadle._flows.background import BackgroundAgents
from treadle._journal.base import InboxItem
from treadle._journal.memory import MemoryJournal
from treadle._types import events as ev


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize(("kind", "requests"), [("handoff", 3), ("background", 5)])
def test_killed_in_the_middle_it_goes_on_in_the_next_process(kind: str, requests: int, tmp_path: Path):
    program = [*python(), str(Path(__file__).with_name("killed.py")), kind]
    arguments = [str(tmp_path / "journal.db"), str(tmp_path / "mark")]
    first = subprocess.run([*program, *arguments], capture_output=True, text=True)
    assert first.returncode == -signal.SIGKILL, first.stderr
    second = subprocess.run([*program, *arguments], capture_output=True, text=True)
    assert second.stdout.startswith("It is in the attic."), second.stdout + second.stderr
    assert int(second.stdout.split()[-1]) == requests


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_in_parallel_branches_a_document_repeats_only_what_was_open(tmp_path: Path):
    journal, mark = tmp_path / "journal.db", tmp_path / "mark"
    program = [*python(), str(Path(__file__).with_name("killed.py")), "document", str(journal), str(mark)]
    first = subprocess.run(program, capture_output=True, text=True)
    assert first.returncode == -signal.SIGKILL, first.stderr
    assert mark.read_text().split()[0] == "first"
    second = subprocess.run(program, capture_output=True, text=True)
    assert second.stdout.strip() == "<last <left> <right>>", second.stderr
    assert Counter(mark.read_text().split()) == {"first": 1, "left": 2, "right": 2, "last": 1}


@pytest.mark.parametrize("kind", ["handoff", "background"])
async def test_another_worker_of_temporal_goes_on_with_it(kind: str):
    pytest.importorskip("temporalio")
    from temporalio.testing import ActivityEnvironment

    from treadle._durable.temporal import Advancer

    journal, reached, go_on = MemoryJournal(), asyncio.Event(), asyncio.Event()

    @tool(effect="pure", timeout=None)
    async def look() -> str:
        """Look."""
        reached.set()
        await go_on.wait()
        return "found"

    def inner(request: Any) -> Any:
        return call("look") if len(request.messages) < 2 else "It is in the attic."

    def outer(request: Any) -> Any:
        words = [str(getattr(message, "content", "")) for message in request.messages]
        if kind == "handoff":
            return call("transfer_to_scout", reason="it knows")
        ended = any("has ended" in text for text in words)
        return words[-1] if ended else call("start_scout", task="look") if len(words) < 2 else "Too early."

    def worker() -> Advancer:
        scout = Agent(ScriptedModel(inner), [look], name="scout")
        handed = kind == "handoff"
        tools, plugins = ([scout.as_handoff()], []) if handed else (None, [BackgroundAgents(scout)])
        return Advancer({"agent": Agent(ScriptedModel(outer), tools, plugins=plugins)}, journal)

    await journal.put(InboxItem("start-r", "r", "start", {"question": "Where is it?", "agent": "agent"}))
    first = asyncio.create_task(ActivityEnvironment().run(worker().advance, "r"))
    await until(reached.is_set)
    first.cancel()  # the worker is shut down: it lets go without an end
    await asyncio.wait([first])
    assert not any(isinstance(record.event, ev.RunFinished) for record in await journal.load("r"))
    go_on.set()
    assert await ActivityEnvironment().run(worker().advance, "r") in ("answer", "final_tool")
    last = (await journal.load("r"))[-1].event
    assert isinstance(last, ev.RunFinished)
    assert last.answer.endswith("It is in the attic.")
