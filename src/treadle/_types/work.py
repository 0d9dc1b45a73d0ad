"""The work of a run in numbers and calls: what its state counts, and what a run inside another hands up to it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from treadle._types.usage import NO_USAGE, Usage


class Artifact(Struct, frozen=True, omit_defaults=True, gc=False):
    """Rich content a tool made. The model sees its name and summary only."""

    name: str
    content: str
    """Text, or base64 when `base64` is set."""
    mime: str = "text/plain"
    base64: bool = False
    summary: str = ""


class Step(Struct, frozen=True, gc=False):
    """One tool call and what came of it."""

    iteration: int
    tool: str
    args: dict[str, Any]
    observation: str
    error: str
    elapsed: float
    call_id: str
    thought: str = ""
    artifacts: tuple[Artifact, ...] = ()


class Spent(Struct, gc=False):
    """What one component has cost so far."""

    calls: int = 0
    usage: Usage = NO_USAGE
    elapsed: float = 0.0


class Counters(Struct, gc=False):
    tool_calls: int = 0
    failed_calls: int = 0
    truncated_responses: int = 0
    truncated_observations: int = 0
    trims: int = 0
    compactions: int = 0
    interrupts: int = 0
    attempts_failed: int = 0


class Work(Struct, frozen=True, omit_defaults=True):
    """What a run inside another has done: it counts in the other one's result as well."""

    iterations: int = 0
    calls: tuple[Step, ...] = ()
    """Their ids say whose calls they are: `child:call`."""
    counters: dict[str, int] = {}
    """Those that are not zero."""
    components: dict[str, Spent] = {}
