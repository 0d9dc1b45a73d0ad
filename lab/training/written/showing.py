"""Results of written tasks as other programs would show them: tables, lines, sheets, in place of the JSON they are
written in. A model that has seen each result in one form only reads the form."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from training.worlds import formats

OTHERWISE = 0.4
"""Part of the tools whose results are shown in another form than they are written in; as many have the keys of their
records in another order."""
Json = Any
Show = Callable[[Json], str | None]
"""None: what this form cannot show."""


def _scalar(value: Json) -> Json:
    if value is None:
        return "-"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def _flat(row: Json) -> dict[str, Json] | None:
    """A record without records in it; of a list of words, the words."""
    if not isinstance(row, dict):
        return None
    made: dict[str, Json] = {}
    for key, value in row.items():
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            made[key] = ", ".join(value) or "-"
        elif isinstance(value, dict | list):
            return None
        else:
            made[key] = _scalar(value)
    return made


def _rows(value: Json) -> list[dict[str, Json]] | None:
    """A list of records with the same keys."""
    if not isinstance(value, list) or not value:
        return None
    rows = [_flat(row) for row in value]
    found = [row for row in rows if row]
    same = len(found) == len(rows) and all(row.keys() == found[0].keys() for row in found)
    return found if same else None


def shown(value: Json, of_one: Callable[[formats.Row], str], of_many: formats.Format) -> str | None:
    """A record, a list of them, or a record with one such list in it."""
    if rows := _rows(value):
        return of_many(rows)
    if record := _flat(value):
        return of_one(record)
    if not isinstance(value, dict):
        return None
    lists = {key: rows for key, part in value.items() if (rows := _rows(part))}
    rest = _flat({key: part for key, part in value.items() if key not in lists})
    if len(lists) != 1 or rest is None:
        return None
    ((name, rows),) = lists.items()
    return "\n".join([*(f"{key}: {part}" for key, part in rest.items()), f"{name}:", of_many(rows)])


def shuffled(order: int, value: Json) -> Json:
    """The same with the keys of its records in another order, which is the same for the same keys."""
    if isinstance(value, list):
        return [shuffled(order, one) for one in value]
    if not isinstance(value, dict):
        return value
    keys = sorted(value, key=lambda key: zlib.crc32(f"{order} {key}".encode()))
    return {key: shuffled(order, value[key]) for key in keys}


def shown_otherwise(r: random.Random, results: Sequence[tuple[str, Json]]) -> list[Json]:
    """What tools give, by their names and in order; of some of them in another form, the same in all calls of one."""
    forms: dict[str, Show] = {}
    made: list[Json] = []
    for tool, gives in results:
        show = forms.setdefault(tool, _form(r))
        text = show(gives) if isinstance(gives, dict | list) else None
        made.append(gives if text is None else text)
    return made


def _form(r: random.Random) -> Show:
    chance = r.random()
    if chance < OTHERWISE:
        of_one, of_many = formats.one(r), formats.some(r)
        return lambda value: shown(value, of_one, of_many)
    if chance < 2 * OTHERWISE:
        order = r.getrandbits(32)
        return lambda value: json.dumps(shuffled(order, value), ensure_ascii=False)
    return lambda value: None
