# ruff: noqa: RUF001 - models write these characters
"""Where in a reply a call may stand.

A call is certain where the reply is nothing but calls after optional prose: at the start of a line, outside quotes and
code blocks, with nothing behind it but closing tags. Markup or JSON in the middle of a sentence, in quotes or in inline
code is talk about a call and never one. What real models also write lies between the two (a call right behind its
introduction, or followed by more lines): it is read with a doubt, and the engine runs only tools without effects on a
doubt.
"""

from __future__ import annotations

import re
from bisect import bisect
from itertools import islice

IN_A_SENTENCE = "it stands behind other text in the same line, where it may be a quotation: begin a new line for it"
TEXT_FOLLOWS = "other text follows it, so it may be an example: write nothing after a tool call"
TEXT_BETWEEN = "other text stands between the calls: write nothing between tool calls and nothing after them"
IN_CODE_BLOCK = "it stands in a code block, where it may be an example: write it without the block"
IN_SHOWN_MARKUP = "it stands in markup that may only be shown: write the call as you were told to"
IN_QUOTES = "a quotation that was opened before it is not closed, so it may be a part of it"

_QUOTES = frozenset("\"'“‘„«")
_FENCE_LINE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_CLOSING = re.compile(
    r"(?:\s|</[^<>\n]{1,80}>|<\|[^<>|\n]{1,80}\|>|<\w{1,40}\|>|\[/\w{1,40}\]|(?:```|~~~)(?!\w)|\\n|[;,])*"
)
"""What may stand behind a call: spaces, closing tags and tokens, the end of a code block."""
_SHOWN_IN = re.compile(
    r"<(/?)(?:pre|code|blockquote|q|samp|kbd|xmp|cite|details)\b[^<>\n]{0,80}>|<!--|-->", re.IGNORECASE
)
"""Tags of HTML around what is only shown."""
_CLOSING_TAG = re.compile(r"</([\w:.-]{1,40})\s*>")
_LEAD_IN = re.compile(r"<[^<>\n]{1,80}>|(?:```|~~~)[ \t]*[\w+-]*|\*{0,2}Action\s*:\s*\*{0,2}", re.IGNORECASE)
"""What may stand before a call in its line: tags, the beginning of a code block, a label."""


class Quotations:
    """The parts of a text that only show something: inline code, a code block amid prose, a quotation."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._fences = [match.start() for match in _FENCE_LINE.finditer(text)]
        self._tags = [(tag.start(), tag[1] != "/" and tag[0] != "-->") for tag in _SHOWN_IN.finditer(text)]

    def contains(self, position: int) -> bool:
        if self.quoted(position):
            return True
        text = self._text
        fences = bisect(self._fences, position)
        return fences % 2 == 1 and bool(text[: self._fences[fences - 1]].strip())

    def quoted(self, position: int) -> bool:
        """Directly behind a quote, in a quoted line, or in inline code."""
        text = self._text
        line = text.rfind("\n", 0, position) + 1
        if text[position - 1 : position] in _QUOTES or text[line:position].lstrip().startswith(">"):
            return True
        if self._in_html(position):
            return True
        return bool(text.count("`", line, position) % 2) and "```" not in text[line:position]

    def _in_html(self, position: int) -> bool:
        """Between tags of HTML that show what is in them; `<code>` and the like, left open before the position."""
        before = bisect(self._tags, position, key=lambda tag: tag[0])
        return before > 0 and self._tags[before - 1][1]

    def fenced(self, position: int) -> bool:
        return bisect(self._fences, position) % 2 == 1

    def left_open(self, position: int) -> bool:
        """Return whether a quotation in double quotes was opened before the position and not closed."""
        text = self._text
        return text.count('"', 0, position) % 2 == 1 or text.count("“", 0, position) > text.count("”", 0, position)


def is_closing(text: str, start: int, end: int) -> bool:
    """Return whether nothing but closing tags and spaces stands between two positions."""
    match = _CLOSING.match(text, start, end)
    return match is not None and match.end() == end


def stands_behind_prose(text: str, position: int) -> bool:
    """Return whether prose stands before the position in its line. An indented block after prose is shown, not
    meant."""
    line = text.rfind("\n", 0, position) + 1
    prefix = text[line:position]
    if prefix.strip():
        return bool(_LEAD_IN.sub("", prefix).replace("**", "").strip(" \t`"))
    return len(prefix.expandtabs(4)) >= 4 and bool(text[:line].strip())


def doubt_about(text: str, start: int, end: int) -> str | None:
    """Why a call between these positions may not be meant as one: empty if it certainly is, None if it is only shown.

    `text[:start]` may hold prose; calls before this one count as such, so that only the first is asked about.
    """
    behind = _CLOSING.match(text, end)
    rest = behind.end() if behind else end
    follows = rest < len(text)
    inline = stands_behind_prose(text, start)
    before = bool(_LEAD_IN.sub("", text[:start]).strip())
    same_line = follows and "\n" not in text[end:rest]
    if follows and (same_line or before):
        return None
    if follows:
        return TEXT_FOLLOWS
    if inline:
        return IN_A_SENTENCE
    return IN_SHOWN_MARKUP if _enclosed(text, start, end, rest) else ""


def _enclosed(text: str, start: int, end: int, rest: int) -> bool:
    """Return whether a tag that closes behind the call was opened before it: `<mail>`, the call, `</mail>`."""
    if "</" not in text[end:rest]:
        return False
    closed = {tag[1] for tag in islice(_CLOSING_TAG.finditer(text, end, rest), 20)}
    return any(re.search(rf"<{re.escape(name)}[\s>]", text[:start]) for name in closed)
