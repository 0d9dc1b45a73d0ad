"""The tree of errors, as its docstring draws it."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from treadle._types import errors
from treadle._types.errors import (
    BudgetExhaustedError,
    ContextOverflowError,
    GuardrailError,
    LimitError,
    MissingExtraError,
    ModelError,
    StructuredCallError,
    TransientModelError,
    TreadleError,
)
from treadle._types.usage import NO_USAGE, Usage

CLASSES = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)}


def drawn() -> dict[str, str]:
    """The parent of each error in the docstring's drawing: an error stands to the right of its parent, below it."""
    parents: dict[str, str] = {}
    trail: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"^([|` -]*)(\w+Error)\b", line):
            depth, name = len(match[1]), match[2]
            while trail and trail[-1][0] >= depth:
                trail.pop()
            parents[name] = trail[-1][1] if trail else "Exception"
            trail.append((depth, name))
    return parents


def test_the_drawing_is_the_tree():
    assert drawn() == {name: kind.__base__.__name__ for name, kind in CLASSES.items()}


def test_one_except_catches_them_all():
    for kind in CLASSES.values():
        assert issubclass(kind, TreadleError)
        assert not issubclass(kind, (OSError, AssertionError))
    # A wrong value is Python's as well, since callers of the executor library catch that; nothing else is.
    assert [name for name, kind in CLASSES.items() if issubclass(kind, ValueError)] == ["WrongValueError"]


@pytest.mark.parametrize("kind", [k for k in CLASSES.values() if issubclass(k, ModelError)], ids=lambda k: k.__name__)
def test_a_failed_model_call_says_status_cost_and_provider(kind: type[ModelError]):
    cost = Usage(requests=1, input_tokens=10)
    error = kind("it broke", status=418, usage=cost, provider="acme")
    assert (str(error), error.status, error.usage, error.provider) == ("it broke", 418, cost, "acme")
    plain = kind("it broke")
    assert (plain.status, plain.usage, plain.provider) == (None, NO_USAGE, "")


def test_a_transient_failure_keeps_the_servers_wish():
    assert TransientModelError("busy", retry_after=2.5, status=429).retry_after == 2.5
    assert TransientModelError("busy").retry_after is None


def test_an_overflow_is_a_refusal_and_not_worth_the_same_request_again():
    error = ContextOverflowError("too long", status=400)
    assert isinstance(error, errors.RequestRefusedError)
    assert not isinstance(error, TransientModelError)


def test_a_missing_extra_says_what_to_type():
    error = MissingExtraError("the server", "server")
    assert str(error) == 'the server needs an optional part of Treadle: pip install "treadle[server]"'
    assert error.extra == "server"


def test_limits_say_what_was_spent_and_do_not_share_their_metadata():
    one, two = LimitError("a"), BudgetExhaustedError("b", cost=Usage(requests=3), metadata={"limit": "requests"})
    one.metadata["x"] = 1
    assert LimitError("c").metadata == {}
    assert (two.cost.requests, two.metadata) == (3, {"limit": "requests"})


def test_a_structured_call_says_how_often_it_tried():
    error = StructuredCallError("unreadable", usage=Usage(requests=3), calls=3)
    assert (error.calls, error.usage.requests) == (3, 3)


EXAMPLES = [
    *(kind("what went wrong") for name, kind in CLASSES.items() if name not in ("MissingExtraError", "GuardrailError")),
    MissingExtraError("the server", "server"),
    GuardrailError("topic", "it is about something else", "No."),
    TransientModelError("busy", retry_after=2.5, status=429, usage=Usage(requests=1), provider="acme"),
    BudgetExhaustedError("used up", cost=Usage(cost=0.5), metadata={"limit": "cost"}),
    StructuredCallError("unreadable", calls=3),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_errors_travel_between_processes(error: TreadleError):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), vars(copy)) == (str(error), vars(error))
