"""Inbox items that a driver has taken and that are not recorded yet."""

from __future__ import annotations

from treadle._journal.base import InboxItem
from treadle._journal.pending_inbox import PendingItems
from treadle._types.events import Approved, Injected, ToolAnswered

from .logs import done, ended, record

MESSAGE = InboxItem("m1", "a", "message", {"text": "hello"})
DECISION = InboxItem("p1", "a", "approve", {"call_id": "c1", "allow": True})
CANCEL = InboxItem("x1", "a", "cancel")


def pending() -> PendingItems:
    items = PendingItems()
    items.add("a", [MESSAGE, DECISION])
    items.add("a", [CANCEL])
    items.add("b", [InboxItem("m1", "b", "message")])
    return items


def test_a_record_accounts_for_the_items_it_names():
    items = pending()
    assert items.recorded_by([done("a", 1)]) == []
    assert items.recorded_by([done("a", 1), record("a", 2, Injected(("m1",), ("hello",)))]) == ["m1"]
    assert items.recorded_by([record("a", 1, Approved("c1", allow=False))]) == ["p1"]
    assert items.recorded_by([record("a", 1, Approved("c2", allow=True))]) == []


def test_a_result_leaves_the_inbox_with_its_record():
    items = PendingItems()
    items.add("a", [InboxItem("r1", "a", "result", {"call_id": "c1", "content": "x"})])
    assert items.recorded_by([record("a", 1, Approved("c1", allow=False))]) == []
    assert items.recorded_by([record("a", 1, ToolAnswered("c2", "x"))]) == []
    assert items.recorded_by([record("a", 1, ToolAnswered("c1", "x"))]) == ["r1"]
    assert items.recorded_by([record("unknown", 1, Injected(("m1",), ("hello",)))]) == []


def test_the_end_of_a_run_accounts_for_all_of_its_items():
    assert pending().recorded_by([ended("a", 1)]) == ["m1", "p1", "x1"]


def test_items_are_forgotten_one_by_one_or_all_at_once():
    items = pending()
    items.forget("a", ["m1", "x1"])
    assert items.recorded_by([ended("a", 1)]) == ["p1"]
    assert items.remove_all("a") == [DECISION]
    assert items.remove_all("a") == []
    assert len(items.remove_all("b")) == 1
