"""Values that the engine looks up itself in results: which rows, which field, which calculation. Nothing here asks a
model, and nothing is decided by what comes first: a value that is not the only one is no value."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, DecimalException
from typing import Any, cast

import msgspec

from treadle._types.intent import Pick

Row = dict[str, Any]
Result = tuple[Mapping[str, Any], str]
"""The arguments of a call and what it returned."""
_MAX_ROWS = 10_000
_MAX_VALUES = 200
_LABEL = re.compile(r"([^\W\d_][^:\n]{0,40}): +(\S.*)")
_DIGITS = r"-?(?:\d{1,3}(?:,\d{3}){1,10}|\d{1,30})(?:\.\d{1,30})?"
"""A comma stands before three digits, or it is no number: "12,50" may be twelve and a half."""
_LEADING_NUMBER = re.compile(rf"[$€£¥]?\s{{0,3}}({_DIGITS})(?!\d|[.,]\d)")
_NUMBER = re.compile(rf"(?<![\w.,\-\u2212]){_DIGITS}(?![\w-]|[.,]\d)")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?)?(?![\d-])")
_TYPES = {
    "email": re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
    "url": re.compile(r"(?:https?://|\bwww\.)[^\s\"'<>)\]}\\,]+"),
    "money": _NUMBER,
    "number": _NUMBER,
    "account": re.compile(r"\b[A-Z]{2}\d[A-Z0-9]{8,32}\b"),
    "date": re.compile(r"(?<![\d-])\d{4}-\d{2}-\d{2}(?![\d-])"),
    "path": re.compile(r"(?<![\w./-])(?:[\w.-]{0,60}/){0,20}[\w-]{1,60}\.[A-Za-z]\w{0,5}\b"),
}
ADDRESSES = tuple(_TYPES[kind] for kind in ("email", "url", "account"))
"""What free text must not bring with it unasked."""


def value_forms() -> tuple[re.Pattern[str], ...]:
    """Return how the values look that have a form of their own."""
    return tuple(form for kind, form in _TYPES.items() if kind != "money")


class NotFound(Exception):
    """There is no such value, or more than one."""


def picked(pick: Pick, sources: Sequence[Sequence[Result]], let: Mapping[str, Any] | None = None) -> list[Any]:
    """Return the values that a pick names in the results of its sources; `let` has the other numbers of its
    calculation. Raises `NotFound`."""
    rows = _joined([_rows(pick, results) for results in sources])
    rows = [row for row in rows if all(_fits(row.get(name), wanted) for name, wanted in pick.where.items())]
    if pick.per:
        rows = _counted(pick.per, rows, [args for results in sources for args, _ in results])
    for field in pick.top:
        rows = _best(rows, field.removeprefix("-"), lowest=field.startswith("-"))
    values = _distinct((value for row in rows for value in _values(pick, row)), _MAX_VALUES if pick.all else 1)
    if not values:
        raise NotFound("no such value")
    return [_calculated(pick.calc, {**(let or {}), "x": value}) for value in values] if pick.calc else values


def number(value: Any) -> Decimal | None:
    """Return the number that a value is or begins with."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float | Decimal):
        return Decimal(str(value))
    match = _LEADING_NUMBER.match(value.strip()[:80]) if isinstance(value, str) else None
    return Decimal(match[1].replace(",", "")) if match else None


def _rank(value: Any) -> Decimal | None:
    """Return what a value is compared by: a date with its time, or the number that it is or begins with."""
    match = _DATE.match(value.strip()[:40]) if isinstance(value, str) else None
    return Decimal("".join(part or "00" for part in match.groups())) if match else number(value)


def same(one: Any, other: Any) -> bool:
    """Return whether two values are the same; numbers to the cent, lists in any order."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        left, right = cast("Sequence[Any]", one), cast("Sequence[Any]", other)
        if len(left) != len(right) or len(left) > _MAX_VALUES:
            return False
        pairs = [(a, b) for a in left for b in right if same(a, b)]
        return all(any(a is x for x, _ in pairs) for a in left) and all(
            any(b is y for _, y in pairs) for b in right
        )  # fmt: skip
    if isinstance(one, dict) and isinstance(other, dict):
        a, b = cast("dict[Any, Any]", one), cast("dict[Any, Any]", other)
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float | Decimal) and isinstance(other, int | float | Decimal):
        return abs(Decimal(str(one)) - Decimal(str(other))) < Decimal("0.005")
    return str(cast("object", one)).split() == str(cast("object", other)).split()


def text_like(template: str, values: Mapping[str, str], text: str) -> bool:
    """Return whether a text is the template with these values; a name without one stands for one short word."""
    parts = re.split(r"\{(\w+)\}", template)
    pattern = "".join(
        (re.escape(values[part]) if part in values else r"[\w.:+-]{1,24}") if index % 2 else re.escape(part)
        for index, part in enumerate(parts)
    )
    return re.fullmatch(pattern, text) is not None


def _rows(pick: Pick, results: Sequence[Result]) -> list[Row]:
    fields = {pick.get, pick.per, *pick.where, *(field.removeprefix("-") for field in pick.top)}
    rows: list[Row] = []
    for args, text in results:
        arguments = {f"@{name}": value for name, value in args.items()}
        rows += [
            row | arguments for row in _rows_of(text, by_key=bool({"key", "value"} & fields), by_line="line" in fields)
        ]
        if len(rows) > _MAX_ROWS:
            raise NotFound("too many rows")
    return rows


def _rows_of(text: str, *, by_key: bool, by_line: bool) -> Iterable[Row]:
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        value = text
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if not by_key:
            return [{**fields, "value": text}]
        return [_row(item) | {"key": key} for key, item in fields.items()]  # names and what belongs to each
    if isinstance(value, list):
        return [_row(item) for item in cast("list[Any]", value)]
    if isinstance(value, str) and by_line:
        lines = (line.strip().lstrip("-*• ") for line in value.splitlines())
        return [{"line": match[2] if (match := _LABEL.fullmatch(line)) else line} for line in lines if line]
    return [_row(value)]


def _row(value: Any) -> Row:
    if isinstance(value, dict):
        return {**cast("Row", value), "value": msgspec.json.encode(value).decode()}
    if not isinstance(value, str):
        return {"value": value, "number": value}
    labels = [(match[1], match[2].strip()) for line in value.splitlines() if (match := _LABEL.fullmatch(line.strip()))]
    names = Counter(name for name, _ in labels)
    # Whoever can add a line can add a label: one that stands twice says nothing.
    return {"value": value, **{name: text for name, text in labels if names[name] == 1}}


def _joined(sources: list[list[Row]]) -> list[Row]:
    if len(sources) == 1:
        return sources[0]
    joined: dict[str, Row] = {}
    for rows in sources:
        for row in rows:
            key = str(row.get("key", ""))
            other = joined.get(key)
            if other is None:
                joined[key] = row
                continue
            both = {name for name in other.keys() & row.keys() if other[name] != row[name]} - {"value"}
            merged = {**other, **row, "value": f"{other['value']}\n{row['value']}"}
            joined[key] = {name: value for name, value in merged.items() if name not in both}
    return list(joined.values())


def _fits(value: Any, wanted: Any) -> bool:
    if value is None:
        return False
    if not isinstance(wanted, dict):
        if isinstance(wanted, str) and isinstance(value, str):
            return wanted.casefold().split() == value.casefold().split()
        return same(value, wanted)
    tests = cast("dict[str, Any]", wanted)
    return bool(tests) and all(_holds(value, test, limit) for test, limit in tests.items())


def _holds(value: Any, test: str, limit: Any) -> bool:
    if test in ("under", "over"):
        match, bound = _rank(value), _rank(limit)
        return match is not None and bound is not None and (match < bound if test == "under" else match > bound)
    if test == "not":
        return not _fits(value, limit)
    text, wanted = str(value).casefold(), str(limit).casefold()
    if test == "starts":
        return text.startswith(wanted)
    # Whole words; where it does not begin or end with one, as in "-03-", anything may stand beside it.
    before, after = (r"(?<!\w)" if wanted[:1].isalnum() else ""), (r"(?!\w)" if wanted[-1:].isalnum() else "")
    return test == "has" and wanted != "" and re.search(before + re.escape(wanted) + after, text) is not None


def _counted(field: str, rows: list[Row], calls: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Rows with how often each value of a field occurs; an argument of a call that returned nothing counts as none."""
    counts: dict[str, Row] = {}
    if field.startswith("@"):
        counts = {str(args.get(field[1:])): {field: args.get(field[1:]), "count": 0} for args in calls}
    for row in rows:
        one = counts.setdefault(str(row.get(field)), {field: row.get(field), "count": 0})
        one["count"] += 1
    return list(counts.values())


def _best(rows: list[Row], field: str, *, lowest: bool) -> list[Row]:
    ranked = [(value, row) for row in rows if (value := _rank(row.get(field))) is not None]
    if len(ranked) < len(rows):
        raise NotFound(f"a row has no number and no date as {field}")
    if not ranked:
        return []
    best = (min if lowest else max)(value for value, _ in ranked)
    return [row for value, row in ranked if value == best]


def _values(pick: Pick, row: Row) -> Iterable[Any]:
    value = row.get(pick.get) if pick.get else row.get("value")
    if value is None:
        return ()
    if not pick.type:
        return (value,)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    match = [one.rstrip(".,;:!?") for one in _TYPES[pick.type].findall(text)]
    return [number(one) for one in match] if pick.type in ("money", "number") else match


def _distinct(values: Iterable[Any], most: int) -> list[Any]:
    match: list[Any] = []
    for value in values:
        if not any(same(value, one) for one in match):
            match.append(value)
            if len(match) > most:
                raise NotFound("more values than are needed")
    return match


def _calculated(formula: str, values: Mapping[str, Any]) -> Decimal:
    numbers = {name: one for name, value in values.items() if (one := number(value)) is not None}
    try:
        tree = ast.parse(formula[:100], mode="eval").body
        if len(numbers) < len(values) or abs(result := _term(tree, numbers)) > 10**15:
            raise NotFound("no number")
    except (SyntaxError, DecimalException, RecursionError, ValueError) as error:
        raise NotFound(f"cannot calculate {formula}") from error
    return result


def _term(node: ast.AST, numbers: Mapping[str, Decimal]) -> Decimal:
    match node:
        case ast.Name(id=name) if name in numbers:
            return numbers[name]
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return Decimal(str(value))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_term(operand, numbers)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right=right):
            one, other = _term(left, numbers), _term(right, numbers)
            if isinstance(op, ast.Add):
                return one + other
            if isinstance(op, ast.Sub):
                return one - other
            return one * other if isinstance(op, ast.Mult) else one / other
        case _:
            raise ValueError("only x, what `let` has, numbers and + - * /")
