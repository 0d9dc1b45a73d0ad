"""Judges decide whether a run went right: a check, an expected answer or call, or as a last resort a model."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2b
from typing import Any, Protocol

from msgspec import Struct

from treadle._inspect.evals.checks import Check, ExpectedCall, RecordedCall, evaluate_check
from treadle._inspect.evals.runner import FAILED_STOPS
from treadle._inspect.why.budgeted_model import SearchBudget
from treadle._inspect.why.marks import Mark
from treadle._inspect.why.notebook import Notebook
from treadle._models.base import Model, complete
from treadle._models.catalog.registry import resolve_model
from treadle._types.errors import ConfigError
from treadle._types.events import Record
from treadle._types.messages import SystemMessage, UserMessage
from treadle._types.request import Request
from treadle._types.state import RunState, fold

Custom = Callable[[RunState], "bool | Awaitable[bool]"]
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
        contains = check.answer_contains
        items = contains if isinstance(contains, tuple) else (contains,)
        self.wanted = tuple(str(item) for item in items if isinstance(item, str | int | float))
        """What the answer should have had."""

    async def judge(self, state: RunState) -> Judged:
        if state.finished is None or state.finished.stop_reason in FAILED_STOPS:  # as in an evaluation
            return _ended(state)
        answer = state.finished.answer
        verdict = evaluate_check(self.check, answer, [RecordedCall(step.tool, step.args) for step in state.steps])
        return Judged(verdict.passed, "; ".join(verdict.problems))


class ByFunction:
    """A function of the user that returns whether a run went right, given its state."""

    def __init__(self, judge: Custom) -> None:
        self._judge = judge
        self.name = f"the check {getattr(judge, '__name__', type(judge).__name__)}"

    async def judge(self, state: RunState) -> Judged:
        right = self._judge(state)
        return Judged(bool(await right if inspect.isawaitable(right) else right))


class ByEnd:
    """For a run that failed: right is one that ends with an answer and calls itself successful."""

    name = "whether the run ends well (it failed; no expected answer was given)"

    async def judge(self, state: RunState) -> Judged:
        return _ended(state)


class ByModel:
    """The last resort: another model judges question and answer. It may be wrong, so the report names it."""

    def __init__(self, model: Model, budget: SearchBudget, wanted: str = "") -> None:
        self._model, self._budget, self._wanted = model, budget, wanted
        self.name = f"the model {model.name}, as a last resort: it may be wrong"
        self._verdicts: dict[str, Judged] = {}
        self._asking: dict[str, asyncio.Lock] = {}
        self._notebook: Notebook | None = None

    def remember(self, notebook: Notebook) -> None:
        """Reuse the verdicts of earlier searches, and store new ones for later searches."""
        self._notebook = notebook
        for note in notebook.notes:
            if note.get("what") == "judged":
                self._verdicts.setdefault(note["asked"], Judged(note["right"], note["why"]))

    async def judge(self, state: RunState) -> Judged:
        ended = _ended(state)
        if not ended.right:
            return ended
        wanted = f"\nWhat is wrong with the first answer, in a person's words: {self._wanted}" if self._wanted else ""
        answer = state.finished.answer if state.finished else ""
        results = "\n".join(f"{step.tool} {step.args}: {step.observation[:500]}" for step in state.steps)
        text = f"Question: {state.question}\nResults of tools:\n{results}\nAnswer: {answer}{wanted}"
        asked = blake2b(f"{self._model.name}\n{text}".encode("utf-8", "replace"), digest_size=16).hexdigest()
        async with self._asking.setdefault(asked, asyncio.Lock()):
            if asked in self._verdicts:
                self._budget.reused += 1
            else:
                self._verdicts[asked] = judged = await self._ask(text)
                if self._notebook is not None:
                    await self._notebook.note("judged", {"asked": asked, "right": judged.right, "why": judged.why})
        return self._verdicts[asked]

    async def _ask(self, text: str) -> Judged:
        self._budget.take()
        reply = await complete(
            self._model,
            Request(
                [SystemMessage("Is the answer right? Reply YES or NO and one short reason."), UserMessage(text)],
                temperature=0.0,
                max_tokens=60,
                component="judge",
            ),
        )
        self._budget.add(reply.usage)
        return Judged(reply.text.strip().upper().startswith("YES"), reply.text.strip())


def judge_for(
    records: Sequence[Record],
    marks: Sequence[Mark],
    check: Check | Custom | None,
    note: str,
    model: str | Model | None,
    budget: SearchBudget,
    *,
    by_person: bool = True,
) -> Judge:
    """Choose the judge: a check, expectations, the end of a run that failed, or as a last resort a model."""
    if check is not None:
        return ByCheck(check) if isinstance(check, Check) else ByFunction(check)
    if marks:
        return ByMarks(marks, by_person=by_person)
    finished = fold(records).finished
    if finished is None or not finished.success or finished.stop_reason not in _GOOD_ENDS:
        return ByEnd()
    if model is not None:
        return ByModel(resolve_model(model), budget, note)
    raise ConfigError(
        "this run ended with an answer, so somebody has to say what is wrong with it: what its answer should have had "
        "(`answer`), which call it should have made (`call`), or a model that judges (`judge_model`)"
    )


class ByMarks:
    """Expectations about the whole run or one step of it; all of them must be met."""

    def __init__(self, marks: Sequence[Mark], *, by_person: bool = False) -> None:
        self._checks = [(mark.step, _check_of(mark)) for mark in marks]
        wanted = " and ".join(str(mark) for mark in marks)
        self.name = f"a person's mark, {wanted}" if by_person else f"what was {wanted}"
        self.wanted = tuple(mark.answer for mark in marks if mark.answer and not mark.step)

    async def judge(self, state: RunState) -> Judged:
        problems: list[str] = []
        for step, check in self._checks:
            judged = _at_step(state, step, check) if step else await ByCheck(check).judge(state)
            if not judged.right:
                problems.append(judged.why)
        return Judged(not problems, "; ".join(problems))


def _at_step(state: RunState, step: int, check: Check) -> Judged:
    """Judge one step: the expected call was made, or the expected text is in its thoughts or results."""
    calls = [one for one in state.steps if one.iteration == step]
    texts = [one.thought for one in calls] + [one.observation for one in calls]
    if not calls and state.iteration == step and state.finished is not None:
        texts.append(state.finished.answer)
    verdict = evaluate_check(check, "\n".join(texts), [RecordedCall(one.tool, one.args) for one in calls])
    return Judged(verdict.passed, "; ".join(f"at step {step}: {problem}" for problem in verdict.problems))


def _check_of(mark: Mark) -> Check:
    if mark.call:
        return Check(args=(ExpectedCall(mark.call, mark.args or {}),))
    return Check(answer_contains=(_number(mark.answer),))


def expected(answer: str = "", call: str = "", args: dict[str, Any] | None = None) -> ByMarks:
    """A judge that expects this in the answer, or a call of this tool with these arguments (others may be there)."""
    marks = [Mark(answer=answer)] if answer else []
    return ByMarks([*marks, Mark(call=call, args=args)] if call else marks)


def _number(text: str) -> str | float:
    """Parse a number, which is compared by value; other texts stay."""
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
