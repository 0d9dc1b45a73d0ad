"""Lists and sums over runs that are in memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from treadle._journal.base import RunInfo
from treadle._journal.catalog.statements import positions
from treadle._journal.catalog.values import (
    Group,
    Overview,
    RunFilter,
    RunSummary,
    Span,
    ToolGroup,
    ToolUse,
    check_filter,
    read_cursor,
    span_of,
)

K = TypeVar("K", str, float)

_EQUAL = ("status", "conversation", "parent", "user", "agent", "model", "stop_reason", "thumb")


def fitting(only: RunFilter) -> Callable[[RunInfo], bool]:
    only = check_filter(only)
    equal = [(name, value) for name in _EQUAL if (value := only.get(name)) is not None]
    text, tag, prefix = only.get("text", "").lower(), only.get("tag", ""), only.get("prefix", "")
    since, until = only.get("since", float("-inf")), only.get("until", float("inf"))

    def fits(info: RunInfo) -> bool:
        return (
            all(getattr(info, name) == value for name, value in equal)
            and since <= info.created < until
            and (not tag or tag in info.tags)
            and info.run_id.startswith(prefix)
            and (
                not text or any(text in place.lower() for place in (info.question, info.title, info.note, info.run_id))
            )
        )

    return fits


def page(infos: Sequence[RunInfo], limit: int, after: str) -> list[RunInfo]:
    if not after:
        return list(infos[:limit])
    place = read_cursor(after)
    return [info for info in infos if read_cursor(info.cursor) < place][:limit]


def overview_of(infos: Sequence[RunInfo], tools: Mapping[str, Mapping[str, ToolUse]], pending: int) -> Overview:
    ended = [info.summary for info in infos if info.summary is not None]
    times = sorted(summary.elapsed for summary in ended)
    median, slow = (times[place] if times else 0.0 for place in positions(len(times)))
    created = [info.created for info in infos] or [0.0]
    span = span_of(min(created), max(created))
    spans = _groups(infos, lambda info: info.created // span)
    return Overview(
        runs=len(infos),
        statuses=dict(Counter(info.status for info in infos)),
        stop_reasons=dict(Counter(info.stop_reason for info in infos if info.stop_reason)),
        ended=len(ended),
        succeeded=sum(summary.success for summary in ended),
        requests=sum(summary.requests for summary in ended),
        tool_calls=sum(summary.tool_calls for summary in ended),
        failed_calls=sum(summary.failed_calls for summary in ended),
        input_tokens=sum(summary.input_tokens for summary in ended),
        output_tokens=sum(summary.output_tokens for summary in ended),
        cached_tokens=sum(summary.cached_tokens for summary in ended),
        cost=_cost(ended),
        elapsed=sum(times),
        median_elapsed=median,
        slow_elapsed=slow,
        thumbs=dict(Counter(str(info.thumb) for info in infos if info.thumb)),
        tags=dict(Counter(tag for info in infos for tag in info.tags)),
        agents=_sorted(_groups(infos, lambda info: info.agent)),
        models=_sorted(_groups(infos, lambda info: info.model)),
        tools=_tools(tools[info.run_id] for info in infos if info.run_id in tools),
        span=span,
        spans=tuple(
            Span(place * span, group.runs, group.succeeded, group.tokens, group.cost)
            for place, group in sorted(spans.items())
        ),
        pending=pending,
    )


def _cost(ended: Iterable[RunSummary]) -> float | None:
    costs = [summary.cost for summary in ended if summary.cost is not None]
    return sum(costs) if costs else None


def _groups(infos: Sequence[RunInfo], key: Callable[[RunInfo], K]) -> dict[K, Group]:
    members: defaultdict[K, list[RunInfo]] = defaultdict(list)
    for info in infos:
        members[key(info)].append(info)
    groups: dict[K, Group] = {}
    for name, runs in members.items():
        ended = [run.summary for run in runs if run.summary is not None]
        groups[name] = Group(
            str(name),
            len(runs),
            sum(summary.success for summary in ended),
            sum(summary.input_tokens + summary.output_tokens for summary in ended),
            _cost(ended),
            sum(summary.elapsed for summary in ended),
        )
    return groups


def _sorted(groups: Mapping[str, Group]) -> tuple[Group, ...]:
    return tuple(sorted(groups.values(), key=lambda group: (-group.runs, group.name))[:50])


def _tools(runs: Iterable[Mapping[str, ToolUse]]) -> tuple[ToolGroup, ...]:
    sums: dict[str, ToolGroup] = {}
    for tools in runs:
        for name, use in tools.items():
            so_far = sums.get(name, ToolGroup(name, 0, 0, 0, 0.0))
            sums[name] = ToolGroup(
                name,
                so_far.runs + 1,
                so_far.calls + use.calls,
                so_far.failed + use.failed,
                so_far.elapsed + use.elapsed,
            )
    return tuple(sorted(sums.values(), key=lambda tool: (-tool.calls, tool.name))[:50])
