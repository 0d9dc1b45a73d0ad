"""Decision thresholds of models by their size."""

from __future__ import annotations

import pytest

from treadle._local.thresholds import DEFAULT, with_thresholds
from treadle._models.catalog.profiles import with_thresholds as of_any_model
from treadle._types.profile import DecisionThresholds, Profile

OWN = DecisionThresholds(0.3, 0.3)


@pytest.mark.parametrize(
    ("facts", "decide"),
    [
        ({"parameters": 1.5}, DEFAULT),
        ({"parameters": 1.5, "decide": OWN}, OWN),
        ({"parameters": 1.5, "logprobs": False}, None),
        ({"parameters": 1.5, "grammar": False}, None),
        ({"parameters": 1.5, "adapter": "treadle-1.5b-10"}, None),
        ({"parameters": 0.5, "tiny": True}, None),
        ({"parameters": 70.0}, None),
        ({}, None),
    ],
)
def test_default_thresholds(facts: dict[str, object], decide: DecisionThresholds | None):
    profile = Profile(**{"grammar": True, "logprobs": True, **facts})  # pyright: ignore[reportArgumentType]
    assert with_thresholds(profile, "some-model").decide == decide
    assert of_any_model(profile, "some-model").decide == decide
