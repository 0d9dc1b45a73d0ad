"""Our adapters in the list of a llama.cpp server."""

from __future__ import annotations

from typing import Any

from treadle._local.weights.adapters import TAUGHT
from treadle._local.weights.served_tuning import path_for, tuning_in


def test_which_of_our_adapters_a_llama_cpp_server_has():
    model, ours = next(iter(TAUGHT.items()))
    assert path_for(f"{model.upper()}-instruct-q8_0.gguf") == "/lora-adapters"
    assert path_for("llama-3.3-70b") == ""
    mine = {"id": 0, "path": f"/cache/{ours.name}.gguf"}
    listed: list[tuple[list[Any], str]] = [
        ([{"id": 0, "path": f"/cache/{ours.name}-01234567.gguf"}], ours.name),
        ([{"id": 0, "path": f"C:\\\\cache\\{ours.earlier[0]}.gguf"}], ours.earlier[0]),
        ([{"id": 0, "path": "/cache/other.gguf"}], ""),
        ([{**mine, "id": 1}], ""),
        ([mine, {"id": 1, "path": "/other.gguf"}], ""),
        ([{"id": 0, "path": f"/x/{list(TAUGHT.values())[1].name}.gguf"}], ""),  # for another model
        (["no object", None], ""),
        ([], ""),
    ]
    for entries, name in listed:
        assert tuning_in(entries, model) == name, entries
    assert tuning_in([mine], "llama-3.3-70b") == ""
