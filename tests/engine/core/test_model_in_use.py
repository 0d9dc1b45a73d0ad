"""The model in use: its dialect, its fallbacks, its caches."""

from __future__ import annotations

from typing import Any

from engine.executions import execution, recorded, started
from kit import add
from treadle import Budget, ScriptedModel
from treadle._types import events as ev
from treadle._types.profile import Profile

TEXT_ONLY = {"tool_call": False, "json_schema": False}


def test_the_dialect_suits_the_model_until_the_log_says_otherwise():
    assert execution().current.dialect.name == "native"
    assert execution(ScriptedModel([], abilities=TEXT_ONLY), [add]).current.dialect.name == "json"
    records = [ev.Record("run", 0, 0.0, ev.RunStarted("q", dialect="action"))]
    assert execution(records=records).current.dialect.name == "action"


def test_the_model_the_log_names_is_the_one_in_use():
    small, large = ScriptedModel([], name="small"), ScriptedModel([], name="large")
    run = execution(small, fallbacks=[large])
    assert (run.current.model, run.current.has_fallback) == (small, True)
    records = [ev.Record("run", 0, 0.0, ev.RunStarted("q", model="large"))]
    resumed = execution(small, fallbacks=[large], records=records)
    assert (resumed.current.model, resumed.current.has_fallback) == (large, False)
    gone = [ev.Record("run", 0, 0.0, ev.RunStarted("q", model="no longer there"))]
    assert execution(small, fallbacks=[large], records=gone).current.model is small


async def test_a_fallback_is_recorded_and_spoken_to_in_its_own_dialect():
    text = ScriptedModel([], name="text only", abilities=TEXT_ONLY)
    run = await started(ScriptedModel([], name="first"), [add], fallbacks=[text])
    await run.current.use_fallback("overloaded")
    switched, demoted = recorded(run, ev.ModelSwitched, ev.DialectDemoted)
    assert (switched.model, switched.previous, switched.reason) == ("text only", "first", "overloaded")
    assert (demoted.dialect, demoted.previous) == ("json", "native")
    assert (run.current.model, run.current.dialect.name) == (text, "json")
    assert not run.current.has_fallback


async def test_a_fallback_that_speaks_the_same_dialect_changes_nothing_but_the_model():
    run = await started(ScriptedModel([], name="first"), [add], fallbacks=[ScriptedModel([], name="second")])
    await run.current.use_fallback("overloaded")
    assert recorded(run, ev.DialectDemoted) == []


def test_before_its_first_record_a_run_has_no_system_prompt():
    assert execution(tools=[add]).current.system_prompt() == ""


def test_tokens_are_counted_where_somebody_wants_to_know():
    assert not execution(ScriptedModel([], profile=Profile())).current.counts_tokens
    assert execution(ScriptedModel([], profile=Profile(window=1_000))).current.counts_tokens
    assert execution(ScriptedModel([], profile=Profile()), budget=Budget(requests=1)).current.counts_tokens
    assert execution(ScriptedModel([], profile=Profile()), context_budget=500).current.token_limit == 500


def test_each_component_has_a_cache_until_the_run_lets_go_of_them():
    run: Any = execution()
    one = run.current.cache_for("loop")
    assert run.current.cache_for("loop") is one
    assert run.current.cache_for("observer") is not one
    run.current.release_caches()
    assert run.current.cache_for("loop") is not one
