"""The thresholds of a small model that was not calibrated with `treadle doctor --calibrate`.

Without any the constraint would decide: see `_local/policy/policy.py`.
"""

from __future__ import annotations

import msgspec

from treadle._types.profile import DecisionThresholds, Profile

DEFAULT = DecisionThresholds(first=0.55, later=0.17, fits=0.62)
"""For a small model that nobody has calibrated: what divided tools from answers in 24 tasks with a model of 1.5 billion
parameters. Those found for Qwen2.5-Coder 1.5B alone (0.207, 0.622) had 25 of 38 other rows right where these have 24.
A tiny model gets none: unless it was calibrated, it does better in a dialect of its own."""


def with_thresholds(profile: Profile) -> Profile:
    """The profile of a small model with thresholds, where it tells probabilities and its replies can be constrained. An
    adapter has learnt when to answer."""
    if not profile.small or not profile.constrained or not profile.logprobs or profile.decide is not None:
        return profile
    return profile if profile.adapter or profile.tiny else msgspec.structs.replace(profile, decide=DEFAULT)
