"""Agents and journals close without `await`; dropped ones leave nothing open; a forked process begins anew."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from kit import add, go
from processes import is_running
from programs import python
from treadle import Agent, Conversation, McpServer, McpTools, ScriptedModel, open_journal, tool
from treadle._agent.surfaces import all_ended
from treadle._types.errors import JournalError, TreadleError

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not list open files")
ADD = {"name": "add", "args": {"a": 1, "b": 2}}


def open_files(folder: Path) -> list[str]:
    """What this process has open there."""
    found: list[str] = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # the listing's own
            continue
        if target.startswith(str(folder)):
            found.append(target)
    return found


def nothing_is_open(folder: Path) -> bool:
    """Collects garbage first, each time: another thread may still have held a dropped agent the time before."""
    gc.collect()
    return not open_files(folder)


def soon(condition: Callable[[], object]) -> None:
    """Wait for what other threads do; the limit only ends a test that would hang."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def own_threads() -> int:
    """Without those of the event loop's pool, which keeps as many as it once needed at the same time."""
    return sum(not thread.name.startswith("asyncio_") for thread in threading.enumerate())


def hello(_: Any) -> str:
    return "Hello."


def test_an_agent_is_closed_by_with(tmp_path: Path):
    with Agent(ScriptedModel(hello), tools=None, journal=tmp_path / "runs.db") as agent:
        first = agent.run_sync("Hi")
        assert agent.resume_sync(first.run_id).answer == "Hello."
        assert open_files(tmp_path)
    assert open_files(tmp_path) == []


def test_an_agent_is_closed_by_close_also_twice_and_unused(tmp_path: Path):
    agent = Agent(ScriptedModel(hello), tools=None, journal=tmp_path / "runs.db")
    agent.close()
    agent.close()
    assert open_files(tmp_path) == []


def test_close_stops_a_run_of_another_event_loop(tmp_path: Path):
    started, ended = threading.Event(), list[str]()

    @tool
    async def wait() -> str:
        """Wait for ever."""
        started.set()
        await asyncio.Event().wait()
        return ""

    agent = Agent(ScriptedModel([{"name": "wait", "args": {}}]), [wait], journal=tmp_path / "runs.db")

    async def main() -> None:
        ended.append((await agent.start("go")).stop_reason)

    other = threading.Thread(target=asyncio.run, args=(main(),))
    other.start()
    assert started.wait(30)
    agent.close()
    other.join(30)
    assert ended == ["cancelled"]
    assert open_files(tmp_path) == []


def test_an_event_loop_that_ends_is_not_waited_for():
    loop = asyncio.new_event_loop()
    task = loop.create_task(asyncio.Event().wait())
    other = threading.Thread(target=loop.run_forever)
    other.start()
    loop.call_soon_threadsafe(loop.call_later, 0.2, loop.stop)
    asyncio.run(asyncio.wait_for(all_ended([task]), 30))
    other.join(30)
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()


def test_close_inside_what_run_sync_runs_says_what_to_write():
    @tool
    async def leave() -> str:
        """Close the agent from inside."""
        agent.close()
        return ""

    agent = Agent(ScriptedModel([{"name": "leave", "args": {}}, "."]), [leave])
    (step,) = agent.run_sync("go").steps
    assert isinstance(step.exception, TreadleError)


@pytest.mark.parametrize("used", [True, False])
def test_agents_that_are_dropped_leave_no_file_and_no_thread(tmp_path: Path, used: bool):
    Agent(ScriptedModel(hello), tools=None).run_sync("so that the bridge runs")
    before = own_threads()
    for number in range(5):
        agent = Agent(ScriptedModel([ADD, "3"]), [add], journal=tmp_path / f"{number}.db")
        if used:
            agent.resume_sync(agent.run_sync("1 + 2?").run_id)
    del agent
    soon(lambda: nothing_is_open(tmp_path))
    soon(lambda: own_threads() <= before)


def test_an_agent_in_a_garbage_cycle_leaves_nothing_open(tmp_path: Path):
    agent: Any = Agent(ScriptedModel(hello), tools=None, journal=tmp_path / "runs.db")
    agent.run_sync("Hi")
    agent.itself = agent
    del agent
    soon(lambda: nothing_is_open(tmp_path))


def test_a_journal_is_closed_without_await_and_says_so_afterwards(tmp_path: Path):
    journal = open_journal(tmp_path / "runs.db")
    agent = Agent(ScriptedModel(hello), tools=None, journal=journal)
    agent.run_sync("Hi")
    agent.close()  # the journal is not the agent's
    assert open_files(tmp_path)
    journal.close()
    journal.close()
    assert open_files(tmp_path) == []
    with pytest.raises(JournalError, match="the journal is closed: open another one"):
        agent.run_sync("Hi")
    open_journal("memory:").close()


async def test_closing_gives_up_the_runs_that_are_driven(tmp_path: Path):
    journal, other = open_journal(tmp_path / "runs.db"), open_journal(tmp_path / "runs.db")
    await journal.claim("r", "me")
    with pytest.raises(JournalError):
        await other.claim("r", "you")
    await asyncio.to_thread(journal.close)
    assert await other.claim("r", "you")
    await other.aclose()


def test_a_conversation_can_be_held_without_await(tmp_path: Path):
    seen = list[int]()

    def count(request: Any) -> str:
        seen.append(len(request.messages))
        return "Yes."

    with Agent(ScriptedModel(count), tools=None, journal=tmp_path / "runs.db") as agent:
        talk = Conversation(agent, "c")
        assert [talk.ask_sync(text).answer for text in ("One?", "Two?")] == ["Yes.", "Yes."]
    assert seen[1] > seen[0]


FORK = """
import gc, os, sys
from treadle import Agent, ScriptedModel
agent = Agent(ScriptedModel(lambda request: "Hello."), tools=None, journal="runs.db")
run = agent.run_sync("parent").run_id
agent.resume_sync(run)  # opens the second connection, for reading
before = {name for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")}
child = os.fork()
if child == 0:
    code = 1
    try:
        assert agent.run_sync("child").answer == "Hello."
        assert agent.resume_sync(run).answer == "Hello."
        now = {name for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")}
        assert len({name for name in now - before if "runs.db" in os.readlink(f"/proc/self/fd/{name}")}) >= 2, now
        agent.close()
        del agent
        gc.collect()
        kept = {name for name in before if os.path.exists(f"/proc/self/fd/{name}")}
        assert {name for name in kept if "runs.db" in os.readlink(f"/proc/self/fd/{name}")}, "the parent's were closed"
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0
assert agent.run_sync("parent again").answer == "Hello."
agent.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_opens_the_file_anew_and_leaves_the_parents_alone(tmp_path: Path):
    command = [sys.executable, "-W", "error", "-W", "ignore:This process:DeprecationWarning", "-c", FORK]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")

    async def questions() -> set[str]:
        async with aclosing(open_journal(tmp_path / "runs.db")) as journal:
            return {str(info.question) for info in await journal.list()}

    assert go(questions()) == {"parent", "child", "parent again"}


SERVER = """
import asyncio
from treadle import Toolkit, serve_mcp, tool

@tool(effect="pure")
def pid() -> int:
    "The number of this process."
    import os
    return os.getpid()

asyncio.run(serve_mcp(Toolkit([pid])))
"""


def test_the_process_of_an_mcp_server_ends_when_nobody_has_it_any_more(tmp_path: Path):
    pytest.importorskip("mcp")
    (tmp_path / "server.py").write_text(SERVER)
    program, *before = python()
    shop = McpServer("shop", command=program, args=[*before, str(tmp_path / "server.py")])
    model = ScriptedModel([{"name": "pid", "args": {}}, "Done."])
    agent = Agent(model, plugins=[McpTools(shop)])
    result = agent.run_sync("Which process?")
    process = int(str(result.steps[0].observation))
    gone = weakref.ref(shop)
    del shop, agent, model, result
    soon(lambda: gc.collect() >= 0 and gone() is None)
    soon(lambda: not is_running(process))
