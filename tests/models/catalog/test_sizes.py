"""The number of parameters that a model's name gives."""

from __future__ import annotations

from kit import row
from treadle._models.catalog.profiles import parameters_in, profile_for
from treadle._models.catalog.providers import provider_named


def test_parameters_in():
    for name, billions in [
        ("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", 1.5),
        ("SmolLM2-135M-Instruct.Q4_1", 0.135),
        ("llama3.2:1b", 1),
        ("meta-llama/Llama-3.1-8B-Instruct", 8),
        ("Mixtral-8x7B", 56),
        ("Qwen3-30B-A3B", 30),
        ("Qwen2.5-7B-Instruct-1M", 7),
        ("model_7b_chat_1m", 7),
        ("merged-lora-2b-into-70b", 70),
        ("deepseek-v3.1-3b-active-671b", 671),
        ("a-long-window-1m", None),
        ("phi-3-mini-4k-instruct", None),
        ("claude-sonnet-4-5", None),
        ("gpt-4o", None),
        ("v2.5b", None),
        ("0b", None),
        ("", None),
    ]:
        with row(name, billions):
            assert parameters_in(name) == billions


def test_a_model_behind_a_server_has_the_size_its_name_gives():
    server = provider_named("llamacpp")
    assert profile_for(server, "qwen2.5-coder-1.5b-instruct").small
    assert not profile_for(server, "qwen2.5-coder-7b-instruct").small
    unknown = profile_for(server, "my-own-model")
    assert unknown.grammar
    assert (unknown.parameters, unknown.small) == (None, False)
