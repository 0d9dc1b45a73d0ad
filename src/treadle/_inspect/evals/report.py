"""The results of an evaluation: as figures, as Markdown, and as an HTML page in one file."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from html import escape
from statistics import mean, median
from typing import Literal

from msgspec import Struct

from treadle._inspect.evals.runner import Trial
from treadle._inspect.evals.stats import Share, share_of

ALL = "all"
NOTE = (
    "Shares are of tasks, with 95 % Wilson intervals. With repeats a task counts for the part of its runs that passed: "
    "repeats do not narrow the interval."
)


class Figures(Struct, frozen=True):
    """One variant in numbers."""

    variant: str
    shares: dict[str, Share]
    """By kind of task, by split (`dev`, `held`), and `all`."""
    flaky: int
    """Tasks that passed in some repeats and not in others."""
    seconds: float
    """Median of a run."""
    total_seconds: float
    requests: float
    """Mean of a run."""
    tokens: float
    cached_share: float
    cost: float | None
    dialects: tuple[str, ...]
    scores: dict[str, float]
    """The means of further scores that checks give, such as F1."""


class Report(Struct, frozen=True):
    name: str
    figures: tuple[Figures, ...]
    kinds: tuple[str, ...]
    splits: tuple[str, ...]
    trials: tuple[Trial, ...]
    settings: dict[str, str] = {}
    created: float = 0.0


def make_report(name: str, trials: Sequence[Trial], settings: dict[str, str] | None = None) -> Report:
    """The figures for each variant of `trials`. `settings` is shown in the report and says what was run."""
    labels = list(dict.fromkeys(trial.variant for trial in trials))
    return Report(
        name,
        tuple(_figures(label, [trial for trial in trials if trial.variant == label]) for label in labels),
        tuple(dict.fromkeys(trial.kind for trial in trials)),
        tuple(sorted({trial.split for trial in trials})),
        tuple(trials),
        settings or {},
        time.time(),
    )


def _figures(label: str, trials: Sequence[Trial]) -> Figures:
    def share(keep: Callable[[Trial], bool]) -> Share:
        return share_of((trial.task, trial.passed) for trial in trials if keep(trial))

    shares = {ALL: share(lambda _: True)}
    for kind in dict.fromkeys(trial.kind for trial in trials):
        shares[kind] = share(lambda trial, kind=kind: trial.kind == kind)
    for split in sorted({trial.split for trial in trials}):
        shares[split] = share(lambda trial, split=split: trial.split == split)
    outcomes: dict[str, set[bool]] = {}
    for trial in trials:
        outcomes.setdefault(trial.task, set()).add(trial.passed)
    input_tokens = sum(trial.usage.input_tokens for trial in trials)
    costs = [trial.usage.cost for trial in trials if trial.usage.cost is not None]
    names = list(dict.fromkeys(name for trial in trials for name in trial.scores))
    return Figures(
        label,
        shares,
        sum(len(passed) > 1 for passed in outcomes.values()),
        median(trial.elapsed for trial in trials),
        sum(trial.elapsed for trial in trials),
        mean(trial.usage.requests for trial in trials),
        mean(trial.usage.total_tokens for trial in trials),
        sum(trial.usage.cached_tokens for trial in trials) / input_tokens if input_tokens else 0.0,
        sum(costs) if costs else None,
        tuple(dict.fromkeys(trial.dialect for trial in trials if trial.dialect)),
        {name: mean(trial.scores.get(name, 0.0) for trial in trials) for name in names},
    )


# ---- the tables of both formats

Table = tuple[list[str], list[list[str]]]


def summary(report: Report) -> Table:
    columns = [ALL, *report.kinds, *(report.splits if len(report.splits) > 1 else ())]
    rows = [[figures.variant, *(str(figures.shares.get(name, "-")) for name in columns)] for figures in report.figures]
    return ["", *columns], rows


def effort(report: Report) -> Table:
    scores = list(dict.fromkeys(name for figures in report.figures for name in figures.scores))
    head = ["", "dialect", "median s", "total s", "requests", "tokens", "cached", "cost", "flaky", *scores]
    rows = [
        [
            figures.variant,
            ", ".join(figures.dialects),
            f"{figures.seconds:.1f}",
            f"{figures.total_seconds:.0f}",
            f"{figures.requests:.1f}",
            f"{figures.tokens:.0f}",
            f"{100 * figures.cached_share:.0f} %",
            "-" if figures.cost is None else f"${figures.cost:.4f}",
            str(figures.flaky),
            *(f"{figures.scores.get(name, 0.0):.3f}" for name in scores),
        ]
        for figures in report.figures
    ]
    return head, rows


def cases(report: Report) -> Table:
    """Every run; those that failed come first."""
    rows = [
        [
            "passed" if trial.passed else "failed",
            trial.task + (f" #{trial.repeat + 1}" if trial.repeat else ""),
            trial.variant,
            trial.run_id,
            trial.question,
            ", ".join(trial.calls) or "-",
            trial.answer,
            "; ".join(trial.problems),
            f"{trial.elapsed:.1f}",
        ]
        for trial in sorted(report.trials, key=lambda trial: trial.passed)
    ]
    return ["", "task", "variant", "run", "question", "tools called", "answer", "what is wrong", "s"], rows


# ---- Markdown


def evaluation_report(name: str, trials: Sequence[Trial], format: Literal["markdown", "html"] = "markdown") -> str:
    """The results of `run_tasks` as a page."""
    report = make_report(name, trials)
    return html(report) if format == "html" else markdown(report)


def markdown(report: Report) -> str:
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(report.created))
    parts = [f"# {report.name}", f"{when}. {NOTE}"]
    if report.settings:
        parts.append("\n".join(f"- {name}: {_flat(value)}" for name, value in report.settings.items()))
    parts += [_markdown_table(summary(report)), "Per run:", _markdown_table(effort(report))]
    parts += ["## Runs", "`treadle runs show RUN` shows one of them step by step.", _markdown_table(cases(report))]
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: Table) -> str:
    head, rows = table
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_flat(cell) for cell in line)} |" for line in lines)


_MARKUP = str.maketrans({char: f"\\{char}" for char in "\\`*[]<>|"})


def _flat(text: str, width: int = 160) -> str:
    """The text of one cell: what a model wrote must neither end the table nor become markup."""
    flat = " ".join(text.split())
    return (flat if len(flat) <= width else flat[: width - 1] + "…").translate(_MARKUP)


# ---- HTML

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --quiet: #5b6675; --line: #d8dde5; --paper: #fff; }
:root { --good: #1a7f4b; --bad: #b3392f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --quiet: #9aa5b4; --line: #333b47; --paper: #14181e; --good: #57c98f; --bad: #f08a80; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } p { color: var(--quiet); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; }
th, td { text-align: left; vertical-align: top; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); }
td.passed { color: var(--good); } td.failed { color: var(--bad); } td { max-width: 22rem; overflow-wrap: anywhere; }
td code { white-space: nowrap; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .quiet { fill: var(--quiet); } svg .grid { stroke: var(--line); } svg .range { stroke: var(--ink); }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html(report: Report) -> str:
    """The report as one HTML file that loads nothing else: no script, no font, no image."""
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(report.created))
    settings = "".join(f"<li>{escape(name)}: {escape(value)}</li>" for name, value in report.settings.items())
    names = [ALL, *report.kinds, *(report.splits if len(report.splits) > 1 else ())]
    groups = [
        (
            name,
            [
                Bar(f.variant, share.value, share.low, share.high, str(share))
                for f in report.figures
                if (share := f.shares.get(name))
            ],
        )
        for name in names
    ]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(report.name)}</title><style>{_STYLE}</style></head><body>
<h1>{escape(report.name)}</h1><p>{when}. {escape(NOTE)}</p><ul>{settings}</ul>
{bar_chart(groups, "Share of tasks solved")}
<h2>Shares</h2>{_html_table(summary(report))}
<h2>Effort per run</h2>{_html_table(effort(report))}
<h2>Runs</h2><p><code>treadle runs show RUN</code> shows one of them step by step.</p>{_html_table(cases(report))}
</body></html>
"""


def _html_table(table: Table) -> str:
    head, rows = table
    run = head.index("run") if "run" in head else -1
    lines = ["<tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>"]
    for row in rows:
        cells = "".join(_cell(text, index == run) for index, text in enumerate(row))
        lines.append(f'<tr id="run-{escape(row[run])}">{cells}</tr>' if run >= 0 else f"<tr>{cells}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _cell(text: str, is_run: bool) -> str:
    if is_run:
        run = escape(text)
        return f'<td><a href="#run-{run}" title="treadle runs show {run}"><code>{escape(text[:8])}</code></a></td>'
    kind = f' class="{text}"' if text in ("passed", "failed") else ""
    return f"<td{kind}>{escape(text[:2000])}</td>"


COLOURS = ("#2f6fb5", "#d9822b", "#3d9970", "#a24fb3", "#7a8594", "#c0483c")
LEFT, RIGHT, WIDTH = 150, 210, 900
BAR, GAP, TOP, BOTTOM = 16, 14, 34, 26


class Bar(Struct, frozen=True):
    label: str
    value: float
    low: float
    high: float
    text: str = ""


def bar_chart(groups: Sequence[tuple[str, Sequence[Bar]]], title: str) -> str:
    labels = list(dict.fromkeys(bar.label for _, bars in groups for bar in bars))
    legend = 18 * len(labels) if len(labels) > 1 else 0
    height = TOP + legend + sum(len(bars) * BAR + GAP for _, bars in groups) + BOTTOM
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img"'
        f' aria-label="{escape(title)}">',
        f'<text x="{LEFT}" y="18" font-weight="600">{escape(title)}</text>',
    ]
    for index, label in enumerate(labels if legend else ()):
        y = TOP + 18 * index
        parts.append(f'<rect x="{LEFT}" y="{y - 4}" width="10" height="10" fill="{_colour(labels, label)}"/>')
        parts.append(f'<text x="{LEFT + 16}" y="{y + 5}">{escape(label)}</text>')
    y = TOP + legend
    for percent in range(0, 101, 25):
        x = _x(percent / 100)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{y - 6}" x2="{x:.1f}" y2="{height - BOTTOM}"/>')
        parts.append(f'<text class="quiet" x="{x:.1f}" y="{height - 8}" text-anchor="middle">{percent} %</text>')
    for name, bars in groups:
        middle = y + len(bars) * BAR / 2 + 4
        parts.append(f'<text x="{LEFT - 10}" y="{middle:.1f}" text-anchor="end">{escape(name)}</text>')
        for bar in bars:
            parts.append(_bar(bar, y, _colour(labels, bar.label)))
            y += BAR
        y += GAP
    return "\n".join([*parts, "</svg>"])


def _bar(bar: Bar, y: float, colour: str) -> str:
    left, right, middle = _x(bar.low), _x(bar.high), y + BAR / 2
    interval = f"M{left:.1f} {middle - 4}v8M{left:.1f} {middle}H{right:.1f}M{right:.1f} {middle - 4}v8"
    return (
        f"<g><title>{escape(bar.label)}: {escape(bar.text)}</title>"
        f'<rect x="{LEFT}" y="{y + 2}" width="{_x(bar.value) - LEFT:.1f}" height="{BAR - 4}" fill="{colour}"/>'
        f'<path class="range" fill="none" d="{interval}"/>'
        f'<text class="quiet" x="{WIDTH - RIGHT + 12}" y="{middle + 4}">{escape(bar.text)}</text></g>'
    )


def _x(share: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * min(1.0, max(0.0, share))


def _colour(labels: Sequence[str], label: str) -> str:
    return COLOURS[labels.index(label) % len(COLOURS)]
