"""The pictures of docs/concepts/: boxes and arrows from a few lines of data each, in the colours of the page."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

INK, QUIET, LINE, ACCENT, SOFT, KNOT = "#24221f", "#69645c", "#cfc9be", "#2f5d62", "#e4eeee", "#b9751b"
PAPER = "#faf9f7"
HEIGHT = 46


class Box(NamedTuple):
    x: int
    y: int
    width: int
    text: str
    kind: str = ""
    """`strong` for what matters, `person` for what a person does."""


class Arrow(NamedTuple):
    points: tuple[tuple[int, int], ...]
    text: str = ""
    dashed: bool = False


Part = Box | Arrow


def draw(width: int, height: int, title: str, parts: list[Part]) -> str:
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-size="14"',
        ' font-family="Inter, ui-sans-serif, system-ui, sans-serif">',
        f"<title>{escape(title)}</title>",
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0l8 4-8 4z" fill="{QUIET}"/></marker></defs>',
        f'<rect width="{width}" height="{height}" rx="12" fill="{PAPER}"/>',
        *(_box(part) if isinstance(part, Box) else _arrow(part) for part in parts),
        "</svg>",
    ]
    return "\n".join(drawn) + "\n"


def _box(box: Box) -> str:
    fill, line, ink = {
        "strong": (ACCENT, ACCENT, "#ffffff"),
        "person": ("#faf0df", KNOT, INK),
        "soft": (SOFT, ACCENT, INK),
    }.get(box.kind, ("#ffffff", LINE, INK))
    lines = box.text.split("\n")
    top = box.y + HEIGHT / 2 + 5 - 8 * (len(lines) - 1)
    texts = "".join(
        f'<text x="{box.x + box.width / 2:g}" y="{top + 17 * number:g}" text-anchor="middle" fill="{ink}">'
        f"{escape(line)}</text>"
        for number, line in enumerate(lines)
    )
    place = f'x="{box.x}" y="{box.y}" width="{box.width}" height="{HEIGHT}" rx="9"'
    return f'<rect {place} fill="{fill}" stroke="{line}" stroke-width="1.3"/>{texts}'


def _arrow(arrow: Arrow) -> str:
    path = "M" + "L".join(f"{x} {y}" for x, y in arrow.points)
    dashes = ' stroke-dasharray="5 4"' if arrow.dashed else ""
    shape = f'<path d="{path}" fill="none" stroke="{QUIET}" stroke-width="1.4" marker-end="url(#tip)"{dashes}/>'
    (x1, y1), (x2, y2) = arrow.points[0], arrow.points[1]
    words = f'<text x="{(x1 + x2) / 2:g}" y="{(y1 + y2) / 2 - 7:g}" text-anchor="middle" fill="{QUIET}" font-size="12">'
    return shape + (f"{words}{escape(arrow.text)}</text>" if arrow.text else "")


def log() -> str:
    names = ["RunStarted", "ThinkStarted", "ThinkDone", "ToolStarted", "ToolDone", "ThinkStarted", "..."]
    parts: list[Part] = [
        Box(24 + 118 * number, 40, 108, f"{number}\n{name}", "strong" if name.startswith("Tool") else "soft")
        for number, name in enumerate(names)
    ]
    below = [("state = fold(records)", 40), ("request = render(state)", 250), ("resume, replay, fork", 460)]
    parts += [Box(x, 150, 185, text) for text, x in below]
    parts.append(Box(670, 150, 170, "terminal, page,\nstream, traces"))
    parts += [Arrow(((130, 88), (130, 148))), Arrow(((227, 173), (248, 173))), Arrow(((437, 173), (458, 173)))]
    parts.append(Arrow(((755, 88), (755, 148))))
    return draw(870, 220, "A run is a list of records; everything else is computed from it", parts)


def dialects() -> str:
    models = ["calls natively", "JSON schema", "grammar", "plain text only"]
    forms = ["native", "schema", "direct, brief, compact", "json, action, array, code"]
    parts: list[Part] = []
    for number, (model, form) in enumerate(zip(models, forms, strict=True)):
        y = 20 + 58 * number
        parts += [Box(20, y, 150, model), Box(290, y, 180, form, "soft"), Arrow(((170, y + 23), (288, y + 23)))]
        parts.append(Arrow(((470, y + 23), (598, 130))))
    parts += [Box(600, 107, 110, "Decision", "strong"), Box(780, 107, 90, "the loop")]
    parts += [Arrow(((710, 130), (778, 130))), Box(600, 20, 270, "calls, or an answer, or a problem", "")]
    return draw(890, 260, "Any model, one decision: the dialect is chosen for what the model can do", parts)


def guards() -> str:
    steps = [
        "not a guess?",
        "plug-ins:\nbefore_tool",
        "provenance",
        "approval",
        "budget",
        "known tool,\nvalid arguments?",
    ]
    parts: list[Part] = [
        Box(20 + 145 * number, 40, 130, text, "person" if text == "approval" else "soft")
        for number, text in enumerate(steps)
    ]
    parts += [Arrow(((150 + 145 * number, 63), (163 + 145 * number, 63))) for number in range(5)]
    parts.append(Box(745, 140, 130, "the tool runs", "strong"))
    parts.append(Arrow(((810, 86), (810, 138))))
    parts.append(Box(20, 140, 695, "a refusal is a result: the model reads why and goes on"))
    parts += [Arrow(((85 + 145 * number, 86), (85 + 145 * number, 138)), dashed=True) for number in range(5)]
    parts.append(Arrow(((765, 86), (700, 138)), dashed=True))
    return draw(895, 206, "Every call passes the same gate, whoever asks; what fails there refuses", parts)


def approval() -> str:
    parts: list[Part] = [
        Box(20, 40, 150, "a call that asks"),
        Box(235, 40, 150, "Paused\n(a record)", "strong"),
        Box(450, 40, 170, "a person decides:\nallow, change, refuse", "person"),
        Box(690, 40, 150, "Approved\n(a record)", "strong"),
        Box(690, 140, 150, "ToolStarted ..."),
        Box(235, 140, 385, "the process may end here: minutes, or weeks", "soft"),
        Arrow(((170, 63), (233, 63))),
        Arrow(((385, 63), (448, 63))),
        Arrow(((620, 63), (688, 63))),
        Arrow(((765, 86), (765, 138))),
        Arrow(((310, 86), (310, 138)), dashed=True),
        Arrow(((535, 138), (535, 88)), dashed=True),
    ]
    return draw(860, 206, "The decision is in the log before the call starts", parts)


def durability() -> str:
    parts: list[Part] = [
        Box(20, 40, 150, "ToolStarted", "strong"),
        Box(240, 40, 150, "the effect", "person"),
        Box(460, 40, 150, "ToolDone", "strong"),
        Arrow(((170, 63), (238, 63))),
        Arrow(((390, 63), (458, 63))),
        Box(20, 140, 150, "killed before:\nit runs"),
        Box(240, 140, 150, "killed here:\nnobody knows", "person"),
        Box(460, 140, 150, "killed after:\nnever again"),
        Box(680, 105, 190, "pure, idempotent:\nrepeated", "soft"),
        Box(680, 175, 190, "unsafe: not repeated,\nthe model is told", "soft"),
        Arrow(((390, 163), (425, 163), (425, 210), (650, 210), (678, 200)), dashed=True),
        Arrow(((390, 152), (430, 152), (430, 118), (650, 118), (678, 128)), dashed=True),
    ]
    return draw(890, 240, "Two records enclose each effect; the tool says what may be repeated", parts)


PICTURES = {"log": log, "dialects": dialects, "guards": guards, "approval": approval, "durability": durability}
