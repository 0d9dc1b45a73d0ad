"""Runs that were recorded long ago are shown as they were: plans, summaries, attempts that failed, and failures."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from server.serving import serving
from treadle import Agent, ScriptedModel, Usage
from treadle._journal.memory import MemoryJournal
from treadle._server import ServerSettings
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall

from .stage import Gates
from .test_page import SIZE, Shoot, Stage

READ = ToolCall("c1", "read_file", {"path": "src/orders.py", "lines": "1-80"})
EDIT = ToolCall("c2", "edit_file", {"path": "src/orders.py"})
USED = Usage(2100, 160, 1800, requests=1, cost=0.0042)
LONG = "The total is computed before the discount is applied. " * 12


def log(run: str, *events: ev.Event) -> list[ev.Record]:
    return [ev.Record(run, seq, 1_780_000_000.0 + seq * 0.8, event) for seq, event in enumerate(events)]


def plan(done: int) -> ev.PlanChanged:
    steps = ("Find where totals are computed", "Reproduce the fault", "Fix it and test")
    return ev.PlanChanged(tuple(ev.PlanStep(text, index < done) for index, text in enumerate(steps)))


LONG_RUN = log(
    "long-run-0001",
    ev.RunStarted(
        "Find out why the totals of large orders are wrong, and fix it.", "demo", "gpt-5", conversation="long-run-0001"
    ),
    plan(0),
    ev.ThinkStarted("loop", 1),
    ev.ThinkFailed("loop", 1, 1, "HTTP 529: overloaded", 0.8),
    ev.ThinkDone("loop", 1, AssistantMessage(calls=(READ,)), thought=LONG, usage=USED, elapsed=2.1),
    ev.ToolStarted(READ, 1),
    ev.ToolDone("c1", "read_file", 1, "def total(order): ...", elapsed=0.03, full="x" * 20_000),
    plan(2),
    ev.Reflected(1, "The discount is rounded per line; the order total is not."),
    ev.ContextCompacted(
        (1, 2), "In src/orders.py the discount is applied twice over 100 lines.", original_messages=42, kept_messages=9
    ),
    ev.ModelSwitched("claude-x", "gpt-5", "the first model was overloaded"),
    ev.ThinkStarted("loop", 2),
    ev.ThinkDone("loop", 2, AssistantMessage(calls=(EDIT,)), thought="Apply it once.", usage=USED, elapsed=1.4),
    ev.ToolStarted(EDIT, 2),
    ev.Resumed("restarted"),
    ev.ToolDone("c2", "edit_file", 2, "The outcome of this call is unknown.", "unknown_outcome"),
    ev.Observed(2, False, True, "It reads the same file again.", "Stop reading; run the tests."),
    ev.ThinkStarted("loop", 3),
    ev.ThinkDone("loop", 3, AssistantMessage("Fixed."), answer="Fixed.", usage=USED, elapsed=0.9),
    ev.AnswerStarted("loop"),
    ev.AnswerDone("The discount was applied **twice**. It is fixed, and the tests pass.", "loop"),
    ev.RunFinished("answer", "The discount was applied **twice**. It is fixed, and the tests pass."),
)
FAILED_RUN = log(
    "failed-run-001",
    ev.RunStarted("What is the weather in Lisbon?", agent="demo", conversation="failed-run-001"),
    ev.ThinkStarted("loop", 1),
    ev.ThinkFailed("loop", 1, 3, "HTTP 401: the key is not valid"),
    ev.AnswerStarted("error"),
    ev.AnswerDone("The model could not be used any further. No answer was found, and no tool was run.", "error"),
    ev.RunFinished(
        "error",
        "The model could not be used any further. No answer was found, and no tool was run.",
        success=False,
        error="HTTP 401: the key is not valid; set the right one in OPENAI_API_KEY",
        error_type="RequestRefusedError",
    ),
)


def test_recorded_runs(browser: Any, shoot: Shoot):
    journal = MemoryJournal()
    with ThreadPoolExecutor(1) as other:  # playwright has a loop running in this one
        for records in (LONG_RUN, FAILED_RUN):
            other.submit(asyncio.run, journal.append(records)).result()
    with serving(Agent(ScriptedModel([]), tools=None), journal) as client:
        context = browser.new_context(viewport=SIZE)
        stage = Stage(context.new_page(), client, Gates())
        stage.page.goto(f"{client.address}/#/c/long-run-0001")
        stage.finish()
        assert stage.page.locator(".checklist li.done").count() == 2
        assert "42 messages reduced to 9" in stage.page.locator(".divider").inner_text()
        stage.page.locator(".divider summary").click()
        assert "applied twice" in stage.page.locator(".divider p").inner_text()
        notes = " ".join(stage.page.locator(".note").all_inner_texts())
        for title in (
            "Trying again",
            "Reflection",
            "to claude-x",
            "Resumed after a restart",
            "Observer",
        ):
            assert title in notes
        stage.page.get_by_role("button", name="More").click()
        stage.page.get_by_role("button", name="Less").click()
        stage.page.locator(".talk").evaluate("(one) => one.scrollTo(0, 0)")
        shoot(stage.page, "long-run")
        stage.page.goto(f"{client.address}/#/c/failed-run-001")
        stage.see(".failure")
        assert "OPENAI_API_KEY" in stage.page.locator(".failure").inner_text()
        assert stage.page.locator(".answer").count() == 0, "a failure must not read like an answer"
        assert stage.page.locator(".turn-foot").inner_text().startswith("Failed")
        shoot(stage.page, "failure")
        assert not stage.faults, stage.faults
        context.close()


def test_a_run_that_was_left_unfinished_can_be_resumed(browser: Any, shoot: Shoot):
    journal = MemoryJournal()
    started = ev.RunStarted("Where were we?", agent="demo", conversation="left-run-00001")
    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, journal.append(log("left-run-00001", started, ev.ThinkStarted("loop", 1)))).result()
    left = ServerSettings(on_restart="leave", grace=0.1)
    with serving(Agent(ScriptedModel(["Here again."]), tools=None), journal, settings=left) as client:
        context = browser.new_context(viewport=SIZE)
        stage = Stage(context.new_page(), client, Gates())
        stage.page.goto(f"{client.address}/#/c/left-run-00001")
        stage.see(".left")
        shoot(stage.page, "left")
        stage.page.get_by_role("button", name="Resume").click()
        stage.finish()
        assert stage.page.locator(".answer").inner_text() == "Here again."
        context.close()


def test_many_conversations(browser: Any):
    journal = MemoryJournal()

    async def fill() -> None:
        for number in range(450):
            name = f"run-{number:010}"
            await journal.append(
                log(name, ev.RunStarted(f"Question {number}", conversation=name), ev.RunFinished("answer", "yes"))
            )

    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, fill()).result()
    with serving(Agent(ScriptedModel([]), tools=None), journal) as client:
        context = browser.new_context(viewport=SIZE)
        stage = Stage(context.new_page(), client, Gates())
        stage.page.goto(client.address)
        stage.count(".conversation", 200)
        stage.page.get_by_role("button", name="Older conversations").click()
        stage.count(".conversation", 450)
        stage.count(".older", 0)
        context.close()
