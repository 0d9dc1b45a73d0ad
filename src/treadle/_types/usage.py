"""What a run spent, and what it did: what its state counts, and what a run inside another hands up to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf
from typing import Any

from msgspec import Struct, structs
from msgspec.structs import force_setattr

from treadle._types.acts import LedgerEntry
from treadle._types.value import Value

MAX_PART = 120
"""Bytes in UTF-8 of one part of a name: every file system takes that, also with a suffix for a draft."""
MAX_NAME = 400
NAMELESS = "unnamed"

_HARMLESS = r"[A-Za-z0-9_][A-Za-z0-9_-]{0,60}\.[A-Za-z0-9]{1,10}"
_FORBIDDEN = r'[<>:"|?*]'
_DRIVE = r"^[\s/]*[A-Za-z]:"
_DEVICE = r"(?i)(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])(\.|\s*$)"


def safe_artifact_name(name: str) -> str:
    """The name as a relative path that stays below the folder it is written to, on every system.

    Folders in it stay (`charts/a.svg`). What leads elsewhere is dropped: `..`, a root, a drive, a home, hidden files,
    names of devices, characters that cannot be seen. A name that is safe already is returned as it is.
    """
    if re.fullmatch(_HARMLESS, name) and not re.match(_DEVICE, name):
        return name
    visible = "".join(
        " " if character.isspace() else character
        for character in name
        if character.isprintable() or character.isspace()
    )
    path = re.sub(_DRIVE, "", visible.replace("\\", "/"), count=1)
    parts = [part for part in map(_safe_part, path.split("/")) if part]
    while len(parts) > 1 and sum(map(len, parts)) + len(parts) > MAX_NAME:
        parts.pop(0)
    return "/".join(parts) or NAMELESS


def _safe_part(part: str) -> str:
    part = " ".join(re.sub(_FORBIDDEN, "_", part).split()).lstrip(" .~-").rstrip(" .")
    if re.match(_DEVICE, part):
        part = f"_{part}"
    if len(part.encode()) > MAX_PART:
        stem, dot, suffix = part.rpartition(".")
        if not stem or len(suffix.encode()) > 20:
            stem, dot, suffix = part, "", ""
        kept = stem.encode()[: MAX_PART - len((dot + suffix).encode())].decode(errors="ignore")
        part = (kept + dot + suffix).rstrip(" .")
    return part


MOST_TOKENS = 1_000_000_000
"""More than any reply can have taken."""
_COUNTS = (
    "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens", "requests",
    "tool_calls", "estimated_tokens",
)  # fmt: skip


class Usage(Value, frozen=True, omit_defaults=True, gc=False):
    """Tokens, requests and money. `cost` is in US dollars and None when a price is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """The part of `input_tokens` the provider read from its cache."""
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    """The part of `output_tokens` spent on reasoning."""
    requests: int = 0
    tool_calls: int = 0
    cost: float | None = None
    estimated_tokens: int = 0
    """The part of the tokens that nobody reported: what a budget counted them as."""

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def bounded(self) -> Usage:
        """Return it with counts that can be."""
        counted = (
            self.input_tokens, self.output_tokens, self.cached_tokens, self.cache_write_tokens, self.reasoning_tokens,
            self.requests, self.tool_calls, self.estimated_tokens,
        )  # fmt: skip
        if min(counted) >= 0 and max(counted) <= MOST_TOKENS and (self.cost is None or 0 <= self.cost < inf):
            return self  # every reply passes here
        counts = {name: min(max(getattr(self, name), 0), MOST_TOKENS) for name in _COUNTS}
        cost = self.cost if self.cost is None or 0 <= self.cost < inf else None
        return structs.replace(self, cost=cost, **counts)

    def __add__(self, other: Usage) -> Usage:
        cost = None
        if self.cost is not None or other.cost is not None:
            cost = (self.cost or 0.0) + (other.cost or 0.0)
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.requests + other.requests,
            self.tool_calls + other.tool_calls,
            cost,
            self.estimated_tokens + other.estimated_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        return self + Usage(
            -other.input_tokens,
            -other.output_tokens,
            -other.cached_tokens,
            -other.cache_write_tokens,
            -other.reasoning_tokens,
            -other.requests,
            -other.tool_calls,
            None if other.cost is None else -other.cost,
            -other.estimated_tokens,
        )


NO_USAGE = Usage()


class Artifact(Value, frozen=True, omit_defaults=True, gc=False):
    """Rich content a tool made. The model sees its name and summary only."""

    name: str
    """A relative path, safe to write a file under."""
    content: str
    """Text, or base64 when `base64` is set."""
    mime: str = "text/plain"
    base64: bool = False
    summary: str = ""
    blob: str = ""
    """SHA-256 of the content where a journal keeps it beside its rows."""

    def __post_init__(self) -> None:
        name = safe_artifact_name(self.name)
        if name is not self.name:
            force_setattr(self, "name", name)


class Step(Value, frozen=True, gc=False):
    """One tool call and what came of it."""

    iteration: int
    tool: str
    args: dict[str, Any]
    """Those it was executed with."""
    observation: str
    error: str
    elapsed: float
    call_id: str
    thought: str = ""
    artifacts: tuple[Artifact, ...] = ()
    asked: dict[str, Any] | None = None
    """The arguments the model gave, where others took their place: a person or a plug-in changed them."""

    @property
    def wanted(self) -> dict[str, Any]:
        """The arguments the model gave."""
        return self.args if self.asked is None else self.asked

    @property
    def name(self) -> str:
        """The tool's name, as events and messages call it."""
        return self.tool

    @property
    def exception(self) -> BaseException | None:
        """Return what the tool raised, in the process that ran it. The model
        was told what `observation` says."""
        return None


class Spent(Struct, gc=False):
    """What one component has cost so far."""

    calls: int = 0
    usage: Usage = NO_USAGE
    elapsed: float = 0.0

    def add(self, usage: Usage, elapsed: float, calls: int) -> None:
        self.calls += calls
        self.usage += usage
        self.elapsed += elapsed


class Counters(Struct, gc=False):
    tool_calls: int = 0
    failed_calls: int = 0
    truncated_responses: int = 0
    truncated_observations: int = 0
    trims: int = 0
    compactions: int = 0
    interrupts: int = 0
    attempts_failed: int = 0

    def add(self, counts: Mapping[str, int]) -> None:
        for name, count in counts.items():
            if name in self.__struct_fields__:  # a later version may count more
                setattr(self, name, getattr(self, name) + count)


class Work(Struct, frozen=True, omit_defaults=True):
    """What a run inside another has done: it counts in the other one's result as well."""

    iterations: int = 0
    calls: tuple[Step, ...] = ()
    """Their ids say whose calls they are: `child:call`."""
    counters: dict[str, int] = {}
    """Those that are not zero."""
    components: dict[str, Spent] = {}
    ledger: tuple[LedgerEntry, ...] = ()
