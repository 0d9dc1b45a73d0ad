"""Masks: what is looked at before a request is sent, and what a display gets of pieces that are cut anywhere."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kit import call, go, until
from treadle import Agent, GuardrailError, JournalError, ScriptedModel, tool
from treadle._engine.core.masks import Masks, masks_of
from treadle._journal.memory import MemoryJournal
from treadle._plugins.guards.personal_data import RunMask
from treadle._safety.beside import LONG
from treadle._safety.tree import size_of
from treadle._tools.base import ToolOutcome
from treadle._types import events as ev
from treadle._types.messages import ToolCall, UserMessage
from treadle._types.request import Request
from treadle.plugins import PersonalData, Plugin
from waiting import GUARD_SECONDS

EMAIL = "anna@example.org"
OFTEN = LONG // 10
"""How often a few words make a long text, masked or not."""


def masks() -> tuple[Masks, str]:
    made = Masks([PersonalData(tools=["mail"]).mask("")])
    return made, made.masked(EMAIL)


def test_a_request_that_would_hold_a_datum_is_not_sent():
    made, _ = masks()
    fine = Request(messages=[UserMessage("hello")])
    go(made.check(fine))
    go(made.check(fine))
    with pytest.raises(GuardrailError, match="it was not sent"):
        go(made.check(Request(messages=[*fine.messages, UserMessage(f"hello {EMAIL}")])))


class Noting(PersonalData):
    """Notes in which threads a long text is masked; waits there until it may go on."""

    def __init__(self, gate: threading.Event) -> None:
        super().__init__()
        self.gate = gate
        self.threads: list[threading.Thread] = []

    def mask(self, user: str) -> RunMask:
        mask = super().mask(user)
        tree = mask.tree

        def noting(value: Any) -> Any:
            if size_of(value) >= LONG:
                self.threads.append(threading.current_thread())
                self.gate.wait(GUARD_SECONDS)
            return tree(value)

        mask.tree = noting
        return mask


@tool
async def read() -> str:
    """Read."""
    return f"from {EMAIL} " * OFTEN


def opened() -> threading.Event:
    gate = threading.Event()
    gate.set()
    return gate


@pytest.mark.parametrize("stored", [True, False])
async def test_long_texts_are_masked_beside_the_event_loop(stored: bool):
    """Of a question, a result, a reply and its answer, and of what a plug-in asks."""

    class Asking(Plugin):
        async def before_round(self, run: Any) -> None:
            await run.ask("adviser", [UserMessage(f"Is {EMAIL} nice? " * OFTEN)])

    noting, long = Noting(opened()), f"to {EMAIL} " * OFTEN
    model = ScriptedModel(
        lambda r: "yes" if r.component == "adviser" else long if r.messages[-1].role == "tool" else call("read")
    )
    journal = MemoryJournal() if stored else None
    agent = Agent(model, [read], plugins=[Asking(), noting], journal=journal)
    events = [event async for event in agent.stream(long)]
    assert isinstance(events[-1], ev.RunFinished)
    assert events[-1].answer == long.strip()
    assert threading.current_thread() not in noting.threads
    assert len(noting.threads) > 5
    assert EMAIL not in str([request.messages for request in model.requests])


async def test_a_stop_while_a_result_is_masked_loses_nothing_of_it():
    noting = Noting(threading.Event())
    run = Agent(ScriptedModel([call("read")]), [read], plugins=[noting], journal=MemoryJournal()).start("q")
    await until(lambda: noting.threads)
    run.cancel()
    noting.gate.set()
    assert (await run).stop_reason == "cancelled"
    (done,) = [record.event for record in run.records if isinstance(record.event, ev.ToolDone)]
    assert (done.error, EMAIL in str(done)) == ("", False)


def test_a_mask_that_fails_masks_nothing():
    class Broken:
        def tree(self, value: Any) -> Any:
            raise ValueError("no")

    with pytest.raises(JournalError, match=r"a mask failed \(ValueError\)"):
        Masks([Broken()]).masked("text")  # type: ignore[list-item]


def test_a_run_has_the_masks_of_those_around_it():
    outer = masks_of([PersonalData(names=["Anna"])], "", None)
    inner = masks_of([object(), PersonalData(names=["Weber"])], "", outer)
    assert inner is not None
    masked = inner.masked("Anna Weber")
    assert "Anna" not in masked
    assert "Weber" not in masked
    assert inner.restored(masked) == "Anna Weber"
    assert masks_of([object()], "", outer) is outer
    assert masks_of([], "", None) is None


def test_the_tool_that_is_named_gets_the_data_and_its_result_is_masked_before_it_is_cut():
    made, placeholder = masks()
    call = ToolCall("1", "mail", {"to": [placeholder]})
    assert made.for_tool(call).args == {"to": [EMAIL]}
    assert made.for_tool(ToolCall("1", "look", {"to": placeholder})).args == {"to": placeholder}
    full = "x" * 60 + EMAIL + "y" * 100
    cut = made.outcome(ToolOutcome(full[:70] + " ... " + full[-20:], full=full), 110)
    assert cut.full == full.replace(EMAIL, placeholder) or "anna" not in str(cut.full)
    assert "anna" not in str(cut.content)
    assert len(str(cut.content)) <= 110


@pytest.mark.parametrize("size", range(1, 12))
def test_pieces_are_restored_wherever_they_are_cut(size: int):
    made, placeholder = masks()
    text = f"To {placeholder}, [not] {placeholder}[ and [EMAIL"
    shown: list[str] = []

    def sink(record: ev.Record) -> None:
        if isinstance(record.event, ev.AnswerDelta | ev.TextStreamed | ev.ToolOutput):
            shown.append(record.event.text)

    for kind in (ev.AnswerDelta, lambda t: ev.TextStreamed("loop", 0, t), lambda t: ev.ToolOutput("c", "t", t)):
        shown.clear()
        display = made.sink(sink)
        for offset, at in enumerate(range(0, len(text), size), 1):
            display(ev.Record("r", 3, 0.0, kind(text[at : at + size]), "", offset))
        display(ev.Record("r", 4, 0.0, ev.AnswerStarted("loop")))
        assert "".join(shown) == text.replace(placeholder, EMAIL)


def test_what_is_void_is_not_shown_later_and_records_are_restored_where_a_person_reads_them():
    made, placeholder = masks()
    seen: list[Any] = []
    display = made.sink(lambda record: seen.append(record.event))
    display(ev.Record("r", 3, 0.0, ev.AnswerDelta(placeholder[:4]), "", 1))
    display(ev.Record("r", 3, 0.0, ev.Reset("loop", 2), "", 2))
    display(ev.Record("r", 3, 0.0, ev.TextStreamed("loop", 0, "[EM", reasoning=True), "", 3))
    display(ev.Record("r", 3, 0.0, ev.TextStreamed("loop", 0, "so"), "", 4))
    display(ev.Record("r", 4, 0.0, ev.AnswerDone(placeholder, "loop")))
    display(ev.Record("r", 5, 0.0, ev.Noted("x", {"y": placeholder})))
    paused = ev.Paused("why", (ToolCall("1", "mail", {"to": placeholder}),))
    display(ev.Record("r", 6, 0.0, paused))
    texts = [getattr(event, "text", None) for event in seen]
    assert texts == [None, "[EM", "so", EMAIL, None, None]
    assert seen[4].data == {"y": placeholder}
    assert seen[5].calls[0].args == {"to": EMAIL}
