"""Messages that arrive while a run works."""

from __future__ import annotations

import threading

from treadle._engine.core.inbox import Inbox, message_payload
from treadle._journal.base import InboxItem
from treadle._journal.memory import MemoryJournal
from treadle._types.events import Approved
from treadle._types.messages import ImagePart, TextPart


def test_messages_are_read_once_in_their_order():
    inbox = Inbox("run", None)
    first, second = inbox.send("one"), inbox.send("two")
    assert inbox.open
    assert inbox.drain() == [(first, "one"), (second, "two")]
    assert inbox.drain() == []
    assert not inbox.open


def test_a_message_can_be_recalled_until_it_is_read():
    inbox = Inbox("run", None)
    first, second = inbox.send("one"), inbox.send("two")
    assert inbox.recall(first)
    assert not inbox.recall(first)
    inbox.drain()
    assert not inbox.recall(second)
    assert not inbox.recall("never sent")


def test_nothing_is_lost_when_threads_send_while_it_is_read():
    inbox, read = Inbox("run", None), list[str]()
    together = threading.Barrier(5)

    def send(name: str) -> None:
        together.wait(20)
        for number in range(200):
            inbox.send(f"{name}{number}")

    threads = [threading.Thread(target=send, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    together.wait(20)
    while any(thread.is_alive() for thread in threads):
        read.extend(text for _, text in inbox.drain())
    read.extend(text for _, text in inbox.drain())
    assert sorted(read) == sorted(f"{name}{number}" for name in "abcd" for number in range(200))


async def test_what_another_process_left_in_the_journal_arrives():
    journal = MemoryJournal()
    inbox = Inbox("run", journal)
    assert inbox.open
    for item in (
        InboxItem("m1", "run", "message", {"text": "hello"}),
        InboxItem("m2", "run", "approve", {"call_id": "c1", "allow": True, "by": "ann", "note": "fine"}),
        InboxItem("m3", "run", "cancel"),
        InboxItem("m4", "other run", "message", {"text": "not for us"}),
        InboxItem("m5", "run", "something newer", {}),
    ):
        await journal.put(item)
    await inbox.fetch(at_once=True)
    assert inbox.drain() == [("m1", "hello")]
    assert inbox.decisions == [Approved("c1", True, "ann", "fine")]
    assert inbox.cancelled


async def test_incomplete_items_are_read_as_nothing_was_said():
    journal = MemoryJournal()
    inbox = Inbox("run", journal)
    await journal.put(InboxItem("m1", "run", "message"))
    await journal.put(InboxItem("m2", "run", "approve"))
    await inbox.fetch(at_once=True)
    assert inbox.drain() == [("m1", "")]
    assert inbox.decisions == [Approved("", False)]


async def test_quick_steps_do_not_look_into_the_journal_each_time():
    looked = 0

    class Counting(MemoryJournal):
        async def take(self, run_id: str, kinds: tuple[str, ...] = ()) -> list[InboxItem]:  # type: ignore[override]
            nonlocal looked
            looked += 1
            return await super().take(run_id, kinds)

    inbox = Inbox("run", Counting())
    await inbox.fetch(at_once=True)
    # The clock decides when it looks again; that it always looks when told to is what a run relies on.
    await inbox.fetch(at_once=True)
    assert looked == 2
    await Inbox("run", None).fetch(at_once=True)


async def test_media_go_through_the_journal_too():
    journal = MemoryJournal()
    inbox = Inbox("run", journal)
    content = (TextPart("like this"), ImagePart(data="aGk=", name="a.png"))
    await journal.put(InboxItem("m1", "run", "message", message_payload(content)))
    await journal.put(InboxItem("m2", "run", "message", {"text": "hm", "parts": [{"type": "image", "data": "?"}]}))
    await journal.put(InboxItem("m3", "run", "message", {"text": "hm", "parts": "x"}))
    await inbox.fetch(at_once=True)
    assert inbox.unread()[0] == "like this\n[a.png]"
    (_, first), (_, second), (_, third) = inbox.drain()
    assert first == content
    assert str(second).startswith("hm\n[what came with this message cannot be read")
    assert str(third).startswith("hm\n[what came with this message cannot be read")
    inbox.send("later")
    inbox.put_back([("m1", first)])
    assert [content for _, content in inbox.drain()] == [first, "later"]
