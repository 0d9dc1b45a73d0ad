"""Settings: one frozen value; every wrong name and value is said at once."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle import Agent, ScriptedModel
from treadle._agent import presets
from treadle._engine.settings import (
    GROUPS,
    AnswerSettings,
    Budget,
    ContextSettings,
    ModelSettings,
    Preset,
    PresetName,
    RepairPolicy,
    RunLimits,
    Settings,
    ToolSettings,
)
from treadle._models.transport.retry import RetryPolicy
from treadle._types.errors import ConfigError


def test_no_change_is_the_same_settings():
    settings = Settings()
    assert settings.with_changes({}) is settings


@pytest.mark.parametrize(
    ("name", "says"),
    [("max_iteration", "did you mean 'max_iterations'"), ("temprature", "did you mean 'temperature'"), ("zzz", "seed")],
)
def test_an_unknown_name_is_answered_with_the_nearest_or_with_all(name: str, says: str):
    with pytest.raises(ConfigError, match=f"unknown setting {name!r}.*{says}"):
        Settings().with_changes({name: 1})


@pytest.mark.parametrize(
    "changes",
    [
        {"on_limit": "explode"},
        {"max_iterations": "many"},
        {"max_iterations": 0},
        {"max_parallel": -1},
        {"max_observation_chars": 0},
        {"temperature": "hot"},
        {"budget": {"tokens": "all"}},
        {"one_tool_per_step": "sometimes"},
    ],
    ids=str,
)
def test_a_wrong_value_is_refused(changes: dict[str, Any]):
    with pytest.raises(ConfigError):
        Settings().with_changes(changes)


def test_what_a_log_says_makes_the_same_settings_again():
    """A resumed run and a replay read the settings from the log."""
    settings = Settings().with_changes(
        {
            "dialect": "json",
            "budget": Budget(tokens=10, seconds=1.5),
            "repair": RepairPolicy(max_tool=2, backoff=0.5),
            "retry": RetryPolicy(attempts=7),
            "one_tool_per_step": "text",
        }
    )
    stored = msgspec.json.decode(msgspec.json.encode(settings.asdict()))
    assert Settings().with_changes(stored) == settings


def test_only_what_differs_is_logged():
    assert Settings().asdict() == {}
    assert Settings(max_iterations=3).asdict() == {"max_iterations": 3}


def test_the_limits_of_a_tool_call_come_from_the_settings():
    limits = Settings(tool_timeout=2.0, max_observation_chars=99, error_detail="full", unknown_args="prune").limits
    assert (limits.timeout, limits.max_chars, limits.error_detail, limits.unknown_args) == (2.0, 99, "full", "prune")


@given(st.sampled_from(["tokens", "requests", "tool_calls", "seconds", "cost"]), st.integers(1, 10**6))
def test_a_budget_may_come_as_a_plain_mapping(name: str, value: int):
    budget = Settings().with_changes({"budget": {name: value}}).budget
    assert budget == Budget(**{name: value})


def test_a_recorded_number_that_is_not_allowed_any_more_is_left_out():
    recorded = {"max_tokens": 0, "max_iterations": 7, "budget": {"tokens": 0}, "temperature": 0.5}
    settings = Settings().with_recorded(recorded, {"seed": 3})
    assert (settings.max_tokens, settings.max_iterations, settings.budget) == (None, 7, None)
    assert (settings.temperature, settings.seed) == (0.5, 3)
    with pytest.raises(ConfigError, match="max_tokens"):
        Settings().with_recorded(recorded, {"max_tokens": 0})


def test_the_groups_have_every_setting_once_with_its_type():
    fields = [name for group in GROUPS.values() for name in group.__struct_fields__]
    assert sorted(fields) == sorted(Settings.__struct_fields__)
    kinds = {name: kind for group in GROUPS.values() for name, kind in get_type_hints(group).items()}
    different = {name for name, kind in get_type_hints(Settings).items() if kind != kinds[name]}
    assert different == {"ask", "budgets", "imports", "packages", "files", "may"}  # any sequence does


def test_groups_and_flat_names_make_the_same_settings():
    grouped = Settings().with_changes(
        {
            "limits": RunLimits(max_iterations=3, budget=Budget(tokens=9)),
            "model_settings": ModelSettings(temperature=0.5),
            "tool_settings": ToolSettings(ask=["pay"]),
            "context": ContextSettings(selection_threshold=None),
            "answering": None,
        }
    )
    flat = {
        "max_iterations": 3,
        "budget": Budget(tokens=9),
        "temperature": 0.5,
        "ask": ["pay"],
        "selection_threshold": None,
    }
    assert grouped == Settings().with_changes(flat)


def test_a_group_leaves_what_it_does_not_set():
    before = Settings(max_iterations=3, on_limit="raise")
    assert before.with_changes({"limits": RunLimits(max_iterations=4)}) == Settings(max_iterations=4, on_limit="raise")
    assert before.with_changes({"answering": AnswerSettings()}) == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"limits": RunLimits(max_iterations=2), "max_iterations": 3}, "max_iterations was set twice"),
        ({"limits": {"max_iterations": 3}}, r"limits takes RunLimits\(\.\.\.\), not dict"),
        ({"context": object()}, "write deps="),
        ({"limits": RunLimits(max_iterations=0)}, "max_iterations is 0"),
        ({"limit": RunLimits()}, "did you mean 'limits'"),
    ],
    ids=["twice", "a dict", "deps of another engine", "out of bounds", "misspelt group"],
)
def test_a_wrong_group_is_a_clear_error(changes: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        Settings().with_changes(changes)


def test_type_checkers_know_the_presets_there_are():
    assert list(get_args(PresetName)) == presets.names()


def test_settings_alone_make_one():
    mine = Preset("mine", Settings(max_iterations=3))
    assert mine.plugins(mine.settings) == []
    assert Agent(ScriptedModel(["x"]), tools=None, preset=mine).settings.max_iterations == 3
