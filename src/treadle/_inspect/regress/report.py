"""The effect of a change on recorded runs, and how that is written: as a table, a page, or for a build server."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

import msgspec
from msgspec import Struct

from treadle._types.state import RunState

Verdict = Literal["unaffected", "same", "better", "changed", "worse", "unclear", "affected", "skipped"]
FAILING: tuple[Verdict, ...] = ("changed", "worse", "unclear", "affected")
"""Verdicts with which a check fails, unless they were accepted."""
SAYS: dict[Verdict, str] = {
    "unaffected": "every request renders to the same bytes: it cannot change",
    "same": "its requests differ, its end is as good",
    "better": "what was expected is met now",
    "changed": "it ends in another way, and nobody has said which is right",
    "worse": "what was expected is no longer met",
    "unclear": "it needs a result that nobody knows",
    "affected": "its requests differ; it was not run on",
    "skipped": "it could not be compared",
}


class Difference(Struct, frozen=True, omit_defaults=True):
    """The first request that is not the recorded one."""

    seq: int
    """The record of the request."""
    number: int
    """Which request of the run it is, from 1."""
    where: str
    byte: int = 0
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        at = f", byte {self.byte}: {self.before!r} -> {self.after!r}" if self.before or self.after else ""
        return f"request {self.number}: {self.where}{at}"


class End(Struct, frozen=True):
    """How a run ended and what it did."""

    stop_reason: str
    answer: str
    calls: tuple[str, ...]
    steps: int
    tokens: int
    cost: float | None

    @classmethod
    def of(cls, state: RunState) -> End:
        finished, usage = state.finished, state.usage
        calls = tuple(f"{step.tool} {msgspec.json.encode(step.args, order='sorted').decode()}" for step in state.steps)
        return cls(
            finished.stop_reason if finished else "", finished.answer if finished else "", calls, state.iteration,
            usage.total_tokens, usage.cost,
        )  # fmt: skip

    def same_as(self, other: End) -> bool:
        """Alike in what a user sees: the answer, how it ended, and the calls that were made."""
        return (self.stop_reason, self.answer, self.calls) == (other.stop_reason, other.answer, other.calls)

    @property
    def key(self) -> str:
        return blake2b(msgspec.json.encode((self.stop_reason, self.answer, self.calls)), digest_size=8).hexdigest()


class Regressed(Struct, frozen=True, omit_defaults=True):
    """The outcome of one run."""

    run: str
    question: str
    verdict: Verdict
    why: str = ""
    requests: int = 0
    reused: int = 0
    """Requests that rendered to the recorded bytes, and cost nothing."""
    asked: int = 0
    difference: Difference | None = None
    before: End | None = None
    after: End | None = None
    unknown: tuple[str, ...] = ()
    """Tools that it wanted to call now and that may not run: what they would have done, nobody knows."""
    left_out: tuple[str, ...] = ()
    """Plug-ins that took no part, because their hooks may have effects."""

    @property
    def state(self) -> str:
        """A text that is equal if an accepted outcome is this one."""
        return f"{self.verdict} {self.after.key if self.after else ''}".strip()


class Report(Struct, frozen=True):
    runs: tuple[Regressed, ...]
    requests: int
    tokens: int
    cost: float | None

    def counts(self) -> dict[str, int]:
        counted = Counter(one.verdict for one in self.runs)
        return {verdict: counted[verdict] for verdict in SAYS if counted[verdict]}

    def failing(self, accepted: dict[str, str]) -> list[Regressed]:
        return [one for one in self.runs if one.verdict in FAILING and accepted.get(one.run) != one.state]

    def baseline(self) -> dict[str, str]:
        """Return what is accepted when this report is: only what would fail."""
        return {one.run: one.state for one in self.runs if one.verdict in FAILING}

    @property
    def saved(self) -> float:
        """The share of the model calls that did not have to be made."""
        made = sum(one.requests for one in self.runs)
        return sum(one.reused for one in self.runs) / made if made else 1.0


def rows_of(runs: Sequence[Regressed], *, everything: bool = False) -> list[list[str]]:
    shown = [one for one in runs if everything or one.verdict not in ("unaffected", "same")]
    return [[one.run[:8], one.verdict, _about(one), " ".join(one.question.split())[:80]] for one in shown]


def _about(one: Regressed) -> str:
    parts = [one.why, str(one.difference) if one.difference else ""]
    if one.before and one.after and one.before.answer != one.after.answer:
        parts.append(f"{one.before.answer[:80]!r} -> {one.after.answer[:80]!r}")
    if one.unknown:
        parts.append(f"not known: {', '.join(one.unknown)}")
    return "; ".join(part for part in parts if part)


def summary(report: Report) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in report.counts().items()) or "none"
    return (
        f"{len(report.runs)} runs: {counts}; {report.saved:.0%} of the model calls were not needed, "
        f"{report.requests} were made ({report.tokens:,} tokens)"
    )


def as_page(report: Report) -> str:
    """One file that needs nothing else and runs nothing."""
    cells = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>"
        for row in rows_of(report.runs, everything=True)
    )
    legend = "".join(f"<li><b>{name}</b>: {html.escape(text)}</li>" for name, text in SAYS.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Runs and a change</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        "<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}"
        "td{border:1px solid #ccc;padding:.2rem .5rem;overflow-wrap:anywhere;vertical-align:top}"
        "table{border-collapse:collapse}</style></head><body><h1>Runs and a change</h1>"
        f"<p>{html.escape(summary(report))}</p><ul>{legend}</ul><table>{cells}</table></body></html>\n"
    )


def as_junit(report: Report, accepted: dict[str, str]) -> str:
    """JUnit XML, as build servers read it: each run is a test case."""
    failing = {one.run for one in report.failing(accepted)}
    cases: list[str] = []
    for one in report.runs:
        inner = ""
        if one.run in failing:
            inner = f"<failure message={_attribute(SAYS[one.verdict])}>{_xml(_about(one))}</failure>"
        elif one.verdict == "skipped":
            inner = f"<skipped message={_attribute(one.why)}/>"
        name = _attribute(f"{one.run} {' '.join(one.question.split())[:80]}")
        cases.append(f'<testcase classname="treadle.regress" name={name}>{inner}</testcase>')
    skipped = sum(one.verdict == "skipped" for one in report.runs)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name="treadle regress" tests="{len(cases)}" failures="{len(failing)}" skipped="{skipped}">'
        + "".join(cases)
        + "</testsuite>\n"
    )


def _xml(text: str) -> str:
    return escape("".join(char for char in text if char in "\n\t" or char.isprintable()))


def _attribute(text: str) -> str:
    return quoteattr("".join(char if char.isprintable() else " " for char in text))
