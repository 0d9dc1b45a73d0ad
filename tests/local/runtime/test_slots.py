"""Slots: which conversation keeps which, which one is reassigned first, what waits."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

from kit import go
from treadle import Agent, ScriptedModel
from treadle._local.runtime.slots import Conversation, Owner, Segment, Slot, Slots, owner_of
from treadle._types.request import Request, WireCache

NEVER = threading.Event()


def use(slots: Slots, owner: Owner, prompt: str = "", size: int = 1) -> Slot:
    slot = slots.acquire(owner, prompt, NEVER)
    assert slot is not None
    slot.segments = (Segment(prompt),)
    slot.size = size
    slots.release(slot)
    return slot


def in_thread(slots: Slots, owner: Owner, stop: threading.Event = NEVER) -> tuple[threading.Thread, list[Slot | None]]:
    """A thread that waits for a slot, and the list its slot will be put into."""
    result: list[Slot | None] = []
    thread = threading.Thread(target=lambda: result.append(slots.acquire(owner, "", stop)))
    thread.start()
    while not slots._changed._waiters and not result:  # pyright: ignore
        time.sleep(0.001)
    return thread, result


def test_a_conversation_is_its_cache_and_else_its_component():
    cache, other = WireCache(), WireCache()
    assert owner_of(Request([], cache=cache)) is owner_of(Request([], cache=cache, component="x"))
    assert owner_of(Request([], cache=cache)) is not owner_of(Request([], cache=other))
    assert owner_of(Request([], component="planner")) == "planner"


def test_every_conversation_keeps_a_slot_while_there_are_enough():
    slots = Slots(3)
    owners: list[Owner] = [Conversation(), "planner", Conversation()]
    first = [use(slots, owner).id for owner in owners]
    assert sorted(first) == [0, 1, 2]
    assert [use(slots, owner).id for owner in owners] == first


def test_the_cheapest_living_conversation_loses_its_slot():
    slots = Slots(2)
    loop, planner, observer = Conversation(), Conversation(), Conversation()
    long = use(slots, loop, size=900)
    short = use(slots, planner, size=200)
    for _ in range(3):
        assert use(slots, observer, size=100) is short
        assert use(slots, loop, size=1000) is long


def test_a_slot_whose_conversation_has_ended_is_reassigned_first():
    slots = Slots(3)
    living = Conversation()
    ended = [Conversation(), Conversation()]  # coverage takes copies of a function's variables, and those would live on
    use(slots, living, "system A: question", size=1)
    fits = use(slots, ended[0], "system A: weather", size=500)
    use(slots, ended[1], "system B: maths", size=500)
    ended.clear()
    newcomer = Conversation()
    assert use(slots, newcomer, "system A: something else") is fits


def test_shared_prefix():
    slot = Slot(0)
    slot.segments = (Segment("abc"), Segment("def", (1, 2)))
    assert [slot.shared_prefix(text) for text in ("", "x", "abd", "abcdef", "abcdefgh")] == [0, 0, 2, 6, 6]


def test_split_keeps_written_tokens_only_while_the_text_is_the_same():
    slot = Slot(0)
    slot.segments = (Segment("ask"), Segment("said", (7, 8)), Segment("more"))
    assert slot.split("asksaidmore and on") == (*slot.segments, Segment(" and on"))
    assert slot.split("asksaid!") == (Segment("ask"), Segment("said", (7, 8)), Segment("!"))
    assert slot.split("asksays") == (Segment("ask"), Segment("says"))
    assert slot.split("other") == (Segment("other"),)
    assert slot.split("asksaidmore") == slot.segments


def test_a_request_waits_while_all_are_busy_and_can_be_cancelled_meanwhile():
    slots = Slots(1)
    held = slots.acquire("a", "", NEVER)
    assert held is not None
    stop = threading.Event()
    thread, result = in_thread(slots, "b", stop)
    assert not result
    stop.set()
    thread.join(60)
    assert result == [None]
    thread, result = in_thread(slots, "c")
    assert not result
    slots.release(held)
    thread.join(60)
    assert result == [held]


def test_after_a_cancel_the_same_conversation_waits_for_its_own_slot():
    slots = Slots(2)
    owner, stop = Conversation(), threading.Event()
    held = slots.acquire(owner, "", stop)
    assert held is not None
    other = slots.acquire(owner, "", NEVER)
    assert other is not None
    assert other is not held
    slots.release(other)
    stop.set()
    thread, result = in_thread(slots, owner)
    assert not result
    slots.release(held)
    thread.join(60)
    assert result == [held]


def test_a_finished_run_releases_its_slot_even_while_it_is_referenced():
    slots = Slots(2)
    taken: list[int] = []

    def reply(request: Request) -> str:
        taken.append(use(slots, owner_of(request), f"the same beginning, {len(taken)}", 50).id)
        return "done"

    async def main() -> list[Any]:
        agent = Agent(ScriptedModel(reply), tools=None)
        runs: list[Any] = []
        for question in ("first", "second", "third"):
            runs.append(agent.start(question))
            await runs[-1]
        return runs

    gc.disable()
    try:
        kept = go(main())
    finally:
        gc.enable()
    assert len(set(taken)) == 1, "the next begins as it did"
    assert all(slot.owner is None for slot in slots._slots)  # pyright: ignore[reportPrivateUsage]
    assert all(run.done for run in kept)
