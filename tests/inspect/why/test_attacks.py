"""Runs, journals and judges that are not as one would wish."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from programs import python
from record.exchanges import lamp_run, recorded
from treadle import Agent, ConfigError, DagAgent, JournalError, RunBusyError, ScriptedModel, open_journal, tool
from treadle._engine.core.experiment import is_search
from treadle._inspect.why.changes import Change
from treadle._inspect.why.notebook import read_notebook
from treadle._inspect.why.search import find_causes
from treadle._journal.memory import MemoryJournal
from treadle._types.messages import ToolMessage, text_of
from treadle._types.request import Request


def clerk(request: Request) -> str:
    return "wrong" if "Err." in str(request.messages[0]) else "right"


async def broken(journal: Any = None, rule: Any = clerk, **options: Any) -> tuple[Agent[Any, Any], str]:
    agent = Agent(ScriptedModel(rule), None, system="Be kind.\nErr.", journal=journal or MemoryJournal(), **options)
    return agent, (await agent.run("q")).run_id


async def test_a_judge_that_raises_has_not_said_that_anything_is_right():
    def moody(state: Any) -> bool:
        if state.finished.answer == "right":
            raise ValueError("I cannot say")
        return False

    agent, run = await broken()
    found = await find_causes(agent, run, check=moody)
    assert found.causes == ()
    assert any("the judge failed: ValueError: I cannot say" in one.why for one in found.experiments)


async def test_a_check_that_always_says_yes_finds_nothing_wrong():
    agent, run = await broken()
    with pytest.raises(ConfigError, match="nothing is wrong with this run"):
        await find_causes(agent, run, check=lambda state: True)


async def test_a_check_that_says_yes_to_every_fork_is_chance_not_a_cause():
    seen: list[int] = []

    def forgetful(state: Any) -> bool:
        seen.append(1)
        return len(seen) > 1

    agent, run = await broken()
    found = await find_causes(agent, run, check=forgetful)
    assert found.causes == ()
    assert found.repeated.value == 1
    assert "chance, as far as can be seen" in str(found)


async def test_a_run_made_of_other_runs_names_them():
    plan = '{"steps": [{"id": "a", "task": "one", "depends_on": []}]}'

    def rule(request: Request) -> str:
        return plan if "plan" in request.component else "wrong"

    journal = MemoryJournal()
    agent = DagAgent(ScriptedModel(rule), None, journal=journal)
    run = await agent.run("q")
    records = await journal.load(run.run_id)
    if not any(type(record.event).__name__ == "StepStarted" for record in records):
        pytest.fail("the plan has not been followed")
    with pytest.raises(ConfigError, match="made of other runs: give its plan or document as the agent, or look at"):
        await find_causes(Agent(ScriptedModel(rule), journal=journal), run.run_id, answer="right")


async def test_an_experiment_is_not_searched_itself():
    agent, run = await broken()
    found = await find_causes(agent, run, answer="right")
    with pytest.raises(ConfigError, match="is an experiment itself"):
        await find_causes(agent, found.causes[0].experiment.runs[0], answer="right")


async def test_a_huge_run_is_searched_within_its_limit():
    """Three hundred results, one of them poisoned: several are withheld at a time."""

    @tool(effect="pure")
    def look(n: int) -> str:
        """Look."""
        return "poison" if n == 211 else f"fine {n}"

    def reader(request: Request) -> Any:
        got = [str(m.content) for m in request.messages if type(m).__name__ == "ToolMessage"]  # type: ignore[attr-defined]
        if len(got) < 300:
            return [{"name": "look", "args": {"n": n}} for n in range(len(got), len(got) + 60)]
        return "wrong" if "poison" in got else "right"

    agent = Agent(ScriptedModel(reader), [look], journal=MemoryJournal(), selection_threshold=None)
    result = await agent.run("q")
    assert result.answer == "wrong"
    found = await find_causes(agent, result.run_id, answer="right")
    assert found.causes, str(found)
    assert found.causes[0].change.before == "poison"
    assert found.requests <= 120, "not one experiment for each of the three hundred"


async def test_a_journal_that_cannot_be_written_to_is_an_error_that_says_so(tmp_path: Path):
    path = tmp_path / "journal.db"
    journal = open_journal(str(path))
    _, run = await broken(journal)
    await journal.aclose()

    class ReadOnly(MemoryJournal):
        async def append(self, records: Any) -> None:
            raise JournalError("the journal is read-only")

    kept = ReadOnly()
    agent = Agent(ScriptedModel(clerk), None, system="Be kind.\nErr.", journal=kept)
    records = await open_journal(str(path)).load(run)
    with pytest.raises(JournalError, match="read-only"):
        await find_causes(agent, records, answer="right")


async def test_two_searches_about_one_run_are_not_made_at_once():
    journal = MemoryJournal()
    agent, run = await broken(journal)
    await journal.claim(f"{run}.why", "somebody else")
    with pytest.raises(RunBusyError, match="another search for the causes"):
        await find_causes(agent, run, answer="right")
    await journal.release(f"{run}.why", "somebody else")
    assert (await find_causes(agent, run, answer="right")).causes


async def test_what_a_search_leaves_is_hidden_and_goes_with_its_run():
    journal = MemoryJournal()
    agent, run = await broken(journal)
    found = await find_causes(agent, run, answer="right")
    assert [info.run_id for info in await journal.list(parent="")] == [run]
    (search,) = await journal.list(parent=run)
    assert is_search(search.run_id)
    assert len(await journal.list(parent=search.run_id, limit=500)) == len(
        {r for e in found.experiments for r in e.runs}
    )
    noticed = await read_notebook(journal, run)
    assert [note["what"] for note in noticed.notes][:2] == ["began", "tried"]
    assert noticed.notes[-1]["what"] == "found"
    await journal.delete(run)
    assert await journal.list(limit=500) == []


async def test_what_cannot_be_followed_is_said():
    @tool(effect="unsafe")
    def archive() -> str:
        """The archive."""
        return "right"

    def believer(request: Request) -> Any:
        got = [m for m in request.messages if type(m).__name__ == "ToolMessage"]
        if "Err." in str(request.messages[0]):
            return "wrong"
        return str(got[-1].content) if got else {"name": "archive", "args": {}}  # type: ignore[attr-defined]

    agent = Agent(ScriptedModel(believer), [archive], system="Be kind.\nErr.", journal=MemoryJournal())
    run = (await agent.run("q")).run_id
    found = await find_causes(agent, run, answer="right")
    assert found.causes == ()
    said = "a result is needed that nobody knows:\n  the system prompt without 'Err.' (then it calls archive)"
    assert said in str(found)


SEARCH = """
import asyncio, os, sys
from treadle import Agent, ScriptedModel, find_causes, open_journal
import time

def rule(request):
    if "Err." in str(request.messages[0]) and len(request.messages) == 2:
        return "wrong"
    return "right"

async def main():
    agent = Agent(ScriptedModel(rule), None, system="\\n".join([*(f"Rule {n}." for n in range(6)), "Err."]),
                  journal=open_journal(sys.argv[1]))
    if sys.argv[2] == "record":
        print((await agent.run("q")).run_id)
        return
    seen = []
    def stop(experiment):
        seen.append(experiment)
        if sys.argv[3] == "kill" and len(seen) == 3:
            os.kill(os.getpid(), 9)
    found = await find_causes(agent, sys.argv[2], answer="right", parallel=1, on_experiment=stop)
    print(found.requests, found.causes[0].change.before, found.complete)
    await agent.journal.aclose()

asyncio.run(main())
"""


def test_a_search_that_is_killed_goes_on_where_it_was(tmp_path: Path):
    program, journal = tmp_path / "search.py", str(tmp_path / "journal.db")
    program.write_text(SEARCH)

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*python(), str(program), journal, *args], capture_output=True, text=True, timeout=100, check=False
        )

    recorded = run("record", "").stdout.strip()
    killed = run(recorded, "kill")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    again = run(recorded, "on")
    assert again.returncode == 0, again.stderr
    requests, cause, complete = again.stdout.rsplit(maxsplit=2)[0].split(" ", 1)[0], "Err.", "True"
    assert f"{cause} {complete}" in again.stdout
    whole = run(run("record", "").stdout.strip(), "on")
    assert int(requests) == int(whole.stdout.split()[0]) - 3, "the three that were done are read, not asked again"


async def test_a_change_that_the_log_cannot_have_is_left_out_not_fatal():
    agent, run = await broken()
    found = await find_causes(
        agent, run, answer="right", also=[(Change("prompt", before="no such line"), 1), (Change("nothing"), 99)]
    )
    assert found.causes[0].change.before == "Err."


async def test_a_run_that_another_program_made_and_treadle_recorded():
    """Its tools are not here: their results come from the log, and nothing else does."""
    journal = MemoryJournal()
    (records,) = await recorded(lamp_run(), journal=journal)

    def other_model(request: Request) -> Any:
        got = [text_of(m.content) for m in request.messages if isinstance(m, ToolMessage)]
        return f"The lamp costs {got[-1]} dollars." if got else {"name": "price", "args": {"item": "lamp"}}

    agent = Agent(ScriptedModel(other_model), None, journal=journal)
    found = await find_causes(agent, records[0].run, answer="41")
    assert found.located is not None, str(found)
    assert (found.located.change.name, found.located.change.before) == ("price", "40")
    assert all(one.ran == () for one in found.experiments)


async def test_a_secret_beside_the_cause_in_a_file_does_not_reach_the_journal(tmp_path: Path):
    secret = "sk-live-0123456789abcdef"
    file = tmp_path / "agent.yaml"
    file.write_text(f"key: {secret}\nsystem: |\n  Be kind.\n  Err.\n")
    journal = MemoryJournal()
    agent, run = await broken(journal, secrets=[secret])
    found = await find_causes(agent, run, answer="right", files=[file])
    assert secret in found.causes[0].patch, "whoever searches sees their own file"
    assert secret not in str([await journal.load(info.run_id) for info in await journal.list(limit=500)])
