"""Shares and their intervals, compared with published values."""

from __future__ import annotations

import pytest

from treadle._inspect.evals.stats import share_of, wilson


@pytest.mark.parametrize(
    ("solved", "tasks", "low", "high"),
    # The score interval without continuity correction: Newcombe 1998, table 1, and small cases by hand.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 0.8830, 1.0),
    ],
)
def test_wilson(solved: int, tasks: int, low: float, high: float):
    assert wilson(solved, tasks) == pytest.approx((low, high), abs=5e-5)


def test_no_tasks_at_all():
    assert wilson(0, 0) == (0.0, 1.0)
    assert share_of([]).value == 0.0


def test_repeats_do_not_narrow_the_interval():
    once = share_of([("a", True), ("b", False)])
    often = share_of([("a", True), ("b", False)] * 50)
    assert (once.low, once.high) == (often.low, often.high)
    assert often.tasks == 2


def test_a_task_that_passes_sometimes_counts_in_part():
    share = share_of([("a", True), ("a", False), ("b", True), ("b", True)])
    assert (share.solved, share.value) == (1.5, 0.75)
    assert str(share) == "1.5/2 = 75 % (20 to 97)"
    assert str(share_of([("a", True)])) == "1/1 = 100 % (21 to 100)"
