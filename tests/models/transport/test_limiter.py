"""The limiter: shared by key and address, bounded across threads and event loops."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from treadle._models.transport.limiter import MAX_BACK_OFF, Limiter, limiter_for


def test_one_limiter_per_key_and_address():
    one = limiter_for("http://a", "k1")
    assert limiter_for("http://a", "k1", 4) is one
    assert one.cap == 4
    assert limiter_for("http://a", "k2") is not one
    assert limiter_for("http://b", "k1") is not one


def test_idle_limiters_do_not_pile_up(monkeypatch: pytest.MonkeyPatch):
    import treadle._models.transport.limiter as module

    monkeypatch.setattr(module, "_limiters", {})
    gated = limiter_for("http://x", "gated")
    gated.back_off(30)
    for number in range(3000):
        limiter_for("http://x", f"key{number}")
    assert len(module._limiters) <= module.MAX_LIMITERS
    assert limiter_for("http://x", "gated") is gated


def test_the_cap_holds_across_threads_and_loops():
    limiter = Limiter(3)
    now = most = done = 0
    lock = threading.Lock()

    async def work() -> None:
        nonlocal now, most, done
        async with limiter:
            with lock:
                now += 1
                most = max(most, now)
            await asyncio.sleep(0.002)
            with lock:
                now -= 1
                done += 1

    async def many() -> None:
        await asyncio.gather(*(work() for _ in range(20)))

    threads = [threading.Thread(target=lambda: asyncio.run(many())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (most, done) == (3, 80)
    assert limiter.idle


def test_a_cancelled_waiter_loses_no_permit():
    async def main() -> None:
        limiter = Limiter(1)
        async with limiter:
            waiters = [asyncio.create_task(enter(limiter)) for _ in range(5)]
            while len(limiter._waiters) < 5:  # noqa: ASYNC110 - the limiter has no event for it
                await asyncio.sleep(0)
            waiters[0].cancel()
            waiters[3].cancel()
            await asyncio.sleep(0)
        # The first live waiter gets the permit while it is being cancelled.
        waiters[1].cancel()
        results = await asyncio.gather(*waiters, return_exceptions=True)
        assert [type(result) for result in results].count(asyncio.CancelledError) == 3
        assert limiter.idle

    async def enter(limiter: Limiter) -> None:
        async with limiter:
            await asyncio.sleep(0)

    asyncio.run(main())


def test_a_waiter_on_a_closed_loop_is_skipped():
    limiter = Limiter(1)

    async def wait() -> None:
        async with limiter:
            pass

    async def hold() -> None:
        async with limiter:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(
                target=lambda: (loop.create_task(wait()), loop.call_soon(loop.stop), loop.run_forever())
            )
            thread.start()
            await asyncio.to_thread(thread.join)
            for task in asyncio.all_tasks(loop):
                task._log_destroy_pending = False  # type: ignore[attr-defined]
            loop.close()
        async with asyncio.timeout(30), limiter:
            pass

    asyncio.run(hold())


def test_a_back_off_is_bounded():
    limiter = Limiter()
    limiter.back_off(86_400)
    assert limiter._closed_until <= time.monotonic() + MAX_BACK_OFF


def test_idle_it_costs_about_as_much_as_a_lock():
    async def cost(guard: Any) -> float:
        start = time.process_time()
        for _ in range(5_000):
            async with guard:
                pass
        return time.process_time() - start

    async def main() -> float:
        limiter, lock = Limiter(), asyncio.Lock()
        return min([await cost(limiter) / await cost(lock) for _ in range(7)])

    assert asyncio.run(main()) < 10
