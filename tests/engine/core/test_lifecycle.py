"""The task of a run: stopped from anywhere, with everything it started."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from treadle._engine.core.lifecycle import Lifecycle


async def forever() -> None:
    await asyncio.Event().wait()


async def settle(life: Lifecycle) -> None:
    assert life.task is not None
    await asyncio.wait([life.task])


async def test_stopping_cancels_the_task_once_and_keeps_the_first_reason():
    life = Lifecycle()
    life.begin(forever(), "work")
    await asyncio.sleep(0)
    life.stop("budget")
    life.stop("cancelled")
    await settle(life)
    assert life.stopping == "budget"
    assert life.task is not None
    assert life.task.cancelled()


async def test_stopping_before_it_has_begun_is_remembered():
    life = Lifecycle()
    life.stop("cancelled")
    with pytest.raises(asyncio.CancelledError):
        await life.check()


async def test_it_can_be_stopped_from_another_thread():
    life = Lifecycle()
    life.begin(forever(), "work")
    await asyncio.to_thread(life.stop, "cancelled")
    await settle(life)
    assert life.task is not None
    assert life.task.cancelled()


async def test_stopping_after_its_loop_has_gone_does_no_harm():
    life = Lifecycle()
    await life.begin(asyncio.sleep(0), "work")
    assert not life.stop("cancelled"), "it has ended: there is nothing to stop"
    assert not life.stopping


async def test_nothing_stops_a_run_whose_last_record_is_being_stored():
    life = Lifecycle()
    task = life.begin(asyncio.sleep(0.01, "done"), "work")
    life.sealed = True
    assert not life.stop("cancelled")
    assert await task == "done"


async def test_children_are_known_while_they_work_and_stopped_with_their_parent():
    parent = Lifecycle()
    child, grandchild, quick = Lifecycle(parent), None, Lifecycle(parent)
    parent.begin(forever(), "parent")
    child.begin(forever(), "child")
    grandchild = Lifecycle(child)
    grandchild.begin(forever(), "grandchild")
    await quick.begin(asyncio.sleep(0), "quick")
    await asyncio.sleep(0)
    assert parent.children == {child}
    parent.stop("cancelled")
    for life in (parent, child, grandchild):
        await settle(life)
        assert life.stopping == "cancelled"
    await asyncio.sleep(0)
    assert parent.children == child.children == set()


async def test_an_abandoned_run_lets_go_with_its_children_and_is_not_being_stopped():
    parent = Lifecycle()
    child = Lifecycle(parent)
    left: list[Any] = []

    async def work(life: Lifecycle) -> None:
        try:
            await forever()
        finally:
            left.append((life.abandoned, life.stopping))

    parent.begin(work(parent), "parent")
    child.begin(work(child), "child")
    await asyncio.sleep(0)
    await parent.abandon()
    assert left == [(True, ""), (True, "")]
    await parent.abandon()
    await Lifecycle().abandon()
