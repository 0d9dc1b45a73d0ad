"""Calls that act, as they are recorded."""

from __future__ import annotations

from typing import Any

from treadle._types.acts import MAX_VALUE, LedgerEntry, act_of


def test_a_line_says_what_became_of_a_call():
    assert LedgerEntry("c", "send", "done").line == "[done: send]"
    assert LedgerEntry("c", "send", "refused", {"to": "Ann"}, "no").line == "[not done: send (to Ann): no]"
    assert LedgerEntry("c", "send", "done", {"fast": False, "n": 2}).line == "[done: send (fast false, n 2)]"
    assert LedgerEntry("c", "send", "unknown", {"to": "Ann"}).line == "[outcome unknown: send (to Ann)]"


def test_only_plain_values_are_kept_and_the_key_stands_for_all():
    one = act_of({"to": "Ann", "text": "x" * 999, "list": [{}], "empty": ""})
    assert list(one.args) == ["to", "text"]
    assert len(one.args["text"]) == MAX_VALUE
    assert one.key == act_of({"list": [{}], "empty": "", "text": "x" * 999, "to": "Ann"}).key
    assert one.key != act_of({"to": "Ann"}).key
    declared = act_of({"to": "Ann", "text": "x"}, ("to",), declared=True)
    assert (declared.args, declared.identified, declared.declared) == ({"to": "Ann"}, True, True)
    wrapped = act_of({"tool": "pay", "args": '{"account": "chk_1", "amount": 30}', "items": [101, 102], "bad": "{x"})
    assert wrapped.args == {"tool": "pay", "account": "chk_1", "amount": 30, "items": "101 102", "bad": "{x"}
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert act_of({"deep": deep}).key == ""
