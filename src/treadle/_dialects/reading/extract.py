"""Finds JSON in a text that holds other things too.

In stages: strict JSON; thinking and code fences removed; lenient JSON, wherever in the text it begins; a repair library
last, its result marked. Nothing is ever evaluated.
"""

from __future__ import annotations

import re
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from treadle._dialects.reading.lenient import MAX_DEPTH, LenientParser
from treadle._dialects.reading.parsed import Parsed, UnreadableJson
from treadle._dialects.reading.shapes import NAME_KEYS
from treadle._dialects.reading.thinking import split_thinking
from treadle._safety.data import repeats_a_name

ReadMethod = Literal["strict", "lenient", "repaired"]

MAX_VALUES = 256
REPAIR_CHARS = 8_000
REPAIR_DEPTH = 30
CUT_OFF = "the reply was cut off by the length limit before it was complete; write it again, shorter"

TOOL_NAME_FIELD = re.compile(rf"""["'“]?(?:{"|".join(NAME_KEYS)})["'”]?\s*:\s*["'“]([^"'”]{{1,128}})""")
"""A key that names a tool, with the name, in JSON that may be broken."""
CODE_FENCE = re.compile(r"```[ \t]*[\w+-]*")
_OPENING_BRACKET = re.compile(r"[{\[]")
_BRACKET = re.compile(r"[{\[\]}]")
_AFTER_REGION = re.compile(r"\s*(?:```|</|<\||\Z)|\n")


def extract_json(text: str, *, cut: bool = False) -> tuple[Any, ReadMethod]:
    """The JSON value in a text and how it was read. `cut` says that the text ended at a length limit.

    Raises ValueError when there is none, or only one that is not complete.
    """
    text = encodable(text)
    value = strict(text)
    if value is not None or text.strip() == "null":
        return value, "strict"
    _, rest = split_thinking(text)
    if (value := strict(unfenced(rest))) is not None:
        return value, "lenient"
    scanned = scan(rest)
    values: list[Any] = [parsed.value for parsed in scanned.values]
    objects = [value for value in values if _holds_object(value)]
    if objects or (values and not scanned.broken and not scanned.tail):
        return (objects or values)[0], "lenient"
    if scanned.tail and scanned.tail.has_keys and scanned.tail.all_values and not cut:
        return scanned.tail.value, "repaired"
    if not cut and scanned.broken and (repaired := repair(rest, scanned.broken[0][0])) is not None:
        return repaired, "repaired"
    raise ValueError(CUT_OFF if cut else "no readable JSON in the text")


def _holds_object(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(row, dict) for row in cast("list[Any]", value))
    )


class Scan(Struct, frozen=True):
    """The JSON in a text."""

    values: tuple[Parsed, ...] = ()
    """The complete values."""
    tail: Parsed | None = None
    """The value that the text ended in."""
    broken: tuple[tuple[int, int], ...] = ()
    """Where something began as JSON and broke: start and end."""

    def spans(self) -> list[tuple[int, int]]:
        tail = [(self.tail.start, self.tail.end)] if self.tail else []
        return [*((value.start, value.end) for value in self.values), *self.broken, *tail]


def encodable(text: str) -> str:
    """The text with lone surrogates, which cannot be encoded, replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def strict(text: str) -> Any:
    """The value of a text that is valid JSON, or a JSON string with such JSON, and nothing else; else None."""
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        inner = strict(value)
        return value if inner is None else inner
    if text.count("{") + text.count("[") > MAX_DEPTH and _too_deep(value):
        return None
    return None if repeats_a_name(text, 0) else value  # whoever reads it leniently says which was taken


def _too_deep(value: Any) -> bool:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        nested: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                nested += cast("dict[str, Any]", item).values()
            elif isinstance(item, list):
                nested += cast("list[Any]", item)
        if not nested:
            return False
        level = nested
    return True


def unfenced(text: str) -> str:
    """The content of the code fence, when the text is one fence and nothing else; else the text."""
    plain = text.strip()
    if plain.startswith("```") and plain.find("```", 3) in (-1, len(plain) - 3):
        return CODE_FENCE.sub("", plain, count=1).removesuffix("```").strip()
    return plain


def scan(text: str) -> Scan:
    """Every JSON object and array in a text. Values inside broken JSON do not count."""
    reader = LenientParser(text)
    values: list[Parsed] = []
    broken: list[tuple[int, int]] = []
    position = 0
    while not reader.exhausted and len(values) < MAX_VALUES and (match := _OPENING_BRACKET.search(text, position)):
        start = match.start()
        try:
            parsed = reader.parse(start)
        except UnreadableJson as error:
            position = start + 1
            if error.has_keys:
                position = _region_end(text, start)
                broken.append((start, position))
                if TOOL_NAME_FIELD.search(text, start, start + 400):
                    break
            continue
        position = start + 1
        if parsed.closed:
            values.append(parsed)
            position = parsed.end
        elif parsed.has_keys:
            return Scan(tuple(values), parsed, tuple(broken))
    return Scan(tuple(values), None, tuple(broken))


def _region_end(text: str, start: int) -> int:
    """Where the brackets opened at `start` are balanced (strings are not looked at), else the end of the text."""
    depth = 0
    for match in _BRACKET.finditer(text, start):
        depth += 1 if match.group() in "{[" else -1
        if depth == 0:
            return match.end()
    return len(text)


def repair(text: str, start: int) -> Any:
    """Return what the repair library reads in broken JSON; None if the JSON has no end, is long or deeply nested."""
    end = max(text.rfind("}"), text.rfind("]")) + 1
    region = text[start:end]
    following = text[end:]
    if not region or len(region) > REPAIR_CHARS or not _AFTER_REGION.match(following) or '"' in following:
        return None
    depth = deepest = 0
    for match in _BRACKET.finditer(region):
        depth += 1 if match.group() in "{[" else -1
        deepest = max(deepest, depth)
    if depth != 0 or deepest > REPAIR_DEPTH:
        return None
    from json_repair import repair_json

    try:
        value: Any = repair_json(region, return_objects=True, skip_json_loads=True)
        clean: Any = msgspec.json.decode(msgspec.json.encode(value))
    except (ValueError, RecursionError, TypeError, IndexError, KeyError):
        return None
    return cast("Any", clean) if isinstance(clean, (dict, list)) and clean else None
