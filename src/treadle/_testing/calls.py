"""Assertions about what a run did; one that fails tells the whole story of the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle._engine.result import RunResult
from treadle._types.state_values import Step


def assert_called(result: RunResult[Any], tool: str, /, *, times: int | None = None, **args: Any) -> list[Step]:
    """Assert that the run called a tool, at least with these arguments (`city="Oslo"`), `times` times if that is given;
    gives the calls."""
    named = [step for step in result.steps if step.tool == tool]
    fitting = [step for step in named if args.items() <= step.args.items()] if args else named
    wanted = f"{tool}({', '.join(f'{name}={value!r}' for name, value in args.items())})"
    if not fitting:
        others = "; it was called with other arguments" if named else ""
        _fail(result, f"{wanted} was not called{others}")
    if times is not None and len(fitting) != times:
        _fail(result, f"{wanted} was called {len(fitting)} times, not {times}")
    return fitting


def assert_not_called(result: RunResult[Any], tool: str, /) -> None:
    """Assert that the run never called a tool."""
    if any(step.tool == tool for step in result.steps):
        _fail(result, f"{tool} was called")


def assert_tools(result: RunResult[Any], tools: Sequence[str], /) -> None:
    """Assert which tools were called, in which order, with every repetition."""
    called = [step.tool for step in result.steps]
    if called != list(tools):
        _fail(result, f"the calls were {called}, not {list(tools)}")


def assert_answered(result: RunResult[Any], *parts: str) -> None:
    """Assert that the run succeeded, and that its answer contains every one of `parts` (in any case)."""
    if not result.success:
        _fail(result, f"the run did not succeed: it ended with {result.stop_reason!r}")
    for part in parts:
        if part.casefold() not in result.answer.casefold():
            _fail(result, f"the answer does not contain {part!r}")


def _fail(result: RunResult[Any], problem: str) -> None:
    raise AssertionError(f"{problem}\n{result.trace()}")
