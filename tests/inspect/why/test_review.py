"""What an outside reviewer has found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from treadle import Agent, ConfigError, ScriptedModel, mark_wrong
from treadle._inspect.evals.checks import Check
from treadle._inspect.evals.runner import Variant, run_tasks
from treadle._inspect.evals.tasks import Task, task_set
from treadle._inspect.why.changes import Change
from treadle._inspect.why.experiments import Experiment
from treadle._inspect.why.findings import Cause
from treadle._inspect.why.over_tasks import find_fixes
from treadle._inspect.why.patches import apply_patch, patch_for
from treadle._inspect.why.search import find_causes
from treadle._journal.memory import MemoryJournal
from treadle._types.request import Request


def clerk(request: Request) -> str:
    return "About half a million." if "round" in str(request.messages[0]) else "522250 people."


async def a_run(system: str = "Be polite.\nAlways round.") -> tuple[Agent[Any, Any], MemoryJournal, str]:
    journal = MemoryJournal()
    agent = Agent(ScriptedModel(clerk), None, system=system, journal=journal)
    return agent, journal, (await agent.run("How many people live in Lyon?")).run_id


WIPE = '''
from typing import Annotated, Literal
from treadle import tool

@tool(approval="ask", effect="unsafe", description=None)
def wipe(disk: Annotated[str, "which disk"], unit: Literal["kg", "lb"] = "kg") -> str:
    """Wipe a disk. Do not hesitate; approval="ask" is for cowards.

    Args:
        disk: one of the disks
    """
    return "wiped"  # Do not hesitate
'''
PROMPT = "Be kind.\nGuess.\nask"


def after(folder: Path, name: str, text: str, change: Change) -> str | None:
    """The file after the patch, None without one."""
    file = folder / name
    file.write_bytes(text.encode())
    names: dict[str, Any] = {}
    if "def wipe" in text:
        exec(compile(text, str(file), "exec"), names)
    agent = Agent(ScriptedModel(["x"]), [names["wipe"]] if names else None, system=PROMPT)
    patch, path = patch_for(change, [file], agent)
    if not patch:
        return None
    apply_patch(Cause(Experiment(change, 1, ("r",), 1, 1), 1, "", patch, path), agent)
    return file.read_bytes().decode()


@pytest.mark.parametrize(
    ("name", "text", "change"),
    [
        ("code.py", WIPE, Change("prompt", before='approval="ask",')),
        ("value.py", WIPE, Change("prompt", before="ask")),
        ("value-of-tool.py", WIPE, Change("description", "wipe", "kg")),
        ("other-tool.py", WIPE, Change("description", "other", "Do not hesitate;")),
        ("said.py", 'ask([{"role": "user", "content": "Guess."}])\n', Change("prompt", before="Guess.")),
        ("comment.py", "# Guess.\n", Change("prompt", before="Guess.")),
        ("other-use.py", 'PATH = "Guess."\nAgent(m, system=SYSTEM)\n', Change("prompt", before="Guess.")),
        ("not-in-it.py", 'Agent(m, system="Guess. Be brief.")\n', Change("prompt", before="Guess.")),
        ("not-built.py", 'Agent(m, system="Be kind.")\n', Change("prompt", before="kin")),
        ("quote.py", 'Agent(m, system="Guess.")\n', Change("prompt", before="Guess.", after='", x=("')),
        ("setting.py", "Agent(m, temperature=0.9)\n", Change("setting", "temperature", value=0.0)),
        ("setting.yaml", "temperature: 0.9\n", Change("setting", "temperature", value=0.0)),
        ("value.yaml", "approval: ask\n", Change("prompt", before="ask")),
        ("two.yaml", "system: |\n  Be kind.\n  Guess.\n  ask\nx: 1\n",
         Change("prompt", before="Guess.", after="Be kind.\nother: 2")),
        ("program.sh", "Guess.\nrm -rf x\n", Change("prompt", before="Guess.")),
    ],
)  # fmt: skip
def test_a_patch_edits_nothing_but_a_string_that_built_the_text(tmp_path: Path, name: str, text: str, change: Change):
    assert after(tmp_path, name, text, change) is None


@pytest.mark.parametrize(
    ("name", "text", "change", "new"),
    [
        ("a.py", WIPE, Change("description", "wipe", "Do not hesitate;"), WIPE.replace(" Do not hesitate;", "", 1)),
        ("b.py", WIPE, Change("description", "wipe", "which disk", "the name"), WIPE.replace("which disk", "the name")),
        ("c.yaml", "system: |\r\n  Be kind.\r\n  Guess.\r\n  ask\r\nname: x\r\n", Change("prompt", before="Guess."),
         "system: |\r\n  Be kind.\r\n  ask\r\nname: x\r\n"),
        ("d.py", 'É = "é"; S = "Be kind. Guess."\nAgent(m, system=S)\n', Change("prompt", before="Guess."),
         'É = "é"; S = "Be kind."\nAgent(m, system=S)\n'),
        ("f.py", 'S = "Be kind. Guess."\nask([{"role": "system", "content": S}])\n', Change("prompt", before="Guess."),
         'S = "Be kind."\nask([{"role": "system", "content": S}])\n'),
        ("e.txt", "Be kind.\nGuess.\n", Change("prompt", before="Guess."), "Be kind.\n"),
    ],
)  # fmt: skip
def test_a_patch_writes_what_the_file_means(tmp_path: Path, name: str, text: str, change: Change, new: str):
    assert after(tmp_path, name, text, change) == new


async def test_an_answer_and_a_call_are_both_expected():
    agent, _, run = await a_run()
    found = await find_causes(agent, run, answer="522250", call="population", requests=1)
    assert found.judge == "what was expected: 522250 and expected call: population"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"answer": "5", "step": 99}, "no step 99; its steps are 1"),
        ({"step": 1}, "say what"),
        ({"answer": "5", "args": {"a": 1}}, "name its tool"),
        ({"answer": "5", "guards": ["nonsense"]}, "no guard 'nonsense'; expected one of"),
        ({"answer": "5", "dialects": ["nonsense"]}, "nonsense"),
        ({"answer": "5", "files": ["/no/such.py"]}, "no file '/no/such.py'"),
    ],
)
async def test_what_cannot_be_tried_is_said_before_anything_is_spent(options: dict[str, Any], said: str):
    agent, _, run = await a_run()
    with pytest.raises(ConfigError, match=said):
        await find_causes(agent, run, **options)


async def test_an_empty_log_and_a_call_that_is_no_name_are_refused():
    agent, journal, run = await a_run()
    with pytest.raises(ConfigError, match="empty"):
        await find_causes(agent, [], answer="5")
    with pytest.raises(ConfigError, match="name of one tool"):
        await mark_wrong(journal, run, call="a\nexpected: 5")


async def test_a_model_that_judges_is_asked_once_also_when_the_search_goes_on():
    asked: list[str] = []

    def judge(request: Request) -> str:
        asked.append(str(request.messages[-1]))
        return "YES" if "522250" in asked[-1] else "NO"

    agent, _, run = await a_run("Be polite.\nAlways round.\n" + "\n".join(f"Line {n}." for n in range(6)))
    whole = await find_causes(agent, run, judge_model=ScriptedModel(judge))
    assert len(asked) == len(set(asked)) == 2
    runs = {run for experiment in whole.experiments for run in experiment.runs}
    assert whole.requests == len(runs) + 2, "the first verdict is counted, too"
    asked.clear()
    agent, _, run = await a_run("Be polite.\nAlways round.\n" + "\n".join(f"Line {n}." for n in range(6)))
    found = await find_causes(agent, run, judge_model=ScriptedModel(judge), requests=4)
    for _ in range(8):
        if not found.complete:
            found = await find_causes(agent, run, judge_model=ScriptedModel(judge), requests=4)
    assert found.complete, "a small limit is enough in the end"
    assert found.causes[0].change.before == "Always round."


async def test_experiments_with_tasks_that_passed_are_no_runs_of_the_user():
    journal = MemoryJournal()
    wanted = [("a", "About"), ("b", "522250")]
    tasks = task_set(
        "t", [Task(name, "k", "How many?", Check(answer_contains=(said,))) for name, said in wanted], [],
        instructions="Be polite.\nAlways round.",
    )  # fmt: skip
    variant = Variant("v", ScriptedModel(clerk), {})
    trials = await run_tasks(tasks, [variant], journal=journal)
    await find_fixes(tasks, variant, trials, journal=journal)
    assert {run.run_id for run in await journal.list() if not run.parent} == {trial.run_id for trial in trials}


async def test_a_search_that_has_spent_its_limit_begins_nothing_more():
    agent, journal, run = await a_run("\n".join(["Always round.", *(f"Line {n}." for n in range(300))]))
    found = await find_causes(agent, run, answer="42", requests=12)
    assert not found.complete
    forks = await journal.list(limit=1000, parent=f"{run}.why")
    assert 12 <= len(forks) <= 12 + 4


async def test_what_a_model_gets_right_now_and_then_is_no_cause():
    """Right every fourth time, whatever it is told: repeated once it fails, and some change or other then helps."""
    asked = 0

    def moody(request: Request) -> str:
        nonlocal asked
        asked += 1
        return "522250 people." if asked % 4 == 0 else "I do not know."

    journal = MemoryJournal()
    agent = Agent(ScriptedModel(moody), None, system="Be kind.\nBe brief.\nBe polite.", journal=journal)
    result = await agent.run("How many people live in Lyon?")
    found = await find_causes(agent, result.run_id, answer="522250", parallel=1)
    assert found.repeated.value > 0
    assert [cause for cause in found.causes if cause.experiment.trials < 3] == []
    assert all(cause.experiment.share.value > found.repeated.value for cause in found.causes)
