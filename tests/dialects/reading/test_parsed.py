"""Which part of a value may be used, when its reply was cut off or only lacks brackets."""

from __future__ import annotations

from treadle._dialects.reading.lenient import LenientParser
from treadle._dialects.reading.parsed import COMPLETE, Parsed


def test_everything_is_complete_unless_something_was_left_open():
    assert COMPLETE.covers({"a": 1})
    closed = Parsed({"a": 1}, 0, 8)
    assert closed.closed
    assert closed.completeness(cut=True).covers(closed.value)


def test_missing_brackets_do_no_harm_in_a_reply_that_ended_by_itself():
    parsed = LenientParser('{"name": "f", "args": {"a": 1}').parse(0)
    args = parsed.value["args"]
    assert not parsed.closed
    assert parsed.completeness(cut=False).covers(parsed.value)
    assert not parsed.completeness(cut=True).covers(parsed.value)
    assert parsed.completeness(cut=True).covers(args)
    assert not parsed.completeness(cut=True).covers(args, parsed.value), "the object around it may have had more"


def test_a_value_that_was_only_begun_spoils_its_container_but_not_its_neighbours():
    parsed = LenientParser('[{"a": 1}, {"a": "ha').parse(0)
    first, second = parsed.value
    assert not parsed.all_values
    assert parsed.completeness(cut=False).covers(first)
    assert not parsed.completeness(cut=False).covers(second)
