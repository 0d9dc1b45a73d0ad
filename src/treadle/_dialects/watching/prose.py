# ruff: noqa: RUF001 - models write these characters
"""Watches replies in plain words: an answer, or a thought and then an action that is not for the reader."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Literal, NamedTuple

from treadle._dialects.watching.base import Piece

_THINKING_TAGS = ("think", "thinking", "thought", "reasoning", "seed:think")
_THINKING = (
    *((f"<{tag}>", f"</{tag}>") for tag in _THINKING_TAGS),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
)
_CALL_OPENINGS = (
    "<|", "<｜", "</s>", "<tool", "</tool", "<function", "<invoke", "<minimax:", "<longcat_", "<arg_key>",
    "[TOOL_CALLS]",
)  # fmt: skip
"""What models write before a call, and what ends a turn: from there on nothing is shown until the reply is read."""
_MARKERS = ("<__final_answer__>", "<final_answer>")
_CLOSINGS = ("</__final_answer__>", "</final_answer>")
_PYTHON = ("", "python", "py", "python3", "tool_code", "code")
_BEFORE_LABEL = r"[ \t>*#`]{0,80}"
"""Bounded, as what may become a label is held back and looked at again with each piece."""
_SPACE = r"[ \t*]{0,80}"


class Manner(NamedTuple):
    """What a dialect's replies in plain words may hold beside the words themselves."""

    marked: bool = False
    """The answer may stand between markers or after `Final Answer:`, and an action begins with `Action:`."""
    fenced: bool = False
    """Code in a fence is an action."""


class Prose:
    """Gives the words before an action, and the answer. Text that may be the start of something else is held back."""

    def __init__(self, manner: Manner, *, tools: bool) -> None:
        self._manner = manner
        self._tools = tools
        self._state: Literal["start", "thinking", "prose", "fence", "label", "marked", "quiet"] = "start"
        self._held: str = ""
        self._line_start = True
        """Whether `_held` begins a line."""
        self._close: str = ""
        self.acts = False
        """Whether there is something other than words for a person: an action, or what looks like one."""
        self._steps: dict[str, Callable[[list[Piece]], None]] = {
            "start": self._start, "thinking": self._thinking, "prose": self._prose, "fence": self._fence,
            "label": self._label, "marked": self._marked,
        }  # fmt: skip

    def feed(self, text: str) -> list[Piece]:
        if self._state == "quiet":
            return []
        self._held += text
        pieces: list[Piece] = []
        while True:
            before = self._state
            self._steps[before](pieces)
            if self._state in (before, "quiet"):
                return pieces

    # ---- the states

    def _start(self, pieces: list[Piece]) -> None:
        head = self._held.lstrip()
        self._held = head
        if not head:
            return
        if head[0] in "<[◁":
            lowered = head.lower()
            for opening, closing in _THINKING:
                if lowered.startswith(opening.lower()):
                    self._held, self._close, self._state = head[len(opening) :], closing, "thinking"
                    return
                if opening.lower().startswith(lowered):
                    return
        if self._tools:
            if head[0] in "{[":
                self._state, self.acts = "quiet", True  # perhaps a call that is written as text
                return
            if "```".startswith(head[:3]):
                newline = head.find("\n")
                if newline < 0:
                    return
                if head[3:newline].strip().lower() in ("", "json", "tool_call", "tool_code", "xml"):
                    self._state, self.acts = "quiet", True
                    return
        if self._manner.marked:
            label = _thought_label().match(head)
            if label is None:
                return
            self._held = head[label.end() :]
            self._line_start = label.end() == 0
        self._state = "prose"

    def _thinking(self, pieces: list[Piece]) -> None:
        end = self._held.lower().find(self._close.lower())
        if end >= 0:
            shown, self._held = self._held[:end], self._held[end + len(self._close) :]
            self._state = "start"
        else:
            shown, self._held = _split(self._held, (self._close,))
        if shown:
            pieces.append(Piece(shown, answer=False))

    def _prose(self, pieces: list[Piece]) -> None:
        held = self._held if self._line_start else "\0" + self._held
        stop = _stops(self._manner, self._tools).search(held)
        if stop is not None:
            kind = stop.lastgroup
            if kind == "fence" and stop["language"].lower() not in _PYTHON:
                self._say(pieces, held[: stop.end()].lstrip("\0"))
                self._held, self._close, self._state = held[stop.end() :], stop["bar"], "fence"
                return
            shown = held[: stop.start()].lstrip("\0")
            self._held = held[stop.end() :]
            self._say(pieces, shown.rstrip())
            self._state = "label" if kind == "label" else "marked" if kind == "marker" else "quiet"
            self.acts = self._state == "quiet"
            if kind in ("label", "marker"):
                pieces.append(Piece("", provisional=kind == "label", begins=True))
            return
        cut = _safe_end(held, self._manner, self._tools)
        shown, self._held = held[:cut].lstrip("\0"), held[cut:].lstrip("\0")
        if cut:
            self._line_start = held[cut - 1] == "\n" if shown else self._line_start
        self._say(pieces, shown)

    def _fence(self, pieces: list[Piece]) -> None:
        """Inside a block of something else than an action; `_held` begins a line."""
        while (end := self._held.find("\n")) >= 0:
            line, self._held = self._held[: end + 1], self._held[end + 1 :]
            self._say(pieces, line)
            if line.strip() == self._close:
                self._state, self._line_start = "prose", True
                return

    def _label(self, pieces: list[Piece]) -> None:
        rest = self._held.lstrip(" \t*")
        if rest:
            self._held, self._state, self._line_start = rest, "prose", False

    def _marked(self, pieces: list[Piece]) -> None:
        lowered = self._held.lower()
        ends = [end for mark in _CLOSINGS if (end := lowered.find(mark)) >= 0]
        if ends:
            shown, self._state = self._held[: min(ends)], "quiet"
        else:
            shown, self._held = _split(self._held, _CLOSINGS)
        if shown:
            pieces.append(Piece(shown, provisional=False))

    def _say(self, pieces: list[Piece], text: str) -> None:
        if text:
            pieces.append(Piece(text))


@cache
def _thought_label() -> re.Pattern[str]:
    """Matches the label of a thought at the start, or nothing; fails while that is not known yet."""
    partial = "|".join("thought"[:size] for size in range(1, 7))
    return re.compile(
        rf"(?i){_SPACE}Thought{_SPACE}:{_SPACE}(?=[^ \t*])|(?!{_SPACE}(?:(?:{partial}|thought{_SPACE}:?{_SPACE})?\Z))"
    )


@cache
def _stops(manner: Manner, tools: bool) -> re.Pattern[str]:
    """Return what ends the words: an action, or the marker or label of an answer."""
    parts: list[str] = []
    if tools:
        parts.append("(?P<call>" + "|".join(re.escape(text) for text in _CALL_OPENINGS) + ")")
    else:
        parts.append(r"(?P<call><\||</s>)")
    if manner.marked:
        parts += [
            "(?P<marker>" + "|".join(_MARKERS) + ")",
            rf"(?P<action>^{_BEFORE_LABEL}Action\b{_SPACE}:)",
            rf"(?P<label>^{_SPACE}Final Answer{_SPACE}:)",
            rf"(?P<invented>^{_SPACE}(?:Observation\b[^\n]*:|<result\b))",
        ]
        if tools and not manner.fenced:  # JSON after words is no code
            parts.append(r"(?P<json>^[ \t]*(?:[{\[]|```[ \t]*(?:json|tool_call|tool_code)?[ \t]*\n))")
    if manner.fenced:
        parts.append(r"(?P<fence>^[ \t]*(?P<bar>`{3,10}|~{3,10})[ \t]*(?P<language>[\w+-]*)[^\n]*\n)")
        parts.append(r"(?P<tag><(?:code|python|execute)>)")
    return re.compile("|".join(parts), re.MULTILINE | re.IGNORECASE)


@cache
def _starts(manner: Manner, tools: bool) -> tuple[str, ...]:
    """Everything that is looked for anywhere in the text."""
    texts = (*(_CALL_OPENINGS if tools else ("<|", "</s>")), *(_MARKERS if manner.marked else ()))
    return (*texts, *(("<code>", "<python>", "<execute>") if manner.fenced else ()))


@cache
def _line_starts(manner: Manner) -> re.Pattern[str] | None:
    """A line so far that may become a label, a fence or JSON."""
    labels = ("action", "final answer", "observation") if manner.marked else ()
    parts = [
        "(?:" + "|".join(re.escape(label[:size]) for size in range(1, len(label) + 1)) + rf")(?:(?<=[nr]){_SPACE})?"
        for label in labels
    ]
    if manner.marked:
        parts.append(r"observation\b[^\n]{0,80}")
    if manner.fenced or manner.marked:
        parts.append(r"(?:`{1,10}|~{1,10})[^\n`]{0,60}")
    if not parts:
        return None
    return re.compile(rf"(?i)(?:^|(?<=\n)){_BEFORE_LABEL}(?:{'|'.join(parts)})?\Z")


def _safe_end(held: str, manner: Manner, tools: bool) -> int:
    """How much of the text cannot be the start of anything."""
    end = len(_split(held, _starts(manner, tools))[0])
    if (lines := _line_starts(manner)) is not None:
        line = held.rfind("\n") + 1
        if not held.startswith("\0", line) and lines.match(held, line):
            end = min(end, line)
    return end


def _split(text: str, marks: tuple[str, ...]) -> tuple[str, str]:
    """Return what can be shown now, and the tail that may be the start of a mark."""
    longest = max(map(len, marks)) - 1
    tail = text[-longest:].lower()
    for start in range(len(tail)):
        if any(mark.lower().startswith(tail[start:]) for mark in marks):
            cut = len(text) - (len(tail) - start)
            return text[:cut], text[cut:]
    return text, ""
