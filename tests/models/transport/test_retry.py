"""Which failures are tried again, and after what pause."""

from __future__ import annotations

import random

from treadle._models.transport.retry import RetryPolicy
from treadle._types.errors import (
    BadReplyError,
    ContentFilteredError,
    ContextOverflowError,
    MissingKeyError,
    RequestRefusedError,
    TransientModelError,
)


def test_only_transient_failures_are_worth_another_attempt():
    policy = RetryPolicy()
    assert policy.attempts == 3
    assert policy.retryable(TransientModelError("x"))
    assert policy.retryable(TransientModelError("x", retry_after=20))
    for error in (
        RequestRefusedError("x"),
        ContextOverflowError("x"),
        BadReplyError("x"),
        ContentFilteredError("x"),
        MissingKeyError("x"),
    ):
        assert not policy.retryable(error)
    assert not policy.retryable(ValueError("x"))


def test_a_server_that_asks_for_hours_is_not_waited_for():
    policy = RetryPolicy()
    assert not policy.retryable(TransientModelError("x", retry_after=3600))
    assert policy.delay(1, TransientModelError("x", retry_after=3600)) == policy.patience


def test_full_jitter_grows_up_to_the_cap():
    policy = RetryPolicy()
    for attempt in (1, 2, 3, 8, 20, 2000):
        bound = min(60.0, 0.5 * 2.0 ** min(attempt - 1, 60))
        delays = [policy.delay(attempt, None, random.Random(seed)) for seed in range(300)]
        assert 0 <= min(delays) < 0.1 * bound
        assert 0.9 * bound < max(delays) <= bound


def test_the_pause_a_server_asks_for_is_the_minimum():
    policy = RetryPolicy()
    for seed in range(50):
        assert policy.delay(1, TransientModelError("x", retry_after=7), random.Random(seed)) == 7
        assert policy.delay(8, TransientModelError("x", retry_after=2), random.Random(seed)) >= 2
