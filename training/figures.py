"""What figures say: which of several adapters to take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WEIGHTS = {"own": 1.0, "later": 1.0, "latest": 0.5, "alone": 0.5, "dev": 1.0}
"""How much each development set counts when one adapter is chosen: the share that is right, not the number."""


def worst_kind(table: dict[str, Any]) -> float:
    """The share of the kind that goes worst."""
    return min((right / of for right, of in table.get("kinds", table["by"]).values() if of), default=0.0)


def score(tables: dict[str, dict[str, Any]]) -> float:
    """Of one adapter by development data alone. The worst kind of our own tasks counts as well: a model that is good
    on average and cannot recover at all is not what anybody wants."""
    shares = sum(weight * tables[name]["right"] / tables[name]["of"] for name, weight in WEIGHTS.items())
    return shares + 0.25 * worst_kind(tables["own"])


def tables_of(out: Path, tag: str, sets: Sequence[str] = (*WEIGHTS, "known")) -> dict[str, dict[str, Any]]:
    paths = {name: out / f"{tag}_{name}.json" for name in sets}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.is_file()}


def ranking(out: Path, tags: Sequence[str]) -> list[tuple[str, float]]:
    """Best first; those that were not evaluated on all development sets are left out."""
    found = {tag: tables_of(out, tag) for tag in tags}
    scored = [(tag, score(tables)) for tag, tables in found.items() if WEIGHTS.keys() <= tables.keys()]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))
