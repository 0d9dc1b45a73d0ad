"""A run as plain text: thoughts, tool input and output, and the answer, in markers if wanted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from treadle._engine.surfaces.answer_pieces import missing
from treadle._tools.results import SO_FAR
from treadle._types.events import Record
from treadle._types.state import ANSWERING, CONVERSATION
from treadle._view.fold import RunView
from treadle._view.items import Answer, Call, Change, More, Put, Thought

_MARK_ANSWERS = ("action", "code")
"""The dialects in which words without a marker are a thought."""
OPEN, CLOSE = "<__final_answer__>", "</__final_answer__>"


class TextView:
    """Feed it records, it gives text, of which nothing can be taken back.

    Words that may be the answer are given as they come; if they turn out to be a thought, a line ends there. With
    markers they are given as a thought where the dialect marks its answers, else they wait until it is known what they
    are: the answer stands between the markers, once. What a model writes when it is asked to repair a reply is not
    shown. Of runs inside the run, only the tools they use are shown.
    """

    def __init__(self, *, markers: bool) -> None:
        self.answer = ""
        self._markers = markers
        self._thought = ""
        """What was given of the current reply as a thought."""
        self._waiting = ""
        """Words that may be the answer, or a thought."""
        self._answer = ""
        """What was given of the answer."""
        self._given = ""
        """The last words that turned out to be a thought, and the output of the last call: perhaps the answer."""
        self._begun = False
        """Whether the reply has said that its answer begins: what it said before was a thought."""
        self._forced = False
        """Whether only an answer is wanted of the reply."""
        self._repairs = False
        """Whether the reply that is being written repairs another one."""
        self._open = False
        self._streamed_call = ""
        self._views = defaultdict[str, RunView](RunView)

    def feed(self, record: Record) -> Iterator[str]:
        view = self._views[record.run]
        for change in view.feed(record):
            if record.depth:
                yield from _of_a_child(change, "  " * record.depth)
            elif isinstance(change, More):
                yield from self._piece(change, view)
            elif isinstance(change.item, Thought):
                yield from self._thought_changed(change.item, change)
            elif isinstance(change.item, Answer):
                yield from self._answer_changed(change.item)
            elif isinstance(change.item, Call):
                yield from self._call_changed(change.item, change)

    def _piece(self, more: More, view: RunView) -> Iterator[str]:
        item = view.items[more.id]
        if isinstance(item, Answer):
            thinks = view.state.dialect in _MARK_ANSWERS and not self._forced
            if item.state == "draft" and (self._repairs or (self._markers and not thinks and not self._begun)):
                self._waiting += more.text
            elif item.state == "draft" and self._markers and not self._begun:
                self._thought += more.text
                yield more.text
            elif self._was_given(more.text):
                self._answer = more.text
            else:
                yield from self._say(more.text)
        elif isinstance(item, Call):
            if self._streamed_call != item.call_id:
                self._given = ""
            self._streamed_call = item.call_id
            self._given += more.text
            yield more.text
        elif isinstance(item, Thought) and item.component == "loop" and not more.reasoning:
            self._thought += more.text
            yield more.text

    def _thought_changed(self, item: Thought, change: Put) -> Iterator[str]:
        if item.state == "open" and change.before is None:
            self._repairs, self._forced = item.component == "repair", item.component in ANSWERING
            self._begun = False
        if item.component not in CONVERSATION:
            return
        if item.state == "done":
            if item.text and not self._repairs and not (self._thought.strip() or self._answer or item.problem):
                yield item.text + "\n"
            if item.calls or item.problem:
                self._thought = ""
        elif change.before is not None and item.state == "open":  # its text is void
            yield from self._reset()

    def _answer_changed(self, item: Answer) -> Iterator[str]:
        if item.state == "retracted":
            yield from self._move(item.text)
        elif item.state == "void":
            yield from self._reset()
        elif item.state == "final":
            yield from self._end_of_answer(item.text)

    def _call_changed(self, item: Call, change: Put) -> Iterator[str]:
        if _starts(change):
            yield _head(item)
            if item.output:
                self._streamed_call = item.call_id
                yield item.output
        elif _ends(change) and not item.final:
            if self._streamed_call != item.call_id:
                yield item.content
            elif item.error:  # its output was shown as it came, its failure was not
                yield "\n" + item.content.partition(SO_FAR)[0]
            yield "\n"

    def _was_given(self, answer: str) -> bool:
        """Return whether the whole answer was shown before anybody knew that it is the answer."""
        return not self._markers and not self._answer and bool(answer) and self._given.strip() == answer.strip()

    def _say(self, text: str) -> Iterator[str]:
        if self._thought and not self._answer:
            if not self._thought.endswith("\n"):
                yield "\n"
            self._thought = ""
        if self._markers and not self._open:
            self._open = True
            yield OPEN
        if self._waiting:
            text, self._waiting = self._waiting + text, ""
        self._answer += text
        yield text

    def _move(self, text: str) -> Iterator[str]:
        """It was a thought."""
        if self._repairs:
            self._waiting = ""
            return
        if self._waiting:
            yield self._waiting
        if self._open:
            self._open = False
            yield CLOSE
        yield "\n"
        self._given, self._begun = text, True
        self._thought = self._thought if self._thought.endswith(text) else self._thought + text
        self._thought += "\n"
        self._waiting = self._answer = ""

    def _reset(self) -> Iterator[str]:
        """Return what was given since the last start is void: it stays, apart from what follows."""
        if self._open:
            self._open = False
            yield CLOSE
        if self._answer or self._thought:
            yield "\n"
        self._waiting = self._answer = self._thought = ""

    def _end_of_answer(self, text: str) -> Iterator[str]:
        self.answer = text
        self._waiting = ""
        if self._was_given(text):
            self._answer = text
        if rest := missing(self._answer, text):
            yield from self._say(rest)
        if self._open or (self._markers and not text):
            yield CLOSE if self._open else OPEN + CLOSE
        self._open, self._answer = False, ""


def _starts(change: Put) -> bool:
    state = change.before.state if isinstance(change.before, Call) else ""
    return isinstance(change.item, Call) and change.item.state == "running" and state != "running"


def _ends(change: Put) -> bool:
    before = change.before
    return isinstance(change.item, Call) and change.item.ended and not (isinstance(before, Call) and before.ended)


def _head(call: Call, indent: str = "") -> str:
    return f"\n{indent}[{call.tool}] {msgspec.json.encode(call.args).decode()}\n"


def _of_a_child(change: Change, indent: str) -> Iterator[str]:
    """Runs inside the run work side by side: whole lines only, indented by their depth."""
    if isinstance(change, More) or not isinstance(change.item, Call):
        return
    if _starts(change):
        yield _head(change.item, indent)
    elif _ends(change) and not change.item.final:
        yield "".join(f"{indent}{line}\n" for line in change.item.content.splitlines())
