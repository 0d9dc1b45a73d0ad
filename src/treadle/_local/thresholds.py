"""Thresholds of known small models, found with `treadle doctor --calibrate`; others get a default.

Without them the constraint would decide: see `_local/policy/policy.py`.
"""

from __future__ import annotations

import re

import msgspec

from treadle._types.profile import DecisionThresholds, Profile

DEFAULT = DecisionThresholds(first=0.55, later=0.17, fits=0.62)
"""For a small model that nobody has calibrated: what divided tools from answers in 24 tasks with a model of 1.5 billion
parameters. A tiny one gets none: unless it was calibrated, it does better in a dialect of its own."""

KNOWN: tuple[tuple[str, DecisionThresholds], ...] = ()
"""The first pattern that is found in a model's name, with the same adapter, decides. Empty: those found for
Qwen2.5-Coder 1.5B (0.207, 0.622) had 25 of 38 other rows right where the default has 24, and other ones."""


def with_thresholds(profile: Profile, name: str) -> Profile:
    """The profile of a small model of that name with its thresholds, where it tells probabilities and its replies can
    be constrained."""
    if not profile.small or not profile.constrained or not profile.logprobs or profile.decide is not None:
        return profile
    known = (
        thresholds
        for pattern, thresholds in KNOWN
        if thresholds.adapter == profile.adapter and re.search(pattern, name.lower())
    )
    default = None if profile.adapter or profile.tiny else DEFAULT
    return msgspec.structs.replace(profile, decide=next(known, default))
