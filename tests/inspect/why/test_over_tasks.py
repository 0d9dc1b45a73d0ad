"""Which single change fixes most of a set and breaks none."""

from __future__ import annotations

from typing import Any

from why.scripted import EFFECTS, census, population, results_of, system_of

from treadle import ScriptedModel
from treadle._inspect.evals.checks import Check
from treadle._inspect.evals.runner import Variant, run_tasks
from treadle._inspect.evals.tasks import Task, TaskSet, task_set
from treadle._inspect.why.over_tasks import find_fixes
from treadle._journal.memory import MemoryJournal
from treadle._types.messages import UserMessage, text_of
from treadle._types.request import Request


def clerk(request: Request) -> Any:
    """One line keeps it from looking things up, another one makes it greet."""
    question = next(text_of(m.content) for m in request.messages if isinstance(m, UserMessage))
    system, got = system_of(request), results_of(request)
    if "hello" in question:
        return "Good day." if "Greet." in system else "What?"
    if "from memory" in system:
        return "I think 5."
    if "Greet." in system and "Nantes" in question:
        return "Good day."
    city = "Nantes" if "Nantes" in question else "Lyon"
    return f"{got[-1]} people." if got else {"name": "population", "args": {"city": city}}


def tasks() -> TaskSet:
    def task(name: str, question: str, answer: str | int) -> Task:
        return Task(name, "k", question, Check(answer_contains=answer))

    return task_set(
        "clerk",
        [
            task("lyon", "People in Lyon?", 522250),
            task("lyon2", "How many in Lyon?", 522250),
            task("hello", "Say hello", "day"),
        ],
        [population, census],
        instructions="Greet.\nAnswer from memory.",
    )


async def test_the_change_that_fixes_most_and_breaks_none_is_first():
    journal, variant = MemoryJournal(), Variant("v", ScriptedModel(clerk))
    trials = await run_tasks(tasks(), [variant], journal=journal)
    assert [trial.passed for trial in trials] == [False, False, True]
    EFFECTS.clear()
    found = await find_fixes(tasks(), variant, trials, journal=journal)
    assert found.fixes[0].change.before == "Answer from memory."
    assert found.fixes[0].fixes == ("lyon", "lyon2")
    assert found.fixes[0].breaks == ()
    assert set(found.causes) == {"lyon", "lyon2"}
    assert found.complete
    assert EFFECTS == []
    assert "fixes 2 (lyon, lyon2), breaks none" in str(found)


async def test_what_a_change_breaks_is_said():
    def moody(request: Request) -> Any:
        question = next(text_of(m.content) for m in request.messages if isinstance(m, UserMessage))
        brief = "Be brief." in system_of(request)
        return (
            ("no" if brief else "522250") if "Lyon" in question else ("Good day." if brief else "Good evening to you.")
        )

    set_of_tasks = TaskSet("t", tasks().tasks, tasks().make_tools, "Be brief.")
    journal, variant = MemoryJournal(), Variant("v", ScriptedModel(moody))
    trials = await run_tasks(set_of_tasks, [variant], journal=journal)
    found = await find_fixes(set_of_tasks, variant, trials, journal=journal)
    assert found.fixes[0].fixes == ("lyon", "lyon2")
    assert found.fixes[0].breaks == ("hello",)
    assert "breaks 1 (hello)" in str(found)


async def test_the_limit_holds_for_the_whole_set():
    model = ScriptedModel(clerk)
    journal, variant = MemoryJournal(), Variant("v", model)
    trials = await run_tasks(tasks(), [variant], journal=journal)
    before = len(model.requests)
    found = await find_fixes(tasks(), variant, trials, journal=journal, requests=3)
    assert len(model.requests) - before <= 3
    assert not found.complete
    assert "not finished" in str(found)


async def test_what_breaks_nothing_comes_first_however_much_another_one_fixes():
    """Without one line both failed tasks go right and one breaks; without the other, one goes right and none breaks."""

    def clerk(request: Request) -> Any:
        question = next(text_of(m.content) for m in request.messages if isinstance(m, UserMessage))
        brief, shy = "Be brief." in system_of(request), "Be shy." in system_of(request)
        if "hello" in question:
            return "Good day." if brief else "Good evening to you."
        return "522250" if not brief or (not shy and "How many" in question) else "no"

    set_of_tasks = TaskSet("t", tasks().tasks, tasks().make_tools, "Be brief.\nBe shy.")
    journal, variant = MemoryJournal(), Variant("v", ScriptedModel(clerk))
    trials = await run_tasks(set_of_tasks, [variant], journal=journal)
    found = await find_fixes(set_of_tasks, variant, trials, journal=journal)
    by_line = {fix.change.before: fix for fix in found.fixes}
    assert by_line["Be brief."].fixes == ("lyon", "lyon2")
    assert by_line["Be brief."].breaks == ("hello",)
    assert (by_line["Be shy."].fixes, by_line["Be shy."].breaks) == (("lyon2",), ())
    assert found.fixes[0].change.before == "Be shy."
