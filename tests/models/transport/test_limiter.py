"""The limiter: shared by key and address, bounded across threads and event loops."""

from __future__ import annotations

import asyncio
import threading
import time

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
        thread.join(20)
    assert (most, done) == (3, 80)
    assert limiter.idle


def test_a_cancelled_waiter_loses_no_place():
    async def main() -> None:
        limiter = Limiter(1)
        async with limiter:
            waiters = [asyncio.create_task(enter(limiter)) for _ in range(5)]
            await asyncio.sleep(0.01)
            waiters[0].cancel()
            waiters[3].cancel()
            await asyncio.sleep(0)
        # The first live waiter is handed the place while it is being cancelled.
        waiters[1].cancel()
        results = await asyncio.gather(*waiters, return_exceptions=True)
        assert [type(result) for result in results].count(asyncio.CancelledError) == 3
        assert limiter.idle

    async def enter(limiter: Limiter) -> None:
        async with limiter:
            await asyncio.sleep(0)

    asyncio.run(main())


def test_a_waiter_on_a_dead_loop_is_passed_over():
    limiter = Limiter(1)

    async def wait() -> None:
        async with limiter:
            pass

    async def hold() -> None:
        async with limiter:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(
                target=lambda: (loop.create_task(wait()), loop.call_later(0.02, loop.stop), loop.run_forever())
            )
            thread.start()
            await asyncio.to_thread(thread.join)
            for task in asyncio.all_tasks(loop):
                task._log_destroy_pending = False  # type: ignore[attr-defined]
            loop.close()
        async with asyncio.timeout(1), limiter:
            pass

    asyncio.run(hold())


def test_the_gate_is_bounded():
    limiter = Limiter()
    limiter.back_off(86_400)
    assert limiter._closed_until <= time.monotonic() + MAX_BACK_OFF


@pytest.mark.no_cover  # its time is measured
def test_idle_it_costs_next_to_nothing():
    async def main() -> float:
        limiter = Limiter()
        start = time.process_time()
        for _ in range(20_000):
            async with limiter:
                pass
        return (time.process_time() - start) / 20_000

    assert asyncio.run(main()) < 20e-6
