"""`react_loop`: the `strict` preset as one function. Native tool calls only, one completion a round, errors raised."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from treadle._agent.agent import Agent
from treadle._engine.result import RunResult
from treadle._engine.settings import Budget
from treadle._models.base import Model
from treadle._models.catalog.registry import resolve_model
from treadle._models.transport.retry import RetryPolicy
from treadle._types.errors import ConfigError, MaxIterationsError
from treadle._types.usage import Usage
from treadle._types.value import Value


class LoopResult(Value, frozen=True):
    """What `react_loop` returns; `result` has everything about the run."""

    value: str
    cost: Usage
    metadata: dict[str, Any]
    result: RunResult[Any]

    @property
    def success(self) -> bool:
        """Return whether there is an answer that nothing speaks against."""
        return self.result.success


async def react_loop(
    model: str | Model,
    prompt: Any,
    tools: Iterable[Any],
    max_rounds: int = 8,
    max_observation_chars: int = 12_000,
    tool_timeout: float | None = None,
    temperature: float | None = 0.3,
    max_tokens: int | None = 4096,
    max_cost: Usage | Budget | None = None,
    retry: RetryPolicy | None = None,
    max_history_messages: int | None = None,
) -> LoopResult:
    """Think, act, observe until the model answers.

    Raises `MaxIterationsError` at `max_rounds`, `BudgetExhaustedError` at `max_cost`, the model's own error if it fails
    for good, and `TypeError` for a model that cannot call tools.
    """
    bound = resolve_model(model)
    if not bound.profile.tool_call:
        raise TypeError(
            f"react_loop needs a model that calls tools natively, and {bound.name} does not: "
            "use Agent(...), which can do without"
        )
    try:
        agent = Agent(
            bound,
            tools,
            preset="strict",
            max_iterations=max_rounds,
            max_observation_chars=max_observation_chars,
            tool_timeout=tool_timeout,
            temperature=temperature,
            max_tokens=max_tokens,
            budget=_budget(max_cost),
            retry=retry or RetryPolicy(),
            max_history_messages=max_history_messages,
        )
        result = await agent.run(prompt)
    except (ConfigError, MaxIterationsError) as error:
        error.args = tuple(_named_as_here(str(text)) for text in error.args)
        raise
    return LoopResult(result.answer, result.usage, result.metadata, result)


def _named_as_here(text: str) -> str:
    """The message of an error with the names that a caller of `react_loop` knows."""
    return re.sub(r"\biteration(s?)\b", r"round\1", text.replace("max_iterations", "max_rounds"))


def _budget(max_cost: Usage | Budget | None) -> Budget | None:
    """A cost as a bound: every count in it that is not zero."""
    if not isinstance(max_cost, Usage):
        return max_cost
    return Budget(
        input_tokens=max_cost.input_tokens or None,
        output_tokens=max_cost.output_tokens or None,
        requests=max_cost.requests or None,
        tool_calls=max_cost.tool_calls or None,
        cost=max_cost.cost,
    )
