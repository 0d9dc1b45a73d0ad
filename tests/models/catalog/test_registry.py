"""Models by name and role, and from a line of text."""

from __future__ import annotations

import re

import pytest

from kit import row
from treadle._models.catalog.registry import ModelRegistry, resolve_model
from treadle._models.openai.chat import OpenAIModel
from treadle._models.openai.responses import ResponsesModel
from treadle._models.scripted import ScriptedModel
from treadle._types.errors import ConfigError, UnknownModelError


def named(name: str) -> ScriptedModel:
    return ScriptedModel(name=name)


def test_the_default_is_the_first_general_model_else_the_first():
    registry = ModelRegistry()
    registry.register("a", named("a"), roles=["fast"])
    assert registry.default.name == "a"
    registry.register("b", named("b"), roles="general")
    registry.register("c", named("c"), roles=("general", "reasoning"))
    assert registry.default.name == "b"
    assert (registry.role("fast").name, registry.role("reasoning").name, registry.role("general").name) == (
        "a",
        "c",
        "b",
    )
    assert registry.role("vision").name == "b"
    assert registry.get("c").name == "c"
    assert (registry.names, len(registry), "a" in registry, "z" in registry) == (("a", "b", "c"), 3, True, False)


def test_registry_errors_name_the_fix():
    registry = ModelRegistry()
    with pytest.raises(ConfigError, match="register"):
        _ = registry.default
    with pytest.raises(ConfigError, match="register"):
        registry.role("fast")
    registry.register("planner", named("a"))
    with pytest.raises(ConfigError, match="'planner' is already registered"):
        registry.register("planner", named("b"))
    with pytest.raises(UnknownModelError, match="did you mean planner"):
        registry.get("plannr")
    with pytest.raises(UnknownModelError, match="not a model"):
        registry.register("x", 17)  # type: ignore[arg-type]


def test_names():
    for spec, name, provider in [
        ("openai:gpt-4o", "gpt-4o", "openai"),
        ("ollama:llama3.2:3b", "llama3.2:3b", "ollama"),
        ("OpenRouter: anthropic/claude-sonnet-4.5 ", "anthropic/claude-sonnet-4.5", "openrouter"),
        ("deepseek-chat@DeepSeek", "deepseek-chat", "deepseek"),
        ("qwen-max@Tongyi-Qianwen", "qwen-max", "qwen"),
        ("user@home:7b@ollama", "user@home:7b", "ollama"),
        ("llama.cpp:x", "x", "llamacpp"),
        ("LM_Studio:x", "x", "lmstudio"),
    ]:
        with row(spec, name, provider):
            model = resolve_model(spec, api_key="k")
            assert isinstance(model, OpenAIModel)
            assert (model.name, model.provider) == (name, provider)


def test_a_model_object_is_returned_unchanged():
    model = named("x")
    assert resolve_model(model) is model
    with pytest.raises(ConfigError, match="api_key"):
        resolve_model(model, api_key="k")


def test_bad_names_say_what_to_write():
    for spec, message in [
        ("gpt-4o", "names no provider"),
        ("", "names no provider"),
        ("opnai:gpt-4o", "did you mean openai"),
        ("zzz:gpt-4o", "expected one of"),
        ("openai:", "names no model"),
        ("@openai", "names no model"),
        ("x@nowhere", "unknown provider 'nowhere'"),
    ]:
        with row(spec, message), pytest.raises(UnknownModelError, match=message):
            resolve_model(spec, api_key="k")


def test_models_that_need_the_responses_api_get_it():
    assert isinstance(resolve_model("openai-responses:gpt-4o", api_key="k"), ResponsesModel)
    assert isinstance(resolve_model("openai:gpt-5.4", api_key="k"), ResponsesModel)
    assert not isinstance(resolve_model("openai:gpt-4o", api_key="k"), ResponsesModel)
    assert not isinstance(
        resolve_model("openai:gpt-5.4", api_key="k", base_url="http://localhost:1/v1"), ResponsesModel
    )


def test_an_address_without_its_scheme_is_told():
    for spec in ["127.0.0.1:8080", "localhost:8080/v1", "box.example:8000/v1#m", "[::1]:8080"]:
        with row(spec), pytest.raises(UnknownModelError, match=re.escape(f"write http://{spec}")):
            resolve_model(spec)
