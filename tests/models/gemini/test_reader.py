"""Replies of generateContent: filters, why a reply ended, pieces."""

from __future__ import annotations

import json

import pytest

from kit import row
from models.gemini.gemini_kit import ASK, answer, model, read
from treadle._types.errors import ContentFilteredError, RequestRefusedError, TransientModelError


def test_filters():
    for reason in ["SAFETY", "RECITATION", "PROHIBITED_CONTENT"]:
        with row(reason):
            with pytest.raises(ContentFilteredError):
                read(answer([], reason))
            assert read(answer([{"text": "He"}], reason)).finish == "filter"
            with pytest.raises(ContentFilteredError, match="SAFETY"):
                read({"promptFeedback": {"blockReason": "SAFETY"}})


def test_finish():
    assert read(answer([{"text": "x"}], "MAX_TOKENS")).finish == "length"
    assert read(answer([{"text": "x"}], "OTHER")).finish == "unknown"
    assert read(answer([{"text": "x"}], "MALFORMED_FUNCTION_CALL")).finish == "error"
    with pytest.raises(TransientModelError):
        read(answer([], "MALFORMED_FUNCTION_CALL"))


def test_a_finish_reason_in_every_piece_does_not_end_the_reply():
    reader = model().reader_of(ASK)
    reader.feed(json.dumps(answer([{"text": "a"}])).encode())
    assert not reader.complete
    reader.feed(json.dumps(answer([{"text": "b"}])).encode())
    assert reader.reply().text == "ab"


def test_a_list_of_answers():
    assert read([answer([{"text": "a"}], None), answer([{"text": "b"}])]).text == "ab"
    with pytest.raises(RequestRefusedError):
        read([{"error": {"code": 400, "message": "no"}}])
