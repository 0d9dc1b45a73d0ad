"""Reads what a reply holds: thinking, prose, calls or an answer, before a dialect says what it means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._dialects.reading.extract import (
    CODE_FENCE,
    CUT_OFF,
    TOOL_NAME_FIELD,
    Scan,
    encodable,
    repair,
    scan,
    strict,
    unfenced,
)
from treadle._dialects.reading.lenient import LenientParser
from treadle._dialects.reading.markup import read_markup
from treadle._dialects.reading.parsed import Parsed, UnreadableJson
from treadle._dialects.reading.placement import IN_SHOWN_MARKUP, TEXT_FOLLOWS, Quotations, doubt_about
from treadle._dialects.reading.shapes import (
    ANSWER_KEYS,
    ParsedCall,
    Tools,
    answer_in,
    arguments,
    calls_in,
    clean_name,
    doubted,
    has_final_type,
    is_final_name,
    make_call,
    python_calls,
    tool_name_in,
)
from treadle._dialects.reading.thinking import split_thinking, without_end_tokens
from treadle._types.request import ToolSchema

_OBSERVATION = re.compile(
    r"^[ \t*#>-]*(?:Observations?|Tool results?|Results?)\b[^\n]{0,80}:|<result\b", re.MULTILINE | re.IGNORECASE
)
TALK = "a tool call stands inside a sentence or a quotation: write it on a line of its own, with nothing after it"
TEXT_AROUND = "other text stands beside the JSON of its arguments"
SEVERAL_VALUES = "its arguments are given more than once"
NOT_UNICODE = "the text holds a character that is not valid Unicode"
_PYTHON_CALL = re.compile(r"\[?\s*([^\W\d][\w.-]*)\(")


class Reading(Struct, frozen=True):
    """The content of a reply."""

    thinking: str = ""
    text: str = ""
    """The reply without its thinking."""
    before: str = ""
    """The prose before the action."""
    calls: tuple[ParsedCall, ...] = ()
    fields: dict[str, Any] | None = None
    """The object that was read: the call's, or the one that gives an answer."""
    answer: str | None = None
    problem: str = ""
    """Something began like a call or an answer and could not be read."""
    markup: bool = False
    """The calls are written in a model's own markup."""
    only_json: bool = False
    """Nothing but JSON (and code fences) is in the reply."""
    has_json: bool = False
    """There is JSON in it, whatever it means."""
    repaired: bool = False
    """The JSON was broken and a guess was made."""


def by_name(tools: Sequence[ToolSchema]) -> dict[str, ToolSchema]:
    return {tool.name: tool for tool in tools}


class _Meaningful(Struct, frozen=True):
    """A JSON value that gives calls or an answer."""

    parsed: Parsed
    calls: tuple[ParsedCall, ...]
    fields: dict[str, Any] | None
    answer: str | None


def read(text: str, tools: Tools, *, cut: bool) -> Reading:
    """Read a reply. `cut`: it ended at a length limit, so that only closed values count."""
    written, text = text, encodable(text)
    reading = _read(text, tools, cut)
    if text is written or not reading.calls:
        return reading
    return _replace(reading, calls=doubted(reading.calls, NOT_UNICODE))


def _read(text: str, tools: Tools, cut: bool) -> Reading:
    value = strict(text)
    if isinstance(value, (dict, list)):
        thinking, rest = "", text.strip()
        scanned = Scan((Parsed(cast("Any", value), 0, len(rest)),))
        markup = None
    else:
        thinking, rest = split_thinking(text)
        scanned = scan(rest)
        markup = read_markup(rest, tools, cut=cut)
    spans = scanned.spans()
    base = Reading(thinking, rest, has_json=bool(spans), only_json=_is_only_json(rest, spans))
    values = _meaningful(scanned.values, tools, cut)
    inside = markup is not None and any(start < markup.start < end for start, end in spans)
    if markup and not inside and (not values or markup.start <= values[0].parsed.start):
        problem = "the tool call could not be read" if markup.broken and not markup.calls else ""
        return _replace(base, before=markup.before, calls=markup.calls, problem=problem, markup=True)
    if values:
        return _from_values(base, _consistent(rest, values), scanned, tools, cut)
    return _from_incomplete(base, scanned, tools, cut)


def _replace(reading: Reading, **changes: Any) -> Reading:
    return msgspec.structs.replace(reading, **changes)


def _is_only_json(text: str, spans: Iterable[tuple[int, int]]) -> bool:
    outside: list[str] = []
    position = 0
    for start, end in sorted(spans):
        outside.append(text[position:start])
        position = max(position, end)
    outside.append(text[position:])
    return not CODE_FENCE.sub("", "".join(outside)).strip(" \t\r\n;,`")


def _meaningful(values: Iterable[Parsed], tools: Tools, cut: bool) -> list[_Meaningful]:
    """The values that are calls or give an answer."""
    results: list[_Meaningful] = []
    for parsed in values:
        calls = calls_in(parsed.value, tools, parsed.completeness(cut))
        fields = cast("dict[str, Any]", parsed.value) if isinstance(parsed.value, dict) else None
        answer = answer_in(fields, tools) if fields is not None else None
        if calls or answer is not None:
            results.append(_Meaningful(parsed, tuple(calls or ()), fields, answer))
    return results


def _consistent(text: str, values: list[_Meaningful]) -> list[_Meaningful]:
    """All values if all are calls, else the first; calls after an observation that the model invented do not count."""
    for index, value in enumerate(values[1:], 1):
        if not value.calls:
            return values[:1]
        if _OBSERVATION.search(text, values[index - 1].parsed.end, value.parsed.start):
            return values[:index]
    return values if values[0].calls else values[:1]


def _from_values(base: Reading, values: list[_Meaningful], scanned: Scan, tools: Tools, cut: bool) -> Reading:
    first = values[0]
    before = _prose(base.text[: first.parsed.start])
    if not first.calls:
        return _replace(base, before=before, fields=first.fields, answer=first.answer)
    doubt = _doubt(base.text, first.parsed.start, values[-1].parsed.end)
    if doubt is None:
        return _replace(base, before=before, problem=TALK)
    calls = tuple(call for value in values for call in doubted(value.calls, value.parsed.repair or doubt))
    if values[-1].parsed is scanned.values[-1]:
        calls += tuple(_unfinished(base.text, scanned, tools, cut))
    return _replace(base, before=before, calls=calls, fields=first.fields, answer=first.answer)


def _doubt(text: str, start: int, end: int) -> str | None:
    """As `doubt_about`, for JSON, which is what a text dialect asks for: doubtful in a sentence, only shown in quotes
    or in markup that is shown. A result that the model invents after its call does not make the call an example."""
    if observed := _OBSERVATION.search(text, end):
        text = text[: observed.start()]
    if start and Quotations(text).quoted(start):
        return None
    doubt = doubt_about(text, start, end)
    in_markup = "<" in text[text.rfind("\n", 0, start) + 1 : start]
    if doubt is None:
        return None if in_markup else TEXT_FOLLOWS
    return doubt or (IN_SHOWN_MARKUP if in_markup else "")


def _unfinished(text: str, scanned: Scan, tools: Tools, cut: bool) -> list[ParsedCall]:
    """Unfinished or broken calls after the complete ones: the model gets an error for each instead of silence."""
    if scanned.tail:
        calls = calls_in(scanned.tail.value, tools, scanned.tail.completeness(cut)) or []
        return list(doubted(calls, scanned.tail.repair))
    if not scanned.broken or scanned.broken[-1][0] < scanned.values[-1].end:
        return []
    start = scanned.broken[-1][0]
    match = TOOL_NAME_FIELD.search(text, start, start + 400)
    name = clean_name(match.group(1), tools) if match else ""
    return [ParsedCall(name, {}, "the JSON of this call is broken")] if name in tools else []


def _from_incomplete(base: Reading, scanned: Scan, tools: Tools, cut: bool) -> Reading:
    """Without a complete call or answer: the value that the text ended in, Python calls, or a repair."""
    if scanned.tail:
        return _from_tail(base, scanned.tail, tools, cut)
    if python := _python(base, tools, cut):
        return python
    if not scanned.broken:
        return base
    start, end = scanned.broken[0]
    problem = _broken(base.text, scanned)
    value = None if cut else repair(base.text, start)
    guesses = _meaningful([Parsed(value, start, end)], tools, cut) if value is not None else []
    # A guess may fill in punctuation, not invent a tool.
    if not guesses or any(call.name not in tools for call in guesses[0].calls):
        return _replace(base, problem=CUT_OFF if cut else problem)
    guess = guesses[0]
    calls = doubted(guess.calls, problem)
    before = _prose(base.text[:start])
    return _replace(base, before=before, calls=calls, fields=guess.fields, answer=guess.answer, repaired=True)


def _broken(text: str, scanned: Scan) -> str:
    start, end = scanned.broken[0]
    return f"the JSON is broken, near {text[start : min(end, start + 60)]!r}"


def _from_tail(base: Reading, tail: Parsed, tools: Tools, cut: bool) -> Reading:
    before = _prose(base.text[: tail.start])
    values = _meaningful([tail], tools, cut)
    calls = doubted(values[0].calls, tail.repair) if values else ()
    if any(not call.problem for call in calls):
        return _replace(base, before=before, calls=calls, fields=values[0].fields, repaired=True)
    problem = CUT_OFF if cut else "the JSON stops before it is complete"
    if calls or not isinstance(tail.value, dict):
        return _replace(base, before=before, problem=problem)
    fields = cast("dict[str, Any]", tail.value)
    if values and (tail.all_values or cut):
        return _replace(base, before=before, fields=fields, answer=values[0].answer, repaired=True)
    # An answer is shown, not executed: a part of it is better than nothing.
    final = has_final_type(fields) or is_final_name(tool_name_in(fields, tools), tools)
    if cut and final and tail.partial and tail.partial[0] in ANSWER_KEYS:
        return _replace(base, before=before, fields=fields, answer=tail.partial[1], repaired=True)
    return _replace(base, before=before, problem=problem)


def _python(base: Reading, tools: Tools, cut: bool) -> Reading | None:
    """A reply that is only `[f(a=1)]` or `f(a=1)` with existing tools."""
    text = unfenced(base.text)
    if not _PYTHON_CALL.match(text):
        return None
    try:
        parsed = LenientParser(text).parse_calls(0)
    except UnreadableJson:
        return None
    calls = python_calls(parsed.value, tools, parsed.completeness(cut))
    if text[parsed.end :].strip() or not calls or any(call.name not in tools for call in calls):
        return None
    problem = "" if any(not call.problem for call in calls) else calls[0].problem
    usable = () if problem else doubted(calls, parsed.repair)
    return _replace(base, calls=usable, problem=problem, only_json=True, repaired=not parsed.closed)


def _prose(text: str) -> str:
    """The text before an action, without a label or fence that introduces the action."""
    text = text.strip()
    tail = max(0, len(text) - 40)
    introduction = r"(?:\*{0,2}(?:Action|Thought)\s*:\*{0,2}\s*)?(?:```\s*\w*)?\Z"
    return (text[:tail] + re.sub(introduction, "", text[tail:])).strip()


def read_arguments(text: str, name: str, tools: Tools, *, cut: bool) -> ParsedCall:
    """A call from its name and the text of its arguments. Incomplete arguments are a problem, never a guess."""
    encoded = encodable(text)
    call = _read_arguments(encoded.strip(), name, tools, cut)
    return call if encoded is text else doubted([call], NOT_UNICODE)[0]


def _read_arguments(plain: str, name: str, tools: Tools, cut: bool) -> ParsedCall:
    if not plain:
        return ParsedCall(name, {}, CUT_OFF if cut else "")
    value = strict(plain)
    if isinstance(value, dict):
        args, problem = arguments(cast("Any", value), tools.get(name))
        return ParsedCall(name, args, problem)
    if value is not None or plain == "null":
        return make_call(name, value, tools)
    scanned = scan(plain)
    given = [item for item in scanned.values if item.value]
    parsed = given[0] if given else scanned.values[0] if scanned.values else scanned.tail
    if plain[0] in "{[" and min((start for start, _ in scanned.spans()), default=-1) != 0:
        parsed = None  # what begins at the first bracket has no end: values inside it are not the arguments
    if parsed is not None and not scanned.broken:
        complete = parsed.completeness(cut).covers(parsed.value)
        around = not _is_only_json(without_end_tokens(plain), scanned.spans())
        doubt = parsed.repair or (SEVERAL_VALUES if len(given) + (scanned.tail is not None) > 1 else "")
        doubt = doubt or (TEXT_AROUND if around else "")
        call = make_call(name, parsed.value, tools, complete=complete, repaired=doubt)
        return ParsedCall(name, {}, CUT_OFF) if call.problem and cut else call
    repaired = repair(plain, scanned.broken[0][0]) if scanned.broken and not cut else None
    if isinstance(repaired, dict):
        return make_call(name, repaired, tools, repaired=_broken(plain, scanned))
    return ParsedCall(name, {}, CUT_OFF if cut else "the arguments are not valid JSON")


def names_existing_tool(text: str, tools: Tools) -> bool:
    """Return whether unreadable JSON was meant as a call of one of the tools."""
    names = (clean_name(match.group(1), tools) for match in TOOL_NAME_FIELD.finditer(text, 0, 4000))
    return any(name in tools for name in names) or (
        (match := _PYTHON_CALL.match(text)) is not None and match.group(1) in tools
    )
