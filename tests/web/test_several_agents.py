"""Who has the conversation, and what works in the background, on the page and at the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kit import call
from server.serving import Gate, has_results, serving
from treadle import Agent, ScriptedModel, tool
from treadle._types.messages import UserMessage
from treadle._types.request import Request
from treadle.plugins import BackgroundAgents

from .stage import Gates, question_of
from .test_page import SIZE, Stage


class Cast:
    """An agent at the front, one who knows about bills, and one who counts in the background."""

    def __init__(self) -> None:
        self.bills, self.count = Gate(), Gate()

        @tool
        async def open_bills() -> str:
            """What is not paid."""
            await self.bills.wait()
            return "2 bills, 31 euros"

        @tool
        async def count() -> str:
            """Counts for a long time."""
            await self.count.wait()
            return "41,000"

        billing = Agent(
            ScriptedModel(lambda r: "You owe 31 euros." if has_results(r) else call("open_bills")),
            tools=[open_bills],
            name="billing",
        )
        counter = Agent(
            ScriptedModel(lambda r: "There are 41,000." if has_results(r) else call("count")),
            tools=[count],
            name="counter",
        )

        refunds = Agent(ScriptedModel(["You get 3 euros back."]), tools=[open_bills], name="refunds")
        clerk = Agent(
            ScriptedModel([call("transfer_to_refunds", reason="money back")] * 3),
            tools=[refunds.as_handoff()],
            name="clerk",
        )
        broken = Agent(ScriptedModel([ValueError("down")] * 3), tools=[open_bills], name="broken")

        def front(request: Request) -> Any:
            if "back" in question_of(request):
                return call("transfer_to_clerk", reason="it is about refunds")
            if "broken" in question_of(request):
                return "Sorry." if has_results(request) else call("transfer_to_broken", reason="try")
            if "owe" in question_of(request):
                return call("transfer_to_billing", reason="it is about bills")
            told = any(isinstance(m, UserMessage) and "has ended" in str(m.content) for m in request.messages)
            if told:
                return "41,000, it is counted."
            return "Counting." if has_results(request) else call("start_counter", task="count the letters")

        handoffs = [agent.as_handoff() for agent in (billing, clerk, broken)]
        self.front = Agent(ScriptedModel(front), tools=handoffs, plugins=[BackgroundAgents(counter)], name="front")


@pytest.fixture
def cast() -> Cast:
    return Cast()


@pytest.fixture
def stage(browser: Any, built_page: None, cast: Cast) -> Iterator[Stage]:
    with serving({"front": cast.front}) as client:
        context = browser.new_context(viewport=SIZE)
        stage = Stage(context.new_page(), client, Gates())
        stage.page.goto(client.address)
        yield stage
        assert not stage.faults, stage.faults
        context.close()


def test_who_has_the_conversation_now(stage: Stage, cast: Cast, axe: Any):
    stage.ask("What do I owe?")
    assert stage.see(".speaker").inner_text() == "Now speaking: billing"
    assert "Handed over to billing" in stage.page.locator(".thread").inner_text()
    stage.page.locator(".tool summary").click()
    stage.see(".child li")
    cast.bills.open()
    stage.finish()
    assert stage.page.locator(".speaker").inner_text() == "Answered by billing"
    assert "You owe 31 euros." in stage.page.locator(".answer").inner_text()
    assert axe(stage.page) == []
    stage.page.reload()
    stage.finish()
    assert stage.page.locator(".speaker").inner_text() == "Answered by billing"


def test_the_last_of_a_chain_speaks_and_one_who_cannot_gives_it_back(stage: Stage):
    stage.ask("Do I get money back?")
    stage.finish()
    assert stage.page.locator(".speaker").inner_text() == "Answered by refunds"
    stage.ask("And from the broken one?")
    stage.finish(2)
    assert "Sorry." in stage.page.locator(".answer").last.inner_text()
    assert stage.page.locator(".speaker").count() == 1, "the first agent has it again"


def test_work_in_the_background_has_a_card_until_its_end(stage: Stage, cast: Cast, axe: Any):
    stage.ask("Count the letters.")
    card = stage.see(".tool", has_text="works in the background")
    assert card.get_by_role("img", name="running").count() == 1
    stage.see("text=Waiting for background work of counter")
    card.locator("summary").click()
    stage.see(".child li")
    assert axe(stage.page) == []
    cast.count.open()
    stage.finish()
    assert "ended in the background" in stage.page.locator(".tool").first.inner_text()
    assert stage.page.locator(".tool").first.get_by_role("img", name="done").count() == 1
    assert "Background work" in stage.page.locator(".thread").inner_text()
    assert "41,000, it is counted." in stage.page.locator(".answer").inner_text()


def test_what_is_stopped_takes_its_work_along(stage: Stage):
    stage.ask("Count the letters.")
    stage.see(".tool", has_text="works in the background")
    stage.page.keyboard.press("Control+.")
    stage.finish()
    assert "stopped with the run" in stage.page.locator(".tool").first.inner_text()
