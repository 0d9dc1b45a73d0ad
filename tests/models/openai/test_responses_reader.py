"""Replies of the Responses API: items, streams that end in a whole response, endings."""

from __future__ import annotations

import pytest

from models.openai.responses_kit import CALL, THOUGHT, read, response, speech
from treadle._types.errors import ContentFilteredError, RequestRefusedError, TransientModelError
from treadle._types.request import ReasoningDelta, TextDelta


def test_plain_replies_keep_nothing():
    assert read(response([speech("x"), CALL]))[0].opaque is None
    assert read(response([speech("x", phase="commentary"), CALL]))[0].opaque is not None


def test_a_stream_without_pieces_is_read_from_its_end():
    result, deltas = read({"type": "response.completed", "response": response([THOUGHT, speech("All."), CALL])})
    assert (result.text, result.reasoning, len(result.calls)) == ("All.", "hm", 1)
    assert TextDelta("All.") in deltas


def test_several_summaries_are_paragraphs():
    two = THOUGHT | {"summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]}
    assert read(response([two, speech("x")]))[0].reasoning == "a\n\nb"
    events = [
        {"type": "response.reasoning_summary_part.added", "output_index": 0},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "a"},
        {"type": "response.reasoning_summary_part.added", "output_index": 0},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "b"},
        {"type": "response.output_item.done", "output_index": 0, "item": two},
        {"type": "response.completed", "response": response([two, speech("x")])},
    ]
    result, deltas = read(*events)
    assert result.reasoning == "a\n\nb" == "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))


def test_endings():
    assert (
        read(response([speech("x")], "incomplete", incomplete_details={"reason": "max_output_tokens"}))[0].finish
        == "length"
    )
    with pytest.raises(ContentFilteredError):
        read(response([], "incomplete", incomplete_details={"reason": "content_filter"}))
    with pytest.raises(TransientModelError):
        read(response([], "failed", error={"code": "server_error", "message": "x"}))
    with pytest.raises(TransientModelError):
        read(response([], "cancelled"))
    with pytest.raises(RequestRefusedError):
        read({"type": "error", "code": "invalid_prompt", "message": "no"})
    with pytest.raises(TransientModelError):
        read(
            {"type": "response.output_text.delta", "output_index": 0, "delta": "x"},
            {"type": "response.created", "response": {"id": "r"}},
        )


def test_a_refusal():
    item = {"type": "message", "content": [{"type": "refusal", "refusal": "I won't."}]}
    result, _ = read(response([item]))
    assert (result.text, result.finish) == ("I won't.", "refusal")
    result, _ = read(
        {"type": "response.refusal.delta", "output_index": 0, "delta": "I won't."},
        {"type": "response.completed", "response": response([item])},
    )
    assert result.text == "I won't."


def test_a_cut_off_call_is_not_done():
    cut = CALL | {"arguments": '{"a":1}', "status": "incomplete"}
    _, deltas = read(response([cut], "incomplete", incomplete_details={"reason": "max_output_tokens"}))
    assert not any(getattr(delta, "done", False) for delta in deltas)
