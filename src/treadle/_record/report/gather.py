"""Sums over recorded runs: where tokens, money and time went, and what was lost."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, field

from treadle._journal.base import Journal, RunInfo
from treadle._record.findings import Finding, findings
from treadle._types.errors import RunNotFoundError
from treadle._types.events import Exchanged, Record, ThinkDone, ThinkFailed, ToolDone
from treadle._types.ids import tenant_of
from treadle._types.state import fold
from treadle._types.usage import NO_USAGE, Usage


class Share(Struct):
    """The usage of one program, model or tool."""

    runs: int = 0
    requests: int = 0
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    calls: int = 0
    failed: int = 0


class Break(Struct):
    """A part of the prompts of a program that does not stay the same."""

    program: str
    part: str
    before: str = ""
    after: str = ""
    count: int = 0
    tokens: int = 0
    cost: float | None = None


class Gathered(Struct):
    """Everything a report says."""

    total: Share = field(default_factory=Share)
    programs: dict[str, Share] = {}
    models: dict[str, Share] = {}
    tools: dict[str, Share] = {}
    breaks: dict[tuple[str, str], Break] = {}
    first_tokens: list[float] = []
    findings: list[tuple[str, Finding]] = []
    """Findings that are no breaks, with the run."""
    kinds: Counter[str] = field(default_factory=Counter[str])
    unreadable: int = 0

    @property
    def lost_tokens(self) -> int:
        return sum(one.tokens for one in self.breaks.values())

    @property
    def lost_cost(self) -> float | None:
        costs = [one.cost for one in self.breaks.values() if one.cost is not None]
        return sum(costs) if costs else None


async def gather(journal: Journal, infos: Sequence[RunInfo], by: str = "program") -> Gathered:
    """A few runs after the others: never are more logs held. `by` says whose runs are summed together."""
    gathered = Gathered()
    users = {info.run_id: info.user for info in infos}
    for start in range(0, len(infos), _AT_ONCE):
        some = infos[start : start + _AT_ONCE]
        logs = await asyncio.gather(*(journal.load(info.run_id) for info in some), return_exceptions=True)
        for info, records in zip(some, logs, strict=True):
            root = info.run_id.partition(".")[0]  # what runs inside a run is its user's
            if by in ("user", "tenant") and root not in users:
                users[root] = await _user(journal, root)
            if isinstance(records, BaseException):
                gathered.unreadable += 1
            else:
                add_run(gathered, _name(info, users.get(root, ""), by) or "?", records)
    return gathered


_AT_ONCE = 32


async def _user(journal: Journal, run_id: str) -> str:
    try:
        return (await journal.info(run_id)).user
    except RunNotFoundError:
        return ""


def _name(info: RunInfo, user: str, by: str) -> str:
    match by:
        case "user":
            return user
        case "tenant":
            return tenant_of(user)
        case "day":
            return time.strftime("%Y-%m-%d", time.gmtime(info.created))
        case _:
            return info.agent


def add_run(gathered: Gathered, program: str, records: Sequence[Record]) -> None:
    state = fold(records)
    inside = sum(state.spending.children.values(), NO_USAGE)  # counted with the runs that spent it
    own = state.usage - inside
    gathered.total.runs += 1
    gathered.programs.setdefault(program, Share()).runs += 1
    gathered.models.setdefault(state.model, Share()).runs += 1
    shares = (gathered.total, gathered.programs[program], gathered.models[state.model])
    for share in shares:
        share.usage += own
    for record in records:
        _add_record(gathered, shares, record)
    for finding in findings(records):
        gathered.kinds[finding.kind] += 1
        if finding.kind == "prefix_broken":
            _add_break(gathered, program, finding, records)
        else:
            gathered.findings.append((records[0].run, finding))


def _add_record(gathered: Gathered, shares: Sequence[Share], record: Record) -> None:
    event = record.event
    if isinstance(event, Exchanged):
        if event.first_token is not None:
            gathered.first_tokens.append(event.first_token)
    elif isinstance(event, ThinkDone | ThinkFailed):
        for share in shares:
            share.requests += 1
            share.seconds += event.elapsed if isinstance(event, ThinkDone) else 0.0
    elif isinstance(event, ToolDone):
        for share in (*shares, gathered.tools.setdefault(event.name, Share())):
            share.calls += 1
            share.failed += bool(event.error)
        gathered.tools[event.name].seconds += event.elapsed


def _add_break(gathered: Gathered, program: str, finding: Finding, records: Sequence[Record]) -> None:
    exchanged = next(record.event for record in records if record.seq == finding.seq)
    assert isinstance(exchanged, Exchanged)
    one = gathered.breaks.setdefault((program, finding.name), Break(program, finding.name))
    if not one.count:
        one.before, one.after = exchanged.before, exchanged.after
    one.count += 1
    one.tokens += finding.tokens
    if finding.cost is not None:
        one.cost = (one.cost or 0.0) + finding.cost
