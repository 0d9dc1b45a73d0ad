"""Which of the changes that help comes first: what helps most often, then what touches least."""

from __future__ import annotations

from collections.abc import Sequence

from treadle._inspect.evals.stats import Share
from treadle._inspect.why.changes import ADDED, OFFERED, Change
from treadle._inspect.why.experiments import Experiment

_SCOPE = {
    "prompt": 0, "description": 0, "passage": 0, "again": 1, "threshold": 1, "setting": 2, "route": 2, "result": 3,
    "guard": 4, "tools": 5, "dialect": 9, "model": 10,
}  # fmt: skip
"""Of changes that help alike, the one that touches least is nearest to the cause."""
_CORRECTED, _ADDED = 7, 8


def scope(change: Change) -> int:
    """Rank a change by how much it touches.

    A replacement or addition may help although the original text was right, so it comes after removals.
    """
    if change.kind in ("prompt", "description", "passage") and change.after:
        return _CORRECTED if change.before else _ADDED
    if change.kind == "guard" and change.after == ADDED:
        return _ADDED
    if change.kind == "tools" and change.after == OFFERED:
        return 1
    return _SCOPE[change.kind]


def ranked(
    done: Sequence[Experiment], repeated: Share | None, from_the_start: Experiment | None = None
) -> list[Experiment]:
    """Return the changes that help more than a repetition, the best first, each at the step it was first tried."""
    chance = repeated.value if repeated else 0.0
    first: dict[bytes, Experiment] = {}
    for experiment in done:
        key = repr(experiment.change).encode()
        earlier = first.get(key)
        if earlier is None or (experiment.step == earlier.step and experiment.trials > earlier.trials):
            first[key] = experiment
    alone = from_the_start.share.value if from_the_start is not None else 0.0
    helping = [
        e
        for e in first.values()
        if e.change.kind != "nothing" and e.helps and e.share.value > (chance if e.step else max(chance, alone))
    ]
    smallest = [e for e in helping if not _has_smaller(e, helping)]
    return sorted(
        smallest,
        key=lambda e: (-e.share.value, bool(e.unknown), scope(e.change), max(1, e.step), not e.blame, e.change.size),
    )


def _has_smaller(whole: Experiment, helping: Sequence[Experiment]) -> bool:
    """Return whether a piece of the change helps as well: then the piece is what matters."""
    change = whole.change
    if change.records:
        own = set(change.records)
        return any(other.change.record in own or (own > set(other.change.records) != set()) for other in helping)
    if not change.before or (change.after and change.kind != "result"):
        return False
    return any(
        other.change.before
        and not (other.change.after and other.change.kind != "result")
        and other.change.before != change.before
        and other.change.before in change.before
        and (other.change.record, other.change.name) == (change.record, change.name)
        and other.share.value >= whole.share.value
        for other in helping
    )
