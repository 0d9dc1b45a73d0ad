"""Where a long run is forked, and how far an experiment is followed that goes on as the run did.

A change at the last step costs one request, one at the first step as many as the run has. So a long run is searched
backwards: from where its answer was written, then from where the calls were made that the answer rests on, then from
the start. And an experiment that decides twice what the run decided, though it could do otherwise, is given up.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from treadle._inspect.why.candidates import Tried, blamed
from treadle._inspect.why.experiments import Lab
from treadle._types.events import ToolDone

_BLAMED = 2
"""How many of the results that the answer rests on have the request looked at that asked for them."""


def fork_points(lab: Lab) -> list[int]:
    """The steps from which changes are tried, the cheapest first."""
    steps = lab.steps
    asked = lab.asked_at
    resting = [entry.seq for share, entry in blamed(lab) if share > 0 and entry.seq in asked][:_BLAMED]
    failed = [record.seq for record in lab.records if isinstance(record.event, ToolDone) and record.event.error]
    earlier = {asked[seq] for seq in (*resting, *failed[-1:]) if seq in asked}
    return list(dict.fromkeys([steps[-1], *sorted(earlier, reverse=True), steps[0]]))


def tried_at(tried: Sequence[Tried], point: int) -> list[Tried]:
    """The changes that can be made at a step: those of what was there by then."""
    return [(change, point) for change, earliest in tried if earliest <= point]


class Plan(Struct, frozen=True):
    """The cost that is expected of a search; said before its first request."""

    experiments: int
    requests: int
    tokens: int

    def __str__(self) -> str:
        return f"about {self.experiments} experiments, {self.requests} model requests and {self.tokens:,} tokens"


def plan(lab: Lab, planned: int) -> Plan:
    """Most experiments of a long run cost one request, those of a short one half of what the run has."""
    each = 1 if lab.long else max(1, len(lab.steps) // 2)
    requests = min(lab.budget.limit, 1 + each * planned)
    size = sum(len(msgspec.json.encode(entry.message)) for entry in lab.state.conversation.window)
    return Plan(planned, requests, requests * (size // 4))
