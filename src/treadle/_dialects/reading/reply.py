"""Tolerant reading of replies, in stages: strict JSON; thinking, fences and tool markup taken off; JSON with the usual slips,
wherever in the text it begins; a repair library last, its result marked. Nothing is ever evaluated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from treadle._dialects.reading.lenient import MAX_DEPTH, Lenient, Parsed, Unreadable, whole_in
from treadle._dialects.reading.markup import read_markup
from treadle._dialects.reading.shapes import (
    ANSWER_KEYS,
    NAME_KEYS,
    Found,
    Tools,
    answer_in,
    arguments,
    calls_in,
    clean_name,
    is_final,
    make_call,
    named,
    python_calls,
    says_final,
)
from treadle._dialects.reading.thinking import split_thinking
from treadle._types.request import ToolSchema

How = Literal["strict", "lenient", "repaired"]

MAX_VALUES = 256
REPAIR_CHARS = 8_000
REPAIR_DEPTH = 30
CUT_OFF = "the reply was cut off by the length limit before it was complete; write it again, shorter"

_BRACKET = re.compile(r"[{\[]")
_BRACKETS = re.compile(r"[{\[\]}]")
_FENCES = re.compile(r"```[ \t]*[\w+-]*")
_NAMED = re.compile(rf"""["'“]?(?:{"|".join(NAME_KEYS)})["'”]?\s*:\s*["'“]([^"'”]{{1,128}})""")
_OBSERVATION = re.compile(
    r"^[ \t*#>-]*(?:Observations?|Tool results?|Results?)\b[^\n]{0,80}:|<result\b", re.MULTILINE | re.IGNORECASE
)
_PYTHON = re.compile(r"\[?\s*([^\W\d][\w.-]*)\(")
_AFTER_REGION = re.compile(r"\s*(?:```|</|<\||\Z)|\n")


class Scan(Struct, frozen=True):
    """The JSON in a text: whole values, one the text ended in, and the places that began as JSON and broke."""

    values: tuple[Parsed, ...] = ()
    tail: Parsed | None = None
    broken: tuple[tuple[int, int], ...] = ()

    def spans(self) -> list[tuple[int, int]]:
        tail = [(self.tail.start, self.tail.end)] if self.tail else []
        return [*((value.start, value.end) for value in self.values), *self.broken, *tail]


class Reading(Struct, frozen=True):
    """What a reply holds, before a dialect says what it means."""

    thinking: str = ""
    text: str = ""
    """The reply without its thinking."""
    before: str = ""
    """The prose before the action."""
    calls: tuple[Found, ...] = ()
    fields: dict[str, Any] | None = None
    """The object that was used: the call's, or the one that gives an answer."""
    answer: str | None = None
    problem: str = ""
    """Something began like a call or an answer and could not be read."""
    markup: bool = False
    alone: bool = False
    """Nothing but JSON (and fences) is in the reply."""
    json: bool = False
    """There is JSON in it, whatever it means."""
    repaired: bool = False


def by_name(tools: Sequence[ToolSchema]) -> dict[str, ToolSchema]:
    return {tool.name: tool for tool in tools}


def extract_json(text: str, *, cut: bool = False) -> tuple[Any, How]:
    """The JSON value in a text and how it was read. `cut` says that the text ended by a length limit.

    Raises ValueError when there is none, or only one that is not complete.
    """
    text = encodable(text)
    value = strict(text)
    if value is not None or text.strip() == "null":
        return value, "strict"
    _, rest = split_thinking(text)
    if (value := strict(unfenced(rest))) is not None:
        return value, "lenient"
    found = scan(rest)
    values: list[Any] = [parsed.value for parsed in found.values]
    best = [value for value in values if _holds_object(value)]
    if best or (values and not found.broken and not found.tail):
        return (best or values)[0], "lenient"
    if found.tail and found.tail.deep and found.tail.whole and not cut:
        return found.tail.value, "repaired"
    if not cut and found.broken and (repaired := repair(rest, found.broken[0][0])) is not None:
        return repaired, "repaired"
    raise ValueError(CUT_OFF if cut else "no readable JSON in the text")


def _holds_object(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(row, dict) for row in cast("list[Any]", value))
    )


def encodable(text: str) -> str:
    """The text without lone surrogates, which no encoder takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def strict(text: str) -> Any:
    """The value of a text that is JSON as a whole (also JSON inside a JSON string); None otherwise."""
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        inner = strict(value)
        return value if inner is None else inner
    return None if text.count("{") + text.count("[") > MAX_DEPTH and _too_deep(value) else value


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
    """What is inside when the whole text is one code fence."""
    plain = text.strip()
    if plain.startswith("```") and plain.find("```", 3) in (-1, len(plain) - 3):
        return _FENCES.sub("", plain, count=1).removesuffix("```").strip()
    return plain


def scan(text: str) -> Scan:
    """Every JSON object and array in a text, from the first bracket that works. What lies inside broken JSON is left alone."""
    reader = Lenient(text)
    values: list[Parsed] = []
    broken: list[tuple[int, int]] = []
    position = 0
    while not reader.exhausted and len(values) < MAX_VALUES and (match := _BRACKET.search(text, position)):
        start = match.start()
        try:
            parsed = reader.parse(start)
        except Unreadable as error:
            position = start + 1
            if error.deep:
                position = _region_end(text, start)
                broken.append((start, position))
                if _NAMED.search(text, start, start + 400):
                    break
            continue
        position = start + 1
        if parsed.closed:
            values.append(parsed)
            position = parsed.end
        elif parsed.deep:
            return Scan(tuple(values), parsed, tuple(broken))
    return Scan(tuple(values), None, tuple(broken))


def _region_end(text: str, start: int) -> int:
    """Where the brackets opened at `start` are balanced, counted without regard to strings; the end of the text otherwise."""
    depth = 0
    for match in _BRACKETS.finditer(text, start):
        depth += 1 if match.group() in "{[" else -1
        if depth == 0:
            return match.end()
    return len(text)


def repair(text: str, start: int) -> Any:
    """What the repair library makes of broken JSON; None unless the text has its end, is short and is not deeply nested."""
    end = max(text.rfind("}"), text.rfind("]")) + 1
    region = text[start:end]
    following = text[end:]
    if not region or len(region) > REPAIR_CHARS or not _AFTER_REGION.match(following) or '"' in following:
        return None
    depth = deepest = 0
    for match in _BRACKETS.finditer(region):
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


class _Hit(Struct, frozen=True):
    """A JSON value that means something: calls, or an answer."""

    parsed: Parsed
    calls: tuple[Found, ...]
    fields: dict[str, Any] | None
    answer: str | None


def read(text: str, tools: Tools, *, cut: bool) -> Reading:
    """Read a reply. `cut`: it ended by its length, so that only what was closed counts."""
    text = encodable(text)
    whole = strict(text)
    if isinstance(whole, (dict, list)):
        thinking, rest = "", text.strip()
        found = Scan((Parsed(cast("Any", whole), 0, len(rest)),))
        markup = None
    else:
        thinking, rest = split_thinking(text)
        found = scan(rest)
        markup = read_markup(rest, tools, cut=cut)
    base = Reading(thinking, rest, json=bool(found.spans()), alone=_alone(rest, found.spans()))
    hits = _hits(found.values, tools, cut)
    inside = markup is not None and any(start < markup.start < end for start, end in found.spans())
    if markup and not inside and (not hits or markup.start <= hits[0].parsed.start):
        problem = "the tool call could not be read" if markup.broken and not markup.calls else ""
        repaired = any(call.repaired for call in markup.calls)
        return _replace(base, before=markup.before, calls=markup.calls, problem=problem, markup=True, repaired=repaired)
    if hits:
        return _from_hits(base, _of_one_mind(rest, hits), found, tools, cut)
    return _from_the_rest(base, found, tools, cut)


def _replace(reading: Reading, **changes: Any) -> Reading:
    return msgspec.structs.replace(reading, **changes)


def _alone(text: str, spans: Iterable[tuple[int, int]]) -> bool:
    outside: list[str] = []
    position = 0
    for start, end in sorted(spans):
        outside.append(text[position:start])
        position = max(position, end)
    outside.append(text[position:])
    return not _FENCES.sub("", "".join(outside)).strip(" \t\r\n;,`")


def _hits(values: Iterable[Parsed], tools: Tools, cut: bool) -> list[_Hit]:
    hits: list[_Hit] = []
    for parsed in values:
        calls = calls_in(parsed.value, tools, whole_in(parsed, cut))
        fields = cast("dict[str, Any]", parsed.value) if isinstance(parsed.value, dict) else None
        answer = answer_in(fields, tools) if fields is not None else None
        if calls or answer is not None:
            hits.append(_Hit(parsed, tuple(calls or ()), fields, answer))
    return hits


def _of_one_mind(text: str, hits: list[_Hit]) -> list[_Hit]:
    """The first value, or all if all are calls; what follows an observation the model made up itself does not count."""
    for index, hit in enumerate(hits[1:], 1):
        if not hit.calls:
            return hits[:1]
        if _OBSERVATION.search(text, hits[index - 1].parsed.end, hit.parsed.start):
            return hits[:index]
    return hits if hits[0].calls else hits[:1]


def _from_hits(base: Reading, hits: list[_Hit], found: Scan, tools: Tools, cut: bool) -> Reading:
    first = hits[0]
    before = _prose(base.text[: first.parsed.start])
    if not first.calls:
        return _replace(base, before=before, fields=first.fields, answer=first.answer)
    calls = tuple(call for hit in hits for call in hit.calls)
    if hits[-1].parsed is found.values[-1]:
        calls += tuple(_unfinished(base.text, found, tools, cut))
    return _replace(base, before=before, calls=calls, fields=first.fields, answer=first.answer)


def _unfinished(text: str, found: Scan, tools: Tools, cut: bool) -> list[Found]:
    """Calls after the whole ones that were begun or broke: they are answered with an error, not passed over in silence."""
    if found.tail:
        return calls_in(found.tail.value, tools, whole_in(found.tail, cut)) or []
    if not found.broken or found.broken[-1][0] < found.values[-1].end:
        return []
    start = found.broken[-1][0]
    match = _NAMED.search(text, start, start + 400)
    name = clean_name(match.group(1), tools) if match else ""
    return [Found(name, {}, "the JSON of this call is broken")] if name in tools else []


def _from_the_rest(base: Reading, found: Scan, tools: Tools, cut: bool) -> Reading:
    """No whole value meant anything: what the text ended in, Python calls, or a repair."""
    if found.tail:
        return _from_tail(base, found.tail, tools, cut)
    if python := _python(base, tools, cut):
        return python
    if not found.broken:
        return base
    start, end = found.broken[0]
    problem = f"the JSON is broken, near {base.text[start : min(end, start + 60)]!r}"
    value = None if cut else repair(base.text, start)
    hits = _hits([Parsed(value, start, end)], tools, cut) if value is not None else []
    # A guess may fill in punctuation, not invent a tool.
    if not hits or any(call.name not in tools for call in hits[0].calls):
        return _replace(base, problem=CUT_OFF if cut else problem)
    calls = tuple(msgspec.structs.replace(call, repaired=True) for call in hits[0].calls)
    before = _prose(base.text[:start])
    return _replace(base, before=before, calls=calls, fields=hits[0].fields, answer=hits[0].answer, repaired=True)


def _from_tail(base: Reading, tail: Parsed, tools: Tools, cut: bool) -> Reading:
    before = _prose(base.text[: tail.start])
    hits = _hits([tail], tools, cut)
    calls = tuple(msgspec.structs.replace(call, repaired=True) for call in hits[0].calls) if hits else ()
    if any(not call.problem for call in calls):
        return _replace(base, before=before, calls=calls, fields=hits[0].fields, repaired=True)
    problem = CUT_OFF if cut else "the JSON stops before it is complete"
    if calls or not isinstance(tail.value, dict):
        return _replace(base, before=before, problem=problem)
    fields = cast("dict[str, Any]", tail.value)
    if hits and (tail.whole or cut):
        return _replace(base, before=before, fields=fields, answer=hits[0].answer, repaired=True)
    # An answer is shown, not executed: what there is of it is better than nothing.
    final = says_final(fields) or is_final(named(fields, tools), tools)
    if cut and final and tail.partial and tail.partial[0] in ANSWER_KEYS:
        return _replace(base, before=before, fields=fields, answer=tail.partial[1], repaired=True)
    return _replace(base, before=before, problem=problem)


def _python(base: Reading, tools: Tools, cut: bool) -> Reading | None:
    """A reply that is nothing but `[f(a=1)]` or `f(a=1)` with known tools."""
    text = unfenced(base.text)
    if not _PYTHON.match(text):
        return None
    try:
        parsed = Lenient(text).parse_calls(0)
    except Unreadable:
        return None
    calls = python_calls(parsed.value, tools, whole_in(parsed, cut))
    if text[parsed.end :].strip() or not calls or any(call.name not in tools for call in calls):
        return None
    problem = "" if any(not call.problem for call in calls) else calls[0].problem
    return _replace(
        base, calls=() if problem else tuple(calls), problem=problem, alone=True, repaired=not parsed.closed
    )


def _prose(text: str) -> str:
    """The words before an action, without what only introduces it."""
    text = text.strip()
    tail = max(0, len(text) - 40)
    return (
        text[:tail] + re.sub(r"(?:\*{0,2}(?:Action|Thought)\s*:\*{0,2}\s*)?(?:```\s*\w*)?\Z", "", text[tail:])
    ).strip()


def read_arguments(text: str, name: str, tools: Tools, *, cut: bool) -> Found:
    """A call from its name and the text of its arguments. Incomplete arguments are a problem, never a guess."""
    plain = text.strip()
    if not plain:
        return Found(name, {}, CUT_OFF if cut else "")
    value = strict(plain)
    if isinstance(value, dict):
        args, problem = arguments(cast("Any", value), tools.get(name))
        return Found(name, args, problem)
    if value is not None or plain == "null":
        return make_call(name, value, tools, repaired=True)
    found = scan(plain)
    parsed = next((item for item in found.values if item.value), found.values[0] if found.values else found.tail)
    if parsed is not None and not found.broken:
        call = make_call(
            name, parsed.value, tools, done=whole_in(parsed, cut)(parsed.value), repaired=not parsed.closed
        )
        return Found(name, {}, CUT_OFF, True) if call.problem and cut else call
    fixed = repair(plain, found.broken[0][0]) if found.broken and not cut else None
    if isinstance(fixed, dict):
        return make_call(name, fixed, tools, repaired=True)
    return Found(name, {}, CUT_OFF if cut else "the arguments are not valid JSON", True)


def names_known_tool(text: str, tools: Tools) -> bool:
    """Whether unreadable JSON was meant as a call of one of the tools."""
    named = (clean_name(match.group(1), tools) for match in _NAMED.finditer(text, 0, 4000))
    return any(name in tools for name in named) or (
        (match := _PYTHON.match(text)) is not None and match.group(1) in tools
    )
