"""Recorded runs and a change: which cannot change, where the others part, and how they end."""

from __future__ import annotations

import asyncio
from typing import Any
from xml.etree import ElementTree

from regress import again, edits
from regress import agent as clerk

from treadle import Agent, ScriptedModel, tool
from treadle._inspect.regress.check import regress
from treadle._inspect.regress.report import Report, as_junit, as_page, summary
from treadle._inspect.why.marks import mark
from treadle._journal.memory import MemoryJournal
from treadle._types.messages import SystemMessage, ToolMessage, text_of
from treadle._types.request import Request

SENT: list[str] = []


async def test_no_run_is_called_unaffected_that_goes_another_way():
    """The model's replies depend on every byte: made again in full, each unaffected run is the recorded one."""
    journal, runs, before = MemoryJournal(), dict[str, str](), dict[str, Any]()
    for question in (f"q{'x' * length}" for length in range(0, 18, 2)):
        run = clerk(journal=journal).start(question)
        await asyncio.wait([run.task])
        runs[run.id] = question
        before[question] = await again(clerk(), question)
    unaffected: dict[str, int] = {}
    for name, options in edits().items():
        report = await regress(clerk(**options), runs, journal=journal)
        same = [one.run for one in report.runs if one.verdict == "unaffected"]
        unaffected[name] = len(same)
        for run in same:
            assert await again(clerk(**options), runs[run]) == before[runs[run]], name
        assert report.requests == 0
    assert unaffected["nothing"] == unaffected["a plug-in without effect"] == len(runs)
    assert unaffected["a line of the prompt"] == unaffected["another model"] == 0
    assert 0 < unaffected["a limit that few reach"] < len(runs)


@tool
def send(to: str) -> str:
    """Send a message."""
    SENT.append(to)
    return f"sent to {to}"


@tool(effect="pure")
def price(item: str) -> str:
    """The price of something."""
    return {"lamp": "41", "desk": "200"}.get(item, "0")


def seller(request: Request) -> Any:
    system = next(message.text for message in request.messages if isinstance(message, SystemMessage))
    got = [text_of(message.content) for message in request.messages if isinstance(message, ToolMessage)]
    item = "lamp" if "lamp" in str(request.messages[1]) else "desk"
    if not got:
        return {"name": "price", "args": {"item": item}}
    if len(got) == 1 and item == "desk":
        return {"name": "send", "args": {"to": "Bo" if "Tell Bo." in system else "Ann"}}
    return f"It costs {int(got[0]) + ('round up' in system)}."


def shop(journal: Any = None, system: str = "Be kind.") -> Agent[Any, Any]:
    return Agent(ScriptedModel(seller), [price, send], system=system, journal=journal)


async def recorded(journal: MemoryJournal) -> list[str]:
    runs = [(await shop(journal).run(question)).run_id for question in ("a lamp", "a desk")]
    await mark(journal, runs[0], answer="41")
    SENT.clear()
    return runs


async def test_what_is_affected_goes_on_within_the_budget_and_is_judged():
    journal = MemoryJournal()
    runs = await recorded(journal)

    async def verdicts(system: str, requests: int = 50, **options: Any) -> tuple[list[str], Report]:
        report = await regress(shop(system=system), runs, journal=journal, requests=requests, parallel=1, **options)
        assert SENT == [], "nothing with an effect runs"
        assert report.requests <= requests
        return [one.verdict for one in report.runs], report

    assert (await verdicts("Be kind."))[0] == ["unaffected", "unaffected"]
    assert (await verdicts("Be short."))[0] == ["same", "same"]
    assert (await verdicts("Be short.", 0))[0] == ["affected", "affected"]
    assert (await verdicts("Be short.", 3))[0] == ["same", "affected"]
    found, report = await verdicts("Be kind. round up")
    assert found == ["worse", "changed"]
    assert str(report.runs[0].difference).startswith("request 1: message 0, byte ")
    assert "round up" in report.runs[0].difference.after if report.runs[0].difference else False
    assert (await verdicts("Tell Bo."))[0] == ["same", "unclear"]
    assert (await verdicts("Tell Bo.", stubs={"send": "sent to Bo"}))[0] == ["same", "changed"]


async def test_a_report_for_people_and_for_a_build_server_and_a_baseline():
    journal = MemoryJournal()
    runs = await recorded(journal)
    report = await regress(shop(system="<b>round up</b>"), [*runs, "no-such"], journal=journal, requests=50)
    assert [one.verdict for one in report.runs] == ["worse", "changed", "skipped"]
    assert "3 runs: 1 changed, 1 worse, 1 skipped" in summary(report)
    assert "<b>round" not in as_page(report)
    suite = ElementTree.fromstring(as_junit(report, {}))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "2", "1")
    assert report.failing(report.baseline()) == []
    other = await regress(shop(system="round up, Tell Bo."), runs, journal=journal, requests=50)
    assert len(other.failing(report.baseline())) == 1, "the outcome that was accepted is another one"


async def test_a_run_that_asked_another_agent_is_only_as_unaffected_as_that_one():
    def helper(system: str) -> Agent[Any, Any]:
        return Agent(ScriptedModel(lambda request: "blue"), None, system=system, name="helper", description="Knows.")

    def boss(request: Request) -> Any:
        got = [text_of(message.content) for message in request.messages if isinstance(message, ToolMessage)]
        return got[-1] if got else {"name": "helper", "args": {"user_prompt": "?", "reasoning": "r", "context": "c"}}

    def made(system: str, journal: Any = None) -> Agent[Any, Any]:
        return Agent(ScriptedModel(boss), [helper(system)], journal=journal)

    journal = MemoryJournal()
    run = (await made("Be kind.", journal).run("Which colour?")).run_id
    assert [one.verdict for one in (await regress(made("Be kind."), [run], journal=journal)).runs] == ["unaffected"]
    (one,) = (await regress(made("Be rude."), [run], journal=journal)).runs
    assert one.verdict == "affected"
    assert "the run inside helper is affected" in one.why
