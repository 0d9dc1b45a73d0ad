"""The plan as a picture, from the log: live and afterwards, as mermaid text or SVG."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Literal

from msgspec import Struct

from treadle._flows.dag.plan import Plan
from treadle._types.events import DagPlanned, Record, StepDone, StepStarted

COLOURS = {
    "waiting": ("#f3f4f6", "#9ca3af"),
    "running": ("#dbeafe", "#2563eb"),
    "completed": ("#dcfce7", "#16a34a"),
    "reused": ("#ecfccb", "#65a30d"),
    "failed": ("#fee2e2", "#dc2626"),
    "skipped": ("#f5f5f4", "#a8a29e"),
}
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _EDGE = 190, 56, 60, 24, 20


_NODE = re.compile(r"[A-Za-z](?:[A-Za-z0-9_]*[A-Za-z0-9])?")
_WORDS = {"end", "graph", "subgraph", "flowchart", "style", "linkstyle", "classdef", "class", "click", "call", "href"}
"""Words of mermaid's own that cannot be names of nodes."""


class Pictured(Struct):
    plan: Plan
    status: dict[str, str]
    seconds: dict[str, float]


def read(records: Sequence[Record]) -> Pictured | None:
    """The last plan of a log and how far its steps are."""
    picture: Pictured | None = None
    for record in records:
        event = record.event
        if isinstance(event, DagPlanned):
            plan = Plan.of_record(event)
            picture = Pictured(plan, {step.id: "waiting" for step in plan.steps}, {})
        elif picture is not None and isinstance(event, StepStarted):
            picture.status[event.step] = "running"
        elif picture is not None and isinstance(event, StepDone):
            picture.status[event.step] = event.status
            picture.seconds[event.step] = event.elapsed
    return picture


def plan_diagram(records: Sequence[Record], format: Literal["mermaid", "svg"] = "mermaid") -> str:
    """The last plan of a DAG run and the state of each step, drawn."""
    return svg(records) if format == "svg" else mermaid(records)


def mermaid(records: Sequence[Record]) -> str:
    picture = read(records)
    if picture is None:
        return "graph LR"
    lines = ["graph LR"]
    nodes = {step.id: _node(step.id, number) for number, step in enumerate(picture.plan.steps, 1)}
    for step in picture.plan.steps:
        label = f"{_quoted(_short(step.id, 40))}: {_quoted(_short(step.task, 40))}"
        lines.append(f'  {nodes[step.id]}["{label}"]:::{_known(picture.status[step.id])}')
        lines.extend(f"  {nodes[other]} --> {nodes[step.id]}" for other in step.dependencies if other in nodes)
    lines.extend(f"  classDef {name} fill:{fill},stroke:{stroke}" for name, (fill, stroke) in COLOURS.items())
    return "\n".join(lines)


def svg(records: Sequence[Record]) -> str:
    """Columns are waves, arrows are dependencies; drawn without any library."""
    picture = read(records)
    if picture is None:
        return '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
    waves = picture.plan.levels()
    at = {
        step.id: (_EDGE + column * (_WIDTH + _GAP_X), _EDGE + row * (_HEIGHT + _GAP_Y))
        for column, wave in enumerate(waves)
        for row, step in enumerate(wave)
    }
    width = 2 * _EDGE + len(waves) * _WIDTH + (len(waves) - 1) * _GAP_X
    tallest = max(map(len, waves))
    height = 2 * _EDGE + tallest * _HEIGHT + (tallest - 1) * _GAP_Y
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        'font-size="12">',
        '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#6b7280"/></marker></defs>',
    ]
    for step in picture.plan.steps:
        x, y = at[step.id]
        for other in step.dependencies:
            sx, sy = at[other]
            x1, y1, y2 = sx + _WIDTH, sy + _HEIGHT // 2, y + _HEIGHT // 2
            bend = (x1 + x) // 2
            parts.append(
                f'<path d="M{x1} {y1}C{bend} {y1} {bend} {y2} {x} {y2}" fill="none" stroke="#6b7280" '
                'marker-end="url(#a)"/>'
            )
        fill, stroke = COLOURS.get(picture.status[step.id], COLOURS["waiting"])
        seconds = f" {picture.seconds[step.id]:.1f} s" if step.id in picture.seconds else ""
        parts.append(
            f"<g><title>{escape(step.task)}</title>"
            f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="{fill}" stroke="{stroke}"/>'
            f'<text x="{x + 10}" y="{y + 22}" font-weight="bold">{escape(_short(step.id, 22))}</text>'
            f'<text x="{x + _WIDTH - 10}" y="{y + 22}" text-anchor="end" fill="{stroke}">'
            f"{escape(picture.status[step.id] + seconds)}</text>"
            f'<text x="{x + 10}" y="{y + 42}" fill="#374151">{escape(_short(step.task, 28))}</text></g>'
        )
    return "\n".join([*parts, "</svg>"])


def _node(step_id: str, number: int) -> str:
    """A model chooses the ids: as the name of a node, one could be a word or a sign of the language itself."""
    plain = _NODE.fullmatch(step_id) is not None and step_id.lower() not in _WORDS
    return step_id if plain else f"step_{number}_"


def _quoted(text: str) -> str:
    """As mermaid text: what could end the label or be read as markup is written as its code."""
    return "".join(char if char.isalnum() or char in " .,:-_$?!…" else f"#{ord(char)};" for char in text)


def _known(status: str) -> str:
    return status if status in COLOURS else "waiting"


def _short(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
