"""Bounds of numeric settings."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kit import add, row
from treadle import (
    Agent,
    Budget,
    ConfigError,
    DagAgent,
    OpenAIModel,
    Prices,
    RepairPolicy,
    RetryPolicy,
    ScriptedModel,
    ServerSettings,
    Tool,
    builtin,
    run_tasks,
    tool,
)
from treadle._engine.settings import Settings
from treadle._inspect.evals.tasks import TaskSet
from treadle._plugins.guards.context_guard import ContextGuard
from treadle._plugins.guards.loop_guard import LoopGuard
from treadle._plugins.thinking.observer import Observer
from treadle._safety.bounds import Amount, Count, Seconds, Share, _bounded_fields, bounded  # pyright: ignore[reportPrivateUsage]
from treadle._tools.sandbox.base import SandboxLimits

NEVER: list[Any] = [-1, math.nan, math.inf, True, "3"]
STRUCTS = [Settings, Budget, RepairPolicy, RetryPolicy, ServerSettings, SandboxLimits]
FIELDS = [(struct, name) for struct in STRUCTS for name, *_ in _bounded_fields(struct)]
MAY_BE_ZERO = {"max_parse", "max_tool", "backoff", "base", "cap", "patience", "flush", "grace", "tool_calls",
               "selection_threshold", "temperature", "seed"}  # fmt: skip
MAY_BE_NEGATIVE = {"seed"}


def test_every_number_among_the_settings_has_bounds():
    for struct in STRUCTS:
        numeric = {name for name, kind in struct.__annotations__.items() if str(kind).split(" ")[0] in ("int", "float")}
        assert not numeric, f"{struct.__name__}: {numeric}"


def test_nonsense_is_refused_with_the_setting_the_value_and_what_is_allowed():
    for struct, name in FIELDS:
        with row(struct, name):
            for value in [*NEVER, *([] if name in MAY_BE_ZERO else [0])]:
                if name in MAY_BE_NEGATIVE and value == -1:
                    continue
                with pytest.raises(ConfigError, match=r"must be a (whole )?number") as caught:
                    struct(**{name: value})
                assert name in str(caught.value)
                assert repr(value) in str(caught.value)
            if name in MAY_BE_ZERO:
                struct(**{name: 0})


def test_an_agent_with_nonsense_is_not_built():
    for name in ("tool_timeout", "max_history_messages", "max_tokens", "context_budget"):
        for value in (0, -3, math.nan):
            with row(name, value):
                with pytest.raises(ConfigError, match=name):
                    Agent(ScriptedModel([]), [add], **{name: value})
                with pytest.raises(ConfigError, match=name):
                    Agent(ScriptedModel([]), [add]).prepare("q", **{name: value})


def test_a_budget_in_a_mapping_is_checked_too():
    with pytest.raises(ConfigError, match=r"Budget\.tokens is -5, and it must be a whole number of at least 1"):
        Agent(ScriptedModel([]), [add], budget={"tokens": -5})


def test_a_part_with_nonsense_is_not_made():
    for make in (
        lambda n: tool(name="x", timeout=n)(lambda: 1),
        lambda n: Tool("x", "x", {}, print, timeout=n),
        lambda n: add.replace(timeout=n),
        lambda n: Agent(ScriptedModel([]), None).as_tool(timeout=n),
        lambda n: DagAgent(ScriptedModel([]), step_timeout=n),
        lambda n: DagAgent(ScriptedModel([]), max_rounds=n),
        lambda n: DagAgent(ScriptedModel([]), max_steps_at_once=n),
        lambda n: DagAgent(ScriptedModel([]), dependency_tokens=n),
        lambda n: builtin("calculator", timeout=n),
        lambda n: builtin("code_exec", seconds=n),
        lambda n: builtin("code_exec", memory=n),
        lambda n: builtin("http_fetch", max_bytes=n),
        lambda n: builtin("wikipedia", limit=n),
        lambda n: LoopGuard(nudge=n),
        lambda n: Observer(n),
        lambda n: OpenAIModel("m", api_key="k", max_concurrency=n),
        lambda n: OpenAIModel("m", api_key="k", timeout=n),
        lambda n: OpenAIModel("m", api_key="k", abilities={"window": n}),
        lambda n: ScriptedModel([], abilities={"max_output": n}),
        lambda n: ScriptedModel([], chunk=n),
        lambda n: builtin("sql", url="x.db", timeout=n),
        lambda n: builtin("sql", url="x.db", memory=n),
        lambda n: run_tasks(TaskSet("t", (), lambda task: []), (), repeats=n),
    ):
        for value in (0, -1, math.nan, math.inf, True):
            with row(make, value), pytest.raises(ConfigError, match="must be a"):
                make(value)


def test_a_price_that_would_fill_a_budget_up_is_refused():
    for value in (-1, -0.01, math.nan, math.inf):
        with row(value):
            for prices in ({"input": value, "output": 1}, {"input": 1, "output": 1, "cached": value}):
                with pytest.raises(ConfigError, match="at least 0"):
                    Prices(**prices)


def test_a_share_is_between_nothing_and_all():
    ContextGuard(goal=1.0)
    with pytest.raises(ConfigError, match=r"goal of ContextGuard is 1\.5, and it must be a number between 0 and 1"):
        ContextGuard(goal=1.5)


def test_a_bounded_function_is_otherwise_the_same():
    @bounded
    def f(a: int, b: Count = 2, *, c: Seconds | None = None, d: Amount = 0, e: Share = 0.5) -> Any:
        """Text."""
        return a, b, c, d, e

    assert f(-1, 3, c=None) == (-1, 3, None, 0, 0.5)
    assert f.__doc__ == "Text."
    for wrong in ({"b": 0}, {"c": 0}, {"d": -1}, {"e": 2}, {"b": None}):
        with pytest.raises(ConfigError):
            f(1, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"b of .*f is 0"):
        f(1, 0)
