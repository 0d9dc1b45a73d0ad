"""Masks: what is looked at before a request is sent, and what a display gets of pieces that are cut anywhere."""

from __future__ import annotations

from typing import Any

import pytest

from treadle import GuardrailError, JournalError
from treadle._engine.core.masks import Masks, masks_of
from treadle._tools.base import ToolOutcome
from treadle._types import events as ev
from treadle._types.messages import ToolCall, UserMessage
from treadle._types.request import Request
from treadle.plugins import PersonalData

EMAIL = "anna@example.org"


def masks() -> tuple[Masks, str]:
    made = Masks([PersonalData(tools=["mail"]).mask("")])
    return made, made.masked(EMAIL)


def test_a_request_that_would_hold_a_datum_is_not_sent():
    made, _ = masks()
    fine = Request(messages=[UserMessage("hello")])
    made.check(fine)
    made.check(fine)
    with pytest.raises(GuardrailError, match="it was not sent"):
        made.check(Request(messages=[*fine.messages, UserMessage(f"hello {EMAIL}")]))


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
