"""Chooses among the text dialects for models whose replies follow a schema."""

from __future__ import annotations

from treadle._types.profile import Profile


def short_dialect(profile: Profile) -> str:
    """The smaller the model, the less it should write."""
    if profile.tiny and not profile.decides_in("direct"):
        return "brief"
    return "direct" if profile.grammar or (profile.constrained and profile.small) else "schema"
