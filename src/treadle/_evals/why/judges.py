"""Who says whether a run went right: a check, an expected answer or call, or, where there is nothing else, a model."""

from __future__ import annotations

import re
from typing import Any, Protocol

from msgspec import Struct

from treadle._evals.checks import Check, ExpectedCall, RecordedCall, evaluate_check
from treadle._evals.runner import FAILED_STOPS
from treadle._evals.why.asking import Purse
from treadle._models.base import Model, complete
from treadle._types.messages import SystemMessage, UserMessage
from treadle._types.request import Request
from treadle._types.state import RunState

_GOOD_ENDS = ("answer", "final_tool")


class Judged(Struct, frozen=True):
    right: bool
    why: str = ""


class Judge(Protocol):
    @property
    def name(self) -> str:
        """How the report calls it."""
        ...

    async def judge(self, state: RunState) -> Judged: ...


class ByCheck:
    """A check of the answer and the calls, as in task files."""

    def __init__(self, check: Check, name: str = "a check") -> None:
        self.check, self.name = check, name

    async def judge(self, state: RunState) -> Judged:
        if state.finished is None or state.finished.stop_reason in FAILED_STOPS:  # as in an evaluation
            return _ended(state)
        answer = state.finished.answer
        verdict = evaluate_check(self.check, answer, [RecordedCall(step.tool, step.args) for step in state.steps])
        return Judged(verdict.passed, "; ".join(verdict.problems))


class ByEnd:
    """For a run that failed: right is one that ends with an answer and calls itself successful."""

    name = "whether the run ends well (it failed; no expected answer was given)"

    async def judge(self, state: RunState) -> Judged:
        return _ended(state)


class ByModel:
    """The last resort: another model reads question and answer. It may be wrong; the report says whose word it is."""

    def __init__(self, model: Model, purse: Purse, wanted: str = "") -> None:
        self._model, self._purse, self._wanted = model, purse, wanted
        self.name = f"the model {model.name}, as a last resort: it may be wrong"

    async def judge(self, state: RunState) -> Judged:
        ended = _ended(state)
        if not ended.right:
            return ended
        wanted = f"\nWhat is wrong with the first answer, in a person's words: {self._wanted}" if self._wanted else ""
        answer = state.finished.answer if state.finished else ""
        results = "\n".join(f"{step.tool} {step.args}: {step.observation[:500]}" for step in state.steps)
        text = f"Question: {state.question}\nResults of tools:\n{results}\nAnswer: {answer}{wanted}"
        self._purse.take()
        reply = await complete(
            self._model,
            Request(
                [SystemMessage("Is the answer right? Reply YES or NO and one short reason."), UserMessage(text)],
                temperature=0.0,
                max_tokens=60,
                component="judge",
            ),
        )
        self._purse.add(reply.usage)
        return Judged(reply.text.strip().upper().startswith("YES"), reply.text.strip())


def expected(answer: str = "", call: str = "", args: dict[str, Any] | None = None) -> ByCheck:
    """A judge that expects this in the answer, or a call of this tool with these arguments (others may be there)."""
    wanted_text = _number(answer) if answer else ""
    check = Check(
        answer_contains=(wanted_text,) if answer else (), args=(ExpectedCall(call, args or {}),) if call else ()
    )
    wanted = [f"the answer has {answer!r}"] if answer else []
    wanted += [f"{call} is called" + (f" with {args}" if args else "")] if call else []
    return ByCheck(check, f"what was expected: {' and '.join(wanted)}")


def expected_by_mark(note: str) -> ByCheck | None:
    """What a person noted about a run: `expected: TEXT` is what the answer should have had, `expected call: TOOL` what
    should have been called."""
    answer = re.search(r"^\s*expected(?: answer)?:\s*(.+)$", note, re.MULTILINE | re.IGNORECASE)
    call = re.search(r"^\s*expected call:\s*(\S+)", note, re.MULTILINE | re.IGNORECASE)
    if answer is None and call is None:
        return None
    judge = expected(answer[1].strip() if answer else "", call[1] if call else "")
    judge.name = f"a person's mark, {judge.name}"
    return judge


def _number(text: str) -> str | float:
    """A number counts by its value, however it is written."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text


def _ended(state: RunState) -> Judged:
    finished = state.finished
    if finished is None:
        return Judged(False, "the run did not end" if state.paused is None else "the run waits for a person")
    if finished.stop_reason not in _GOOD_ENDS or not finished.success:
        return Judged(False, f"it ended with {finished.stop_reason}: {finished.error}".rstrip(": "))
    return Judged(True)
