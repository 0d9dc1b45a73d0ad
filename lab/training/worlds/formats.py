"""Results as tools give them: JSON flat or wrapped, tables, CSV, lists, XML, lines, prose."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from training.worlds import words as w

Row = dict[str, Any]
Format = Callable[[Sequence[Row]], str]


def _text(value: Any) -> str:
    return w.number(value) if isinstance(value, float) else str(value)


def _json(rows: Sequence[Row]) -> str:
    return json.dumps(list(rows), ensure_ascii=False)


def _wrapped(rows: Sequence[Row]) -> str:
    return json.dumps({"status": "ok", "count": len(rows), "data": list(rows)}, ensure_ascii=False)


def _lines(rows: Sequence[Row]) -> str:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def csv(rows: Sequence[Row]) -> str:
    mark = "," if not any("," in _text(value) for row in rows for value in row.values()) else ";"
    return "\n".join([mark.join(rows[0]), *(mark.join(map(_text, row.values())) for row in rows)]) if rows else ""


def _table(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    head = "| " + " | ".join(rows[0]) + " |"
    rule = "|" + "---|" * len(rows[0])
    return "\n".join([head, rule, *("| " + " | ".join(map(_text, row.values())) + " |" for row in rows)])


def _columns(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    cells = [[str(name).upper() for name in rows[0]], *([_text(value) for value in row.values()] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def _list(rows: Sequence[Row]) -> str:
    """A name first; what begins with a number or a time has its key before it."""
    lines: list[str] = []
    for row in rows:
        (key, first), *others = row.items()
        name = _text(first)
        named = f"{key} {name}" if name[:1].isdigit() else name
        lines.append(f"- {named}" + (": " if others else "") + ", ".join(f"{k} {_text(v)}" for k, v in others))
    return "\n".join(lines)


def _numbered(rows: Sequence[Row]) -> str:
    return "\n".join(
        f"{i}. " + "; ".join(f"{k} = {_text(v)}" for k, v in row.items()) for i, row in enumerate(rows, start=1)
    )


def _xml(rows: Sequence[Row]) -> str:
    return "\n".join(
        "<item>" + "".join(f"<{w.snake(k)}>{_text(v)}</{w.snake(k)}>" for k, v in row.items()) + "</item>"
        for row in rows
    )


def _yaml(rows: Sequence[Row]) -> str:
    return "\n".join(
        "\n".join(f"{'- ' if i == 0 else '  '}{k}: {_text(v)}" for i, (k, v) in enumerate(row.items())) for row in rows
    )


FORMATS: tuple[Format, ...] = (_json, _wrapped, _lines, csv, _table, _columns, _list, _numbered, _xml, _yaml)


def some(r: random.Random) -> Format:
    return r.choice(FORMATS)


def one(r: random.Random) -> Callable[[Row], str]:
    """For a single record: mostly an object, lines, or one of the forms for many."""
    choice = r.random()
    if choice < 0.3:
        return lambda row: json.dumps(row, ensure_ascii=False)
    if choice < 0.45:
        return lambda row: "\n".join(f"{k}: {_text(v)}" for k, v in row.items())
    if choice < 0.55:
        return lambda row: json.dumps({"result": {"attributes": row}, "error": None}, ensure_ascii=False)
    if choice < 0.65:
        return lambda row: "; ".join(f"{k} {_text(v)}" for k, v in row.items())
    form = some(r)
    return lambda row: form([row])
