"""Which of the short dialects a model gets."""

from __future__ import annotations

import pytest

from treadle._dialects.registry import choose_dialect
from treadle._types.profile import DecisionThresholds, Profile


@pytest.mark.parametrize(
    ("profile", "dialect"),
    [
        (Profile(grammar=True), "direct"),
        (Profile(json_schema=True, strict_schema=True, parameters=1.5), "direct"),
        (Profile(json_schema=True, strict_schema=True, parameters=70.0), "schema"),
        (Profile(json_schema=True, parameters=1.5), "schema"),
        (Profile(json_schema=True, tiny=True), "brief"),
        (Profile(grammar=True, logprobs=True, tiny=True, decide=DecisionThresholds(0.5, 0.5)), "direct"),
        (Profile(grammar=True, parameters=0.5, adapter="treadle-0.5b-9"), "compact"),
        (Profile(json_mode=True, tiny=True), "json"),
    ],
)
def test_dialect_by_size(profile: Profile, dialect: str):
    assert choose_dialect("auto", profile).name == dialect
