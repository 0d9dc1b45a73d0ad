"""Prices and windows as data: the built-in list, lists of a user, and which entry a model gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit import row
from treadle._models.catalog import prices as prices_module
from treadle._models.catalog.prices import built_in_prices, read_list, store, updated_path
from treadle._models.catalog.profiles import profile_for
from treadle._models.catalog.providers import provider_named
from treadle._testing.examples import text_for_pattern
from treadle._types.errors import ConfigError
from treadle._types.profile import Profile

OWN = {
    "date": "2026-12-01",
    "source": "a friend",
    "models": {
        "gpt-5": {"input": 1, "output": 8, "window": 500_000},
        "claude-sonnet-4-5": {"input": 2, "output": 9, "cached": 0.2},
        "groq:openai/gpt-oss-120b": {"input": 0.1, "output": 0.5},
        "unheard-of": {"window": 9_000},
    },
}


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path))
    return tmp_path


def profile(spec: str) -> Profile:
    provider, _, name = spec.partition(":")
    return profile_for(provider_named(provider), name)


def use(value: Any = OWN) -> None:
    store(read_list(json.dumps(value).encode(), "list.json", "2026-11-16"))


def test_the_built_in_list_has_a_date_a_source_and_only_entries_that_some_model_gets():
    listed = built_in_prices()
    assert listed.date
    assert listed.source
    assert len(listed.models) > 60
    for pattern, entry in listed.models.items():  # the special before the general
        assert profile(f"openai:{text_for_pattern(pattern)}").prices == entry.prices(), pattern


def test_which_entry_a_model_gets():
    for spec, price in [
        ("openai:gpt-5", 1),
        ("openai:gpt-5-2025-08-07", 1),
        ("openai:gpt-5-mini", 0.25),  # another model, not a version of it
        ("anthropic:claude-sonnet-4-5-20250929", 2),
        ("vertex:claude-sonnet-4-5@20250929", 2),
        ("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", 2),
        ("groq:openai/gpt-oss-120b", 0.1),
        ("ollama:gpt-5", 0),  # on one's own machine nothing costs
    ]:
        with row(spec, price):
            use()
            found = profile(spec).prices
            assert found is not None
            assert found.input == price


def test_windows_change_too_and_abilities_do_not():
    before = profile("openai:gpt-5")
    use()
    after = profile("openai:gpt-5")
    assert (before.window, after.window) == (400_000, 500_000)
    assert after.abilities == before.abilities
    assert profile("openai:unheard-of").window == 9_000
    assert profile("openai:unheard-of").prices is None


def test_a_list_of_litellm():
    per_token = {
        "input_cost_per_token": 1.5e-06,
        "output_cost_per_token": 6e-06,
        "cache_read_input_token_cost": 1.5e-07,
        "max_input_tokens": 123_000,
        "max_output_tokens": 4_000,
        "search_context_cost_per_query": {"search_context_size_medium": 0.025},
        "mode": "chat",
    }
    use({"sample_spec": {"max_tokens": "a number"}, "gpt-5": per_token, "dall-e-3": {"mode": "image_generation"}})
    found = profile("openai:gpt-5")
    assert found.prices is not None
    assert (found.prices.input, found.prices.output, found.prices.cached) == (1.5, 6, 0.15)
    assert found.prices.search == 0.025
    assert (found.window, found.max_output) == (123_000, 4_000)
    assert json.loads(updated_path().read_text())["source"] == "list.json"


def test_lists_that_cannot_be_used():
    for value in [
        {"models": {"m": {"input": -1, "output": 1}}},
        {"models": {"m": {"input": 1}}},
        {"models": {"m": {"window": 0}}},
        {"models": {"m": {"input": "1", "output": 2}}},
        {"models": 7},
        {},
        [],
    ]:
        with row(value):
            with pytest.raises(ConfigError, match="list of prices"):
                use(value)
            assert not updated_path().exists()


def test_a_stored_list_that_is_broken_is_ignored(caplog: pytest.LogCaptureFixture):
    updated_path().write_text("{")
    assert profile("openai:gpt-5").window == 400_000
    assert "prices --update" in caplog.text


def test_a_new_list_is_seen_at_once():
    use()
    assert profile("openai:gpt-5").window == 500_000
    changed = {**OWN, "models": {"gpt-5": {"window": 600_000}}}
    use(changed)
    assert profile("openai:gpt-5").window == 600_000
    assert prices_module.updated_prices() is not None
