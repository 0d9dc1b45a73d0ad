"""The generated runs of `benchmarks/spoilt.py`, a few of each form, half of them drawn anew each time."""

from __future__ import annotations

import random

import pytest
from spoilt import Spoilt, cases, searched

from treadle._inspect.why.changes import Change

FEW = [("parameter", "short"), ("trim", "long"), ("budget", "long"), ("result", "openai"), ("history", "anthropic"),
       ("prompt", "children"), ("planner", "plan"), ("judge", "plan"), ("route", "document")]  # fmt: skip


async def test_the_cause_of_a_spoilt_run_is_named_first():
    drawn = cases(random.SystemRandom().randrange(10**6))
    assert len(drawn) >= 60
    chosen: dict[tuple[str, str], Spoilt] = {(case.kind, case.form): case for case in drawn}
    for key in FEW:
        rank, requests, _, wrong = await searched(chosen[key])
        assert (rank, wrong, requests <= 120) == (1, False, True), chosen[key]


@pytest.mark.long
async def test_of_all_spoilt_runs_most_are_explained():
    results = [await searched(case) for case in cases(random.SystemRandom().randrange(10**6))]
    assert sum(rank == 1 for rank, *_ in results) >= 0.8 * len(results)


def test_a_cause_is_the_spoilt_text_and_nothing_beside_it():
    case = next(case for case in cases(1) if case.kind == "prompt")
    assert case.is_cause(Change("prompt", before=case.bad))
    assert not case.is_cause(Change("prompt", before="Be polite."))
