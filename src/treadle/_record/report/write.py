"""A report as sections, and these as markdown or as a page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from treadle._record.report.gather import Gathered, Share

_MOST = 20
"""Rows of a table that grows with the recording."""


class Section(Struct, frozen=True):
    title: str
    text: str = ""
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def sections(gathered: Gathered, by: str = "program") -> list[Section]:
    total, usage = gathered.total, gathered.total.usage
    tool_seconds = sum(share.seconds for share in gathered.tools.values())
    lines = [
        f"{total.runs} runs, {total.requests} requests, {total.calls} tool calls ({total.failed} failed).",
        f"{usage.input_tokens:,} tokens in, {_percent(usage.cached_tokens, usage.input_tokens)} of them from a cache; "
        f"{usage.output_tokens:,} tokens out; {_money(usage.cost)}.",
        f"{_time(total.seconds)} in models, {_time(tool_seconds)} between a call and the request with its result.",
    ]
    if gathered.first_tokens:
        times = sorted(gathered.first_tokens)
        late = times[min(len(times) - 1, len(times) * 95 // 100)]
        lines.append(f"Time to the first token: {_time(median(times))} in the middle, {_time(late)} for 95 of 100.")
    if gathered.unreadable:
        lines.append(f"{gathered.unreadable} runs could not be read and are left out.")
    parts = [
        Section("In all", "\n".join(lines)),
        Section(f"By {by}", "", *_shares(by, gathered.programs)),
        Section("By model", "", *_shares("model", gathered.models)),
        _saving(gathered),
        _tools(gathered),
        _loops(gathered),
        _others(gathered),
    ]
    return [section for section in parts if section.text or section.rows]


def _shares(name: str, shares: dict[str, Share]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    ordered = sorted(shares.items(), key=lambda item: (-(item[1].usage.cost or 0.0), -item[1].usage.total_tokens))
    rows = tuple(
        (
            key,
            str(share.runs),
            str(share.requests),
            f"{share.usage.input_tokens:,}",
            _percent(share.usage.cached_tokens, share.usage.input_tokens),
            f"{share.usage.output_tokens:,}",
            _money(share.usage.cost),
            _time(share.seconds),
        )
        for key, share in ordered[:_MOST]
    )
    return (name, "runs", "requests", "tokens in", "cached", "tokens out", "cost", "time in models"), rows


def _saving(gathered: Gathered) -> Section:
    requests = gathered.total.requests
    if not gathered.breaks:
        text = "Every request began with the one before it: nothing was lost to a broken prefix." if requests else ""
        return Section("Prompts that break their cache", text)
    count = sum(one.count for one in gathered.breaks.values())
    text = (
        f"{count} of {requests} requests did not begin with the one before them. With a prefix that stays the same, "
        f"about {gathered.lost_tokens:,} tokens more could have come from a cache: {_money(gathered.lost_cost)} less."
    )
    ordered = sorted(gathered.breaks.values(), key=lambda one: -one.tokens)
    rows = tuple(
        (one.program, one.part, str(one.count), f"{one.tokens:,}", _money(one.cost), one.before, one.after)
        for one in ordered[:_MOST]
    )
    head = ("program", "part", "times", "tokens lost", "cost", "these bytes", "became these")
    return Section("Prompts that break their cache", text, head, rows)


def _tools(gathered: Gathered) -> Section:
    ordered = sorted(gathered.tools.items(), key=lambda item: (-item[1].failed, -item[1].calls))
    rows = tuple(
        (name, str(share.calls), str(share.failed), _percent(share.failed, share.calls), _time(share.seconds))
        for name, share in ordered[:_MOST]
    )
    return Section("Tools", "", ("tool", "calls", "failed", "share", "time"), rows)


def _loops(gathered: Gathered) -> Section:
    repeated = [(run, one) for run, one in gathered.findings if one.kind in ("loop", "repeated_call")]
    rows = tuple((run[:8], one.kind, one.text) for run, one in repeated[:_MOST])
    return Section("Loops and repeated calls", "", ("run", "what", "call"), rows)


def _others(gathered: Gathered) -> Section:
    others = [(run, one) for run, one in gathered.findings if one.kind not in ("loop", "repeated_call")]
    rows = tuple((run[:8], one.kind, one.text) for run, one in others[:_MOST])
    more = len(others) - len(rows)
    return Section(
        "What else stands out", f"{more} more are not shown." if more else "", ("run", "what", "where"), rows
    )


def as_markdown(title: str, parts: Sequence[Section]) -> str:
    lines = [f"# {title}", ""]
    for part in parts:
        lines += [f"## {part.title}", ""]
        if part.text:
            lines += [part.text, ""]
        if part.rows:
            lines += [_row(part.head), _row(["---"] * len(part.head)), *map(_row, part.rows), ""]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    clean = (cell.replace("\\", "\\\\").replace("|", "\\|").replace("\r", " ").replace("\n", " ") for cell in cells)
    return "| " + " | ".join(clean) + " |"


_STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
body{color:#1c1c1c;background:#fff}
table{border-collapse:collapse;margin:.5rem 0 1.5rem;display:block;overflow-x:auto}
td,th{border:1px solid #ccc;padding:.25rem .6rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
th{background:#f2f2f2}p{white-space:pre-line}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}td,th{border-color:#444}th{background:#262626}}"""


def as_page(title: str, parts: Sequence[Section]) -> str:
    """One file that needs nothing else and runs nothing."""
    body = [f"<h1>{html.escape(title)}</h1>"]
    for part in parts:
        body.append(f"<h2>{html.escape(part.title)}</h2>")
        if part.text:
            body.append(f"<p>{html.escape(part.text)}</p>")
        if part.rows:
            body += ["<table><thead>", _cells(part.head, "th"), "</thead><tbody>"]
            body += [*(_cells(row, "td") for row in part.rows), "</tbody></table>"]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
    )
    return head + "\n".join(body) + "</body></html>\n"


def _cells(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def _money(cost: float | None) -> str:
    return "cost not known" if cost is None else f"${cost:.4f}"


def _time(seconds: float) -> str:
    return (
        f"{seconds * 1000:.0f} ms"
        if seconds < 1
        else f"{seconds:.1f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
    )
