# ruff: noqa: RUF001 - models write these characters
"""Tool calls in the markup of open models, found in plain text.

Known are the tokens of Hermes and Qwen, Llama, Mistral, Granite, DeepSeek, Kimi, GLM, Step, MiniMax, Hunyuan, Gemma, Phi,
LFM, Apertus, OLMo and gpt-oss, and the XML that several of them share. A marker inside code or followed by prose is no call.
"""

from __future__ import annotations

import re
from bisect import bisect
from typing import Any

import msgspec

from treadle._dialects.reading.lenient import Lenient, Parsed, Unreadable, Whole, whole_in
from treadle._dialects.reading.shapes import NOT_WHOLE, Found, Tools, calls_in, clean_name, make_call, python_calls

MAX_MARKERS = 256
_NAME = r"[^\W\d][\w.:/@-]{0,127}"
_OPENINGS = re.compile(
    r"""
    (?P<xml><\|?(?:[\w]+[:|])?(?:function|invoke)[\sĠ]*(?:=\s*|name\s*=\s*)["']?(?P<xml_name>[^"'<>\n]{1,128})["']?[^<>\n]{0,40}>)
  | (?P<slot><\|tool_call_begin\|>\s*(?:function<\|tool_sep\|>\s*)?(?P<slot_name>[^\s<>]{1,128})\s*
        (?:<\|tool_call_argument_begin\|>|<\|tool_sep\|>|(?=```|\{)))
  | (?P<slot_json>(?<=<\|tool_calls_begin\|>)function<\|tool_sep\|>\s*(?P<slot_json_name>[^\s<>]{1,128}))
  | (?P<channel><\|channel\|>\w+\s+to=(?P<channel_name>[^\s<>]{1,128})[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>)
  | (?P<block>
        <(?:[\w]+:)?(?:tool_calls?|tools|tool_code|tool_use|function_calls?|\w+_function_call)>
      | <\|(?:tool_call|python_tag|tool_call_start|tools_prefix|tool_calls_begin|tool_calls_section_begin|tool_call_begin|plugin)\|?>
      | <\|DSML\|tool_calls>
      | \[TOOL_CALLS\]
      | \bfunctools(?=\s*\[)
    )
    """,
    re.VERBOSE,
)
_MAYBE = re.compile(r"<[|\w]|\[TOOL_CALLS\]|\bfunctools|(?<=_begin\|>)function")
_WIDE_TOKEN = re.compile(r"<｜[^｜<>\n]{1,40}｜[^<>｜\n]{0,80}>|</｜DSML｜[^<>\n]{0,80}>")
_PARAM = re.compile(
    r"""<\|?(?:[\w]+[:|])?(?:parameter|param|argument|arg)[\sĠ]*(?:=\s*|name\s*=\s*)["']?(?P<key>[^"'<>\n]{1,128})["']?[^<>\n]{0,40}>"""
    r"""|<arg_key>(?P<glm>[^<]{1,128})</arg_key>\s*(?:\\n\s*)?<arg_value>"""
)
_PARAM_END = re.compile(r"</\|?(?:[\w]+[:|])?(?:parameter|param|argument|arg|arg_value)>")
_XML_END = re.compile(r"</\|?(?:[\w]+[:|])?(?:function|invoke|tool_calls?|function_calls?)>|<\|tool_call_end\|>")
_GEMMA = re.compile(rf"call:(?P<name>{_NAME})(?=\{{)")
_GEMMA_QUOTE = '<|"|>'
_BARE = re.compile(
    rf"(?P<name>{_NAME})\s*(?:\\n\s*)?(?:<tool_sep>\s*)?(?=(?P<next><arg_key>|</tool_call>|\[(?:ARGS|CALL_ID)\]|\{{|\(|$))",
    re.DOTALL,
)
_MISTRAL = re.compile(r"(?:\[CALL_ID\][\w-]{1,64})?(?:\[ARGS\])?\s*(?=\{)")
_FENCE_LINE = re.compile(r"^[ \t]*```", re.MULTILINE)
_FENCE = re.compile(r"\s*```\w*\s*")


class Markup(msgspec.Struct, frozen=True):
    """What was found: the calls, the text before them, and whether something began like a call and could not be read."""

    start: int
    calls: tuple[Found, ...]
    broken: bool
    before: str


def plain_tokens(text: str) -> str:
    """Full-width token brackets written plainly, so that one set of patterns reads both. Lengths stay the same."""
    if "｜" not in text:
        return text
    return _WIDE_TOKEN.sub(lambda match: match.group().replace("｜", "|").replace("▁", "_"), text)


class Code:
    """The code a text only shows: inline, in a fence that stands amid prose, in a quotation."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._fences = [match.start() for match in _FENCE_LINE.finditer(text)]

    def holds(self, position: int) -> bool:
        text = self._text
        line = text.rfind("\n", 0, position) + 1
        if text[position - 1 : position] in ('"', "'", "“", "‘") or text[line : line + 1] == ">":
            return True
        if text.count("`", line, position) % 2 and "```" not in text[line:position]:
            return True
        before = bisect(self._fences, position)
        return before % 2 == 1 and bool(text[: self._fences[before - 1]].strip())


def _opening(text: str, start: int, end: int | None = None) -> re.Match[str] | None:
    """The next marker. Looking at likely places only is several times faster than a search with so many alternatives."""
    for place in _MAYBE.finditer(text, start, len(text) if end is None else end):
        if match := _OPENINGS.match(text, place.start()):
            return match
    return None


def read_markup(text: str, tools: Tools, *, cut: bool) -> Markup | None:
    """All calls in markup, or None when the text holds no marker. `cut`: the reply ended by its length."""
    text = plain_tokens(text)
    if not any(sign in text for sign in ("<", "[TOOL_CALLS]", "functools")) or _opening(text, 0) is None:
        return None
    reader = _Reader(text, tools, cut)
    code = Code(text)
    calls: list[Found] = []
    start = wrapper = -1
    broken = False
    position = 0
    for _ in range(MAX_MARKERS):
        match = None if reader.exhausted else _opening(text, position)
        if match is None:
            break
        position = match.end()
        if start < 0 and wrapper < 0 and code.holds(match.start()):
            continue
        found, end = reader.read(match)
        # A marker in running prose is talk about markup; at the head of the reply, or cut off, it was meant.
        meant = bool(found) or (
            found is None
            and (not text[: match.start()].strip() or reader.begun(position) or (cut and end >= len(text)))
        )
        broken = broken or (found is None and meant)
        if start < 0 and meant:
            start = match.start() if wrapper < 0 else wrapper
        if found is not None:
            wrapper = match.start() if wrapper < 0 else wrapper
            calls += found
            position = max(position, end)
    if start < 0 <= wrapper:  # nothing but wrappers
        start, broken = wrapper, True
    return Markup(start, tuple(calls), broken, text[:start].strip()) if start >= 0 else None


class _Reader:
    """Reads what follows a marker: the calls (none for a marker that only wraps others; None if unreadable) and where they end."""

    def __init__(self, text: str, tools: Tools, cut: bool) -> None:
        self._text = text
        self._tools = tools
        self._cut = cut
        self._lenient = Lenient(text)

    @property
    def exhausted(self) -> bool:
        return self._lenient.exhausted

    def begun(self, position: int) -> bool:
        """Whether a call was begun there: something in brackets or tags follows."""
        return self._text[position : position + 80].lstrip()[:1] in ("{", "[")

    def read(self, match: re.Match[str]) -> tuple[list[Found] | None, int]:
        if match.group("xml"):
            name = match.group("xml_name").strip()
            return self._xml(name, match.end()) if re.fullmatch(_NAME, name) else (None, match.end())
        for kind in ("slot", "slot_json", "channel"):
            if match.group(kind):
                return self._slot(match.group(f"{kind}_name"), match.end())
        return self._block(self._past_fence(match.end()))

    def _past_fence(self, position: int) -> int:
        fence = _FENCE.match(self._text, position)
        return fence.end() if fence else position

    def _slot(self, name: str, position: int) -> tuple[list[Found] | None, int]:
        """A name, then its arguments as JSON."""
        name = clean_name(re.sub(r":\d+$", "", name), self._tools)
        position = self._past_fence(position)
        while self._text[position : position + 1].isspace():
            position += 1
        if not re.fullmatch(_NAME, name) or self._text[position : position + 1] != "{":
            return None, position
        parsed = self._json(position)
        if parsed is None:
            return None, position
        return [
            make_call(
                name, parsed.value, self._tools, done=self._whole(parsed)(parsed.value), repaired=not parsed.closed
            )
        ], parsed.end

    def _block(self, position: int) -> tuple[list[Found] | None, int]:
        text = self._text
        while text[position : position + 1].isspace():
            position += 1
        if _OPENINGS.match(text, position):
            return [], position
        if gemma := _GEMMA.match(text, position):
            return self._gemma(gemma)
        if text[position : position + 1] in ("{", "["):
            return self._values(position)
        bare = _BARE.match(text, position)
        if bare is None:
            return None, position
        following = bare.group("next")
        if following == "(":
            return self._python(position)
        if following == "{" or following.startswith("["):
            arguments = _MISTRAL.match(text, bare.end())
            return self._slot(bare.group("name"), arguments.end() if arguments else bare.end())
        return self._xml(bare.group("name"), bare.end())

    def _values(self, position: int) -> tuple[list[Found] | None, int]:
        """JSON calls, one or several, or a list of Python calls."""
        calls: list[Found] = []
        end = position
        while self._text[position : position + 1] in ("{", "["):
            parsed = self._json(position)
            if parsed is None:
                return self._python(position) if not calls else (calls, end)
            found = calls_in(parsed.value, self._tools, self._whole(parsed))
            if found is None:
                return (calls or None), parsed.end
            calls += [msgspec.structs.replace(call, repaired=call.repaired or not parsed.closed) for call in found]
            end = position = parsed.end
            while self._text[position : position + 1] in (" ", "\n", "\r", "\t", ";", ",") and position < len(
                self._text
            ):
                position += 1
        return calls, end

    def _python(self, position: int) -> tuple[list[Found] | None, int]:
        try:
            parsed = self._lenient.parse_calls(position)
        except Unreadable as error:
            return None, error.position
        return python_calls(parsed.value, self._tools, self._whole(parsed)) or None, parsed.end

    def _gemma(self, match: re.Match[str]) -> tuple[list[Found] | None, int]:
        end = self._text.find("<tool_call|>", match.end())
        body = self._text[match.end() : end if end >= 0 else len(self._text)]
        pieces = body.split(_GEMMA_QUOTE)
        if len(pieces) % 2 == 0:
            return [Found(match.group("name"), {}, NOT_WHOLE)], len(self._text)
        body = "".join(_encode(piece) if index % 2 else piece for index, piece in enumerate(pieces))
        try:
            parsed = Lenient(body).parse(0)
        except Unreadable:
            return None, match.end()
        call = make_call(
            match.group("name"),
            parsed.value,
            self._tools,
            done=self._whole(parsed)(parsed.value),
            repaired=not parsed.closed,
        )
        return [call], match.end() if end < 0 else end

    def _xml(self, name: str, position: int) -> tuple[list[Found] | None, int]:
        """Parameters in tags, or one JSON object; the closing tag must be there, or the call may lack arguments."""
        text = self._text
        name = clean_name(name, self._tools)
        inside = self._past_fence(position)
        stripped = inside + len(text[inside : inside + 200]) - len(text[inside : inside + 200].lstrip())
        if text[stripped : stripped + 1] == "{":
            return self._slot(name, stripped)
        args: dict[str, Any] = {}
        begin = position
        twice = False
        end = _XML_END.search(text, position)
        closing = _PARAM_END.search(text, position)
        while end and (param := _PARAM.search(text, position, end.start())):
            if closing and closing.start() < param.end():
                closing = _PARAM_END.search(text, param.end())
            stop, position = self._parameter_end(param, closing, end)
            if stop < 0:
                end = None
                break
            key = (param.group("key") or param.group("glm")).strip()
            twice = twice or key in args
            args[key] = _parameter(text[param.end() : stop])
            if end.start() < position:  # the tag was part of a value
                end = _XML_END.search(text, position)
        if end is None or text.count("<arg_key>", begin, end.start()) > len(args):
            return [Found(name, {}, NOT_WHOLE)], end.end() if end else len(text)
        return [
            Found(name, {}, "an argument is given twice") if twice else make_call(name, args, self._tools)
        ], end.end()

    def _parameter_end(
        self, param: re.Match[str], closing: re.Match[str] | None, end: re.Match[str]
    ) -> tuple[int, int]:
        """Where a parameter's text stops and where to go on: at its closing tag, or, if that was forgotten, at the next tag."""
        limit = closing.start() if closing else end.start()
        following = None if param.group("glm") else _PARAM.search(self._text, param.end(), limit)
        if following:
            return following.start(), following.start()
        forgotten = closing is None or (
            end.start() < closing.start() and _opening(self._text, end.end(), closing.start())
        )
        if forgotten:
            return (-1, -1) if self._cut else (end.start(), end.start())
        assert closing is not None
        return closing.span()

    def _json(self, position: int) -> Parsed | None:
        try:
            return self._lenient.parse(position)
        except Unreadable:
            return None

    def _whole(self, parsed: Parsed) -> Whole:
        return whole_in(parsed, self._cut)


def _encode(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _parameter(text: str) -> str:
    """A parameter's text: without the line breaks that set it off, or out of its CDATA."""
    cdata = re.fullmatch(r"\s*<!\[CDATA\[(.*)\]\]>\s*", text, re.DOTALL)
    if cdata:
        return cdata.group(1)
    return re.sub(r"\A\r?\n|\r?\n\Z", "", text)
