"""The interface of a dialect: every dialect has all of it; decisions and replaced prompts are plain values."""

from __future__ import annotations

import msgspec
import pytest

from dialects.samples import NAMES
from kit import row
from treadle._dialects.base import Decision, Dialect
from treadle._dialects.registry import get_dialect
from treadle._types.messages import ToolCall

METHODS = [name for name in vars(Dialect) if not name.startswith("_")]


def test_every_dialect_has_every_member_of_the_interface():
    for name in [*NAMES, "code"]:
        with row(name):
            assert {"name", "native", "system", "encode", "assistant", "results", "decode", "watch", "reformat"} == set(
                METHODS
            )
            for method in METHODS:
                assert hasattr(get_dialect(name), method), method


def test_a_decision_is_a_frozen_value_that_is_stored_without_its_defaults():
    decision = Decision("look", (ToolCall("call_0", "now"),))
    assert decision == Decision("look", (ToolCall("call_0", "now"),))
    assert msgspec.json.decode(msgspec.json.encode(decision), type=Decision) == decision
    assert msgspec.json.encode(Decision()) == b"{}"
    with pytest.raises(AttributeError):
        decision.answer = "x"  # pyright: ignore[reportAttributeAccessIssue]
