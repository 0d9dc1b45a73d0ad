"""With a real local model: a fact from 40 steps ago is there after compaction (the table: benchmarks/recall.py)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from kit import go

MODEL = "qwen2.5-coder-1.5b"


def benchmark() -> Any:
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "recall.py"
    spec = importlib.util.spec_from_file_location("recall", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.model
@pytest.mark.long  # half an hour on two cores
@pytest.mark.timeout(3_000)
def test_a_fact_from_40_steps_ago_is_answered_after_compaction():
    from treadle._local.weights import weights
    from treadle._types.errors import ModelError

    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip('needs the local model: pip install "treadle[local]"')
    try:
        weights.ensure(MODEL)
    except ModelError as error:
        pytest.skip(f"{MODEL} cannot be had: {error}")
    from treadle._local.model import LocalModel

    async def main() -> Any:
        model = LocalModel(MODEL, n_ctx=2048, slots=2)
        try:
            return await benchmark().recall(model, "known")
        finally:
            await model.aclose()

    found = go(main(), limit=2_900)
    assert found["finished"]
    assert found["summaries"] >= 2
    assert not found["page_in_window"], "the page itself is gone: only summaries can tell"
    assert found["answered"], found["answer"]
