"""Our adapters in the list of a llama.cpp server."""

from __future__ import annotations

from typing import Any

import pytest

from treadle._local.weights.adapters import TAUGHT
from treadle._local.weights.served_tuning import path_for, tuning_in

MODEL, OURS = next(iter(TAUGHT.items()))


def test_servers_are_asked_only_about_our_models():
    assert path_for(f"{MODEL.upper()}-instruct-q8_0.gguf") == "/lora-adapters"
    assert path_for("llama-3.3-70b") == ""


@pytest.mark.parametrize(
    ("listed", "family", "name"),
    [
        ([{"id": 0, "path": f"/cache/{OURS.name}-01234567.gguf"}], MODEL, OURS.name),
        ([{"id": 0, "path": f"C:\\\\cache\\{OURS.earlier[0]}.gguf"}], MODEL, OURS.earlier[0]),
        ([{"id": 0, "path": f"/cache/{OURS.name}.gguf"}], "llama-3.3-70b", ""),
        ([{"id": 0, "path": "/cache/other.gguf"}], MODEL, ""),
        ([{"id": 1, "path": f"/cache/{OURS.name}.gguf"}], MODEL, ""),
        ([{"id": 0, "path": f"/{OURS.name}.gguf"}, {"id": 1, "path": "/other.gguf"}], MODEL, ""),
        (["no object"], MODEL, ""),
        ([], MODEL, ""),
    ],
)
def test_adapter_of_a_server(listed: list[Any], family: str, name: str):
    assert tuning_in(listed, family) == name
