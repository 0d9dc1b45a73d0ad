"""Facts about well-known models, by name and provider."""

from __future__ import annotations

from typing import Any

from treadle._models.catalog.profiles import profile_for, wants_responses
from treadle._models.catalog.providers import provider_named
from treadle._types.profile import Profile


def profile(spec: str) -> Profile:
    provider, _, name = spec.partition(":")
    return profile_for(provider_named(provider), name)


FACTS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "openai:gpt-4o-2024-08-06",
        {"tool_call": True, "json_schema": True, "vision": True, "window": 128_000, "reasoning": False},
    ),
    (
        "openai:gpt-5",
        {"accepts_temperature": False, "token_cap_name": "max_completion_tokens", "system_role": "developer"},
    ),
    ("openai:gpt-5-nano", {"tool_call": True, "reasoning": True}),
    ("bedrock:us.amazon.nova-pro-v1:0", {"tool_call": True, "calls_known": True, "window": 300_000}),
    ("bedrock:eu.anthropic.claude-sonnet-4-5-20250929-v1:0", {"calls_known": True, "window": 200_000}),
    ("openai:gpt-9-nova", {"tool_call": True, "prices": None}),
    ("openai:o3-mini", {"reasoning": True, "vision": False}),
    ("openai:gpt-3.5-turbo", {"json_schema": False, "json_mode": True, "window": 16_385}),
    ("openai:my-finetune", {"tool_call": True, "json_mode": False, "window": None, "prices": None}),
    (
        "anthropic:claude-sonnet-4-5-20250929",
        {"forced_tool": True, "json_schema": True, "max_output": 64_000},
    ),
    (
        "anthropic:claude-opus-5-5",
        {"forced_tool": False, "accepts_temperature": False, "reasoning": True, "window": 1_000_000},
    ),
    ("gemini:gemini-2.5-flash", {"reasoning": True, "replay_reasoning": True, "json_schema": True}),
    ("deepseek:deepseek-v4-flash", {"replay_reasoning": True, "json_schema": False, "json_mode": True}),
    ("mistral:mistral-small-latest", {"vision": True, "json_schema": True}),
    ("ollama:qwen2.5-coder:1.5b", {"tool_call": False, "json_schema": True, "grammar": False}),
    ("ollama:llama3.2", {"tool_call": True, "json_schema": True, "forced_tool": False, "window": None}),
    ("ollama:gpt-oss:20b", {"tool_call": True, "reasoning": True, "system_role": "system"}),
    ("llamacpp:whatever", {"tool_call": True, "json_schema": True, "grammar": True}),
    ("ollama:whatever:1b", {"tool_call": False, "strict_schema": True, "parameters": 1.0, "tiny": False}),
    ("llamacpp:whatever-0.5b.gguf", {"tool_call": False, "grammar": True, "parameters": 0.5, "tiny": True}),
    ("groq:whatever-8b", {"tool_call": True, "forced_tool": True}),
    ("groq:openai/gpt-oss-120b", {"tool_call": True, "forced_tool": True, "prices": None}),
    ("openrouter:anthropic/claude-sonnet-4.5", {"tool_call": True, "replay_reasoning": True, "json_schema": True}),
    ("openrouter:openai/gpt-5-mini", {"token_cap_name": "max_tokens", "accepts_temperature": False}),
)


def test_facts():
    for spec, facts in FACTS:
        actual = profile(spec)
        assert {name: getattr(actual, name) for name in facts} == facts, spec


PRICES = {
    "openai:gpt-4-turbo": 10,
    "openai:gpt-4o-mini": 0.15,
    "openai:gpt-4.1-nano": 0.1,
    "openai:gpt-5-2025-08-07": 1.25,
    "openai:gpt-5.1": 1.25,
    "openai:gpt-5.4-mini": 0.75,
    "openai:gpt-6.1-terra": 1,
    "openai:o3": 2,
    "openai:o3-mini": 1.1,
    "anthropic:claude-sonnet-4-20250514": 3,
    "anthropic:claude-opus-4-5": 5,
    "anthropic:claude-opus-5-5": 4,
    "anthropic:claude-fable-5": 10,
    "gemini:gemini-2.5-flash-lite": 0.1,
    "gemini:gemini-3-pro-preview": 2,
    "deepseek:deepseek-v4-pro": 1.32,
    "mistral:mistral-small-latest": 0.15,
    "xai:grok-4-1-fast-reasoning": 0.2,
    "openrouter:anthropic/claude-opus-4.5": 5,
    "vllm:anything": 0,
}
"""Of a token that is read: names that begin like others, and those of one version."""


def test_prices():
    for spec, price in PRICES.items():
        prices = profile(spec).prices
        assert prices is not None, spec
        assert prices.input == price, spec
    for spec in (
        "openai:gpt-9",
        "openai:chatgpt-4o-latest",
        "openai:gpt-4o-audio-preview",
        "anthropic:claude-next",
        "groq:llama-3.3-70b-versatile",
        "deepseek:deepseek-chat",
    ):
        assert profile(spec).prices is None, spec


def test_native_calls_are_known_to_work_on_the_owners_server_only():
    for spec in ("openai:gpt-5", "anthropic:claude-sonnet-5", "gemini:gemini-3-flash", "mistral:mistral-large-latest"):
        assert profile(spec).calls_natively, spec
    for spec in ("openai:o1-mini", "openai:unheard-of", "ollama:qwen3:8b", "ollama:mistral-small-latest"):
        assert not profile(spec).calls_natively, spec


def test_which_models_need_the_responses_api():
    for name in ("gpt-5.4", "gpt-5.6-luna", "gpt-6-sol", "gpt-6.1-terra", "gpt-5-pro", "o3-pro", "gpt-5.2-codex"):
        assert wants_responses(name)
    for name in ("gpt-4o", "gpt-5", "gpt-5.1", "gpt-5-mini", "o3", "gpt-oss-120b", "gpt-4.1"):
        assert not wants_responses(name)
