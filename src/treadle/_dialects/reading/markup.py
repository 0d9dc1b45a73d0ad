# ruff: noqa: RUF001 - models write these characters
"""Finds tool calls that open models write into their text in their own markup.

Recognised are the tokens of Hermes and Qwen, Llama, Mistral, Granite, DeepSeek, Kimi, GLM, Step, MiniMax, Hunyuan,
Gemma, Phi, LFM, Apertus, OLMo and gpt-oss, and the XML that several of them share. A marker inside code or followed
by prose is not a call.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from treadle._dialects.describe import encode_json
from treadle._dialects.reading.lenient import LenientParser
from treadle._dialects.reading.parsed import Parsed, UnreadableJson
from treadle._dialects.reading.placement import (
    IN_CODE_BLOCK,
    IN_QUOTES,
    TEXT_BETWEEN,
    Quotations,
    doubt_about,
    is_closing,
)
from treadle._dialects.reading.shapes import (
    INCOMPLETE_ARGUMENTS,
    ParsedCall,
    Tools,
    calls_in,
    clean_name,
    doubted,
    make_call,
    python_calls,
)

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
      | <\|(?:tool_call|python_tag|tool_call_start|tools_prefix
              |tool_calls_begin|tool_calls_section_begin|tool_call_begin|plugin)\|?>
      | <\|DSML\|tool_calls>
      | \[TOOL_CALLS\]
      | \bfunctools(?=\s*\[)
    )
    """,
    re.VERBOSE,
)
_LIKELY_OPENING = re.compile(r"<[|\w]|\[TOOL_CALLS\]|\bfunctools|(?<=_begin\|>)function")
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
_SIGNS = ("<", "[TOOL_CALLS]", "functools")
"""A text without any of these has no marker."""
_FENCE = re.compile(r"\s*```\w*\s*")


TEXT_IN_CALL = "other text stands between its parameters, where it may be a part of one of them"
PARAMETER_NOT_CLOSED = "the closing tag of a parameter is missing"


class Markup(msgspec.Struct, frozen=True):
    """The calls in a text's markup."""

    start: int
    calls: tuple[ParsedCall, ...]
    broken: bool
    """Something began like a call and could not be read."""
    before: str
    """The text before the first marker."""
    end: int
    """Where the last call ends."""


def with_ascii_tokens(text: str) -> str:
    """The text with full-width token brackets replaced by ASCII ones of the same length, for one set of patterns."""
    if "｜" not in text:
        return text
    return _WIDE_TOKEN.sub(lambda match: match.group().replace("｜", "|").replace("▁", "_"), text)


def _opening(text: str, start: int, end: int | None = None) -> re.Match[str] | None:
    """The next marker. Trying likely positions only is several times faster than a search with so many alternatives."""
    for candidate in _LIKELY_OPENING.finditer(text, start, len(text) if end is None else end):
        if match := _OPENINGS.match(text, candidate.start()):
            return match
    return None


def read_markup(text: str, tools: Tools, *, cut: bool) -> Markup | None:
    """All calls in markup, or None when the text has no marker. `cut`: the reply ended at a length limit."""
    text = with_ascii_tokens(text)
    if not any(sign in text for sign in _SIGNS) or _opening(text, 0) is None:
        return None
    reader = _Reader(text, tools, cut)
    quotations = Quotations(text)
    calls: list[ParsedCall] = []
    start = wrapper = shown = -1
    broken = talk_between = False
    position = last = 0
    for _ in range(MAX_MARKERS):
        match = None if reader.parser.exhausted else _opening(text, position)
        if match is None:
            break
        position = match.end()
        inside_shown = shown >= 0 and not text[shown : match.start()].strip()
        if start < 0 and wrapper < 0 and (inside_shown or quotations.contains(match.start())):
            shown = match.end()
            continue
        marked, end = reader.read(match)
        # A marker in running prose is talk about markup; at the head of the reply, or cut off, it was meant.
        meant = bool(marked) or (
            marked is None
            and (
                not text[: match.start()].strip()
                or text[position : position + 80].lstrip()[:1] in ("{", "[")
                or (cut and end >= len(text))
            )
        )
        broken = broken or (marked is None and meant)
        if start < 0 and meant:
            start = match.start() if wrapper < 0 else wrapper
        if marked is not None:
            wrapper = match.start() if wrapper < 0 else wrapper
            talk_between = talk_between or (bool(calls) and not is_closing(text, last, match.start()))
            calls += marked
            last = position = max(position, end)
    if start < 0 <= wrapper:  # nothing but wrappers
        start, broken = wrapper, True
    if start < 0:
        return None
    doubt = doubt_about(text, start, last) if calls else ""
    if doubt is None:
        return None
    if not doubt and calls:
        doubt = (
            TEXT_BETWEEN if talk_between
            else IN_CODE_BLOCK if quotations.fenced(start)
            else IN_QUOTES if quotations.left_open(start)
            else ""
        )  # fmt: skip
    return Markup(start, doubted(calls, doubt), broken, text[:start].strip(), last)


class _Reader:
    """Reads what follows a marker: the calls and where they end.

    The list is empty for a marker that only wraps others; it is None when what follows is unreadable.
    """

    def __init__(self, text: str, tools: Tools, cut: bool) -> None:
        self._text = text
        self._tools = tools
        self._cut = cut
        self.parser = LenientParser(text)

    def read(self, match: re.Match[str]) -> tuple[list[ParsedCall] | None, int]:
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

    def _slot(self, name: str, position: int) -> tuple[list[ParsedCall] | None, int]:
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
        return [self._call(name, parsed)], parsed.end

    def _block(self, position: int) -> tuple[list[ParsedCall] | None, int]:
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

    def _values(self, position: int) -> tuple[list[ParsedCall] | None, int]:
        """JSON calls, one or several, or a list of Python calls."""
        calls: list[ParsedCall] = []
        end = position
        while self._text[position : position + 1] in ("{", "["):
            parsed = self._json(position)
            if parsed is None:
                return self._python(position) if not calls else (calls, end)
            read = calls_in(parsed.value, self._tools, parsed.completeness(self._cut))
            if read is None:
                return (calls or None), parsed.end
            calls += doubted(read, parsed.repair)
            end = position = parsed.end
            while position < len(self._text) and self._text[position] in " \n\r\t;,":
                position += 1
        return calls, end

    def _python(self, position: int) -> tuple[list[ParsedCall] | None, int]:
        try:
            parsed = self.parser.parse_calls(position)
        except UnreadableJson as error:
            return None, error.position
        read = python_calls(parsed.value, self._tools, parsed.completeness(self._cut))
        return list(doubted(read, parsed.repair)) or None, parsed.end

    def _gemma(self, match: re.Match[str]) -> tuple[list[ParsedCall] | None, int]:
        end = self._text.find("<tool_call|>", match.end())
        body = self._text[match.end() : end if end >= 0 else len(self._text)]
        pieces = body.split(_GEMMA_QUOTE)
        if len(pieces) % 2 == 0:
            return [ParsedCall(match.group("name"), {}, INCOMPLETE_ARGUMENTS)], len(self._text)
        body = "".join(encode_json(piece) if index % 2 else piece for index, piece in enumerate(pieces))
        try:
            parsed = LenientParser(body).parse(0)
        except UnreadableJson:
            return None, match.end()
        call = self._call(match.group("name"), parsed)
        if not parsed.closed or not body[parsed.end :].strip():
            return [call], len(self._text) if end < 0 else end
        return list(doubted([call], TEXT_IN_CALL)), match.end() if end < 0 else end

    def _xml(self, name: str, position: int) -> tuple[list[ParsedCall] | None, int]:
        """Parameters in tags, or one JSON object; the closing tag must be there, or the call may lack arguments."""
        text = self._text
        name = clean_name(name, self._tools)
        inside = self._past_fence(position)
        stripped = inside + len(text[inside : inside + 200]) - len(text[inside : inside + 200].lstrip())
        if text[stripped : stripped + 1] == "{":
            return self._slot(name, stripped)
        args: dict[str, Any] = {}
        begin = position
        repeated, doubt = False, ""
        end = _XML_END.search(text, position)
        closing = _PARAM_END.search(text, position)
        while end and (param := _PARAM.search(text, position, end.start())):
            doubt = doubt or self._text_between(position, param.start())
            if closing and closing.start() < param.end():
                closing = _PARAM_END.search(text, param.end())
            stop, position = self._parameter_end(param, closing, end)
            if stop < 0:
                end = None
                break
            if stop == position:
                doubt = doubt or PARAMETER_NOT_CLOSED
            key = (param.group("key") or param.group("glm")).strip()
            repeated = repeated or key in args
            args[key] = _parameter(text[param.end() : stop])
            if end.start() < position:  # the tag was part of a value
                end = _XML_END.search(text, position)
        if end is None or text.count("<arg_key>", begin, end.start()) > len(args):
            return [ParsedCall(name, {}, INCOMPLETE_ARGUMENTS)], end.end() if end else len(text)
        if repeated:
            return [ParsedCall(name, {}, "an argument is given twice")], end.end()
        doubt = doubt or self._text_between(position, end.start())
        return [make_call(name, args, self._tools, repaired=doubt)], end.end()

    def _text_between(self, start: int, end: int) -> str:
        """The doubt that text outside the parameters of a call raises; empty when there is none."""
        return TEXT_IN_CALL if self._text[start:end].replace("\\n", "").strip() else ""

    def _parameter_end(
        self, param: re.Match[str], closing: re.Match[str] | None, end: re.Match[str]
    ) -> tuple[int, int]:
        """Where a parameter's text ends and reading continues: its closing tag, or the next tag if that is missing."""
        limit = closing.start() if closing else end.start()
        following = None if param.group("glm") else _PARAM.search(self._text, param.end(), limit)
        if following:
            return following.start(), following.start()
        missing = closing is None or (
            end.start() < closing.start() and _opening(self._text, end.end(), closing.start())
        )
        if missing:
            return (-1, -1) if self._cut else (end.start(), end.start())
        assert closing is not None
        return closing.span()

    def _json(self, position: int) -> Parsed | None:
        try:
            return self.parser.parse(position)
        except UnreadableJson:
            return None

    def _call(self, name: str, parsed: Parsed) -> ParsedCall:
        complete = parsed.completeness(self._cut).covers(parsed.value)
        return make_call(name, parsed.value, self._tools, complete=complete, repaired=parsed.repair)


def _parameter(text: str) -> str:
    """A parameter's text without the line breaks around it, or the content of its CDATA section."""
    cdata = re.fullmatch(r"\s*<!\[CDATA\[(.*)\]\]>\s*", text, re.DOTALL)
    if cdata:
        return cdata.group(1)
    return re.sub(r"\A\r?\n|\r?\n\Z", "", text)
