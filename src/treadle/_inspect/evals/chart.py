"""A bar chart as plain SVG: groups of bars from 0 to 100 %, each with its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from msgspec import Struct

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
