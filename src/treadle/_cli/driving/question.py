"""One question to the user about a call: which lines answer it, and which change its arguments first.

Only a whole answer allows a call. A line that merely begins with such a word ("a different file, please") does not: it
may be a message that was meant for the run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._cli.display.base import APPROVAL_WORDS, approval_text
from treadle._cli.display.text import plain_json
from treadle._engine.core.decisions import Answer
from treadle._tools.base import Tool
from treadle._tools.validation import problems_with
from treadle._types.messages import ToolCall

WORDS = "yes, no, always (this tool, for this run), edit (the arguments) or later"
_WORDS_FOR_ALL = "yes, no, each (one after the other) or later"
NOTHING: Mapping[str, Any] = {}
_ALLOW = re.compile(r"(y|yes|a|always)(?:\s*:(.*))?", re.IGNORECASE | re.DOTALL)
_REFUSE = re.compile(r"(?:n|no)(?:[\s:,](.*))?", re.IGNORECASE | re.DOTALL)


class Decided(Struct, frozen=True):
    """None leaves the call open: the run pauses."""

    answer: Answer | None


class AskAgain(Struct, frozen=True):
    """Not a decision: what to say about it, and the line the user continues with."""

    text: str
    line: str = ""


def decided(text: str, changed: Mapping[str, Any] = NOTHING, *, always: bool = True) -> Decided | None:
    """Return what a line decides, if anything. Where `always` is no answer, the word decides nothing."""
    if (allowed := _ALLOW.fullmatch(text)) and (always or allowed[1].lower() in ("y", "yes")):
        for_run = allowed[1].lower() in ("a", "always")
        return Decided({"allow": True, "always": for_run, "note": (allowed[2] or "").strip(), **changed})
    if refused := _REFUSE.fullmatch(text):
        return Decided({"allow": False, "note": (refused[1] or "").strip()})
    return Decided(None) if text.lower() in ("l", "later", "/quit") else None  # Ctrl-D is read as /quit


class Questions:
    """One question about several calls of a reply."""

    words = "allow all of these? [y]es, [n]o [why], [e]ach by itself, [l]ater; then Enter:"

    def __init__(self, asked: Sequence[tuple[ToolCall, str]]) -> None:
        self.text = "\n".join(approval_text(call, why) for call, why in asked)

    def read(self, line: str) -> Decided | AskAgain:
        """Read a line that was typed after the question; the answer is that to each of the calls."""
        text = line.strip()
        if text.lower() in ("e", "each"):
            return Decided({})
        reading = decided(text, always=False)
        return reading or AskAgain(f"not an answer, nothing was decided; type one of: {_WORDS_FOR_ALL}")


class Question:
    words = APPROVAL_WORDS

    def __init__(self, call: ToolCall, tool: Tool | None = None, why: str = "") -> None:
        self.call = call
        """With the arguments as they stand now."""
        self.why = why
        self._tool = tool
        self._asked = call
        self._editing = False

    def read(self, line: str) -> Decided | AskAgain:
        """Read a line that was typed after the question."""
        text = line.strip()
        if self._editing:
            return self._edited(text)
        if reading := decided(text, {"args": self.call.args} if self.call is not self._asked else {}):
            return reading
        if text.lower() in ("e", "edit"):
            self._editing = True
            return AskAgain(
                "change the arguments, then Enter (Ctrl-U and Enter: leave them)", plain_json(self.call.args)
            )
        return AskAgain(f"not an answer, nothing was decided; type one of: {WORDS}")

    @property
    def text(self) -> str:
        return approval_text(self.call, self.why)

    def _edited(self, text: str) -> AskAgain:
        if text in ("", "/quit"):
            self._editing = False
            return AskAgain("the arguments were left as they are")
        try:
            args: Any = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            return AskAgain(f"not JSON: {error}", text)
        if not isinstance(args, dict):
            return AskAgain("the arguments are a JSON object, such as " + plain_json(self._asked.args), text)
        named = cast("dict[str, Any]", args)
        if self._tool is not None and (problems := problems_with(self._tool.parameters, named)):
            return AskAgain("; ".join(problems), text)
        self._editing = False
        self.call = msgspec.structs.replace(self.call, args=named, raw="")
        return AskAgain("the arguments are changed")
