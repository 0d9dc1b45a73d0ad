"""Decision thresholds of models by their size."""

from __future__ import annotations

from treadle._local.thresholds import DEFAULT, with_thresholds
from treadle._models.catalog.profiles import with_thresholds as of_any_model
from treadle._types.profile import DecisionThresholds, Profile

OWN = DecisionThresholds(0.3, 0.3)


def test_default_thresholds():
    for facts, decide in (
        ({"parameters": 1.5}, DEFAULT),
        ({"parameters": 1.5, "decide": OWN}, OWN),
        ({"parameters": 1.5, "logprobs": False}, None),
        ({"parameters": 1.5, "grammar": False}, None),
        ({"parameters": 1.5, "adapter": "treadle-1.5b-10"}, None),
        ({"parameters": 0.5, "tiny": True}, None),
        ({"parameters": 70.0}, None),
        ({}, None),
    ):
        profile = Profile(**{"grammar": True, "logprobs": True, **facts})
        assert with_thresholds(profile).decide == decide, facts
        assert of_any_model(profile).decide == decide, facts
