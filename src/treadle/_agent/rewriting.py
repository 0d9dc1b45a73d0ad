"""An answer that is written anew from the trace of a finished run."""

from __future__ import annotations

from typing import Any

from treadle._engine.answering.ends import finish
from treadle._engine.answering.material import trace_chars
from treadle._engine.answering.progress import trace
from treadle._engine.core.blueprint import Origin
from treadle._engine.core.execution import Execution
from treadle._engine.result import RunResult
from treadle._types.events import MessageAdded
from treadle._types.ids import fresh_id
from treadle._types.messages import UserMessage


class Rewriting:
    """The flow of a run that writes the answer: it begins where the other one had done its work."""

    def __init__(self, result: RunResult[Any]) -> None:
        self._result = result
        messages = result.messages
        asked = [n for n, m in enumerate(messages) if isinstance(m, UserMessage) and m.pinned and m.kind == "question"]
        at = asked[0] if asked else len(messages)
        self._before, self._since = messages[:at], messages[at + 1 :]
        self._question = getattr(messages[at], "content", "") if asked else ""

    def origin(self, user: str) -> Origin:
        return Origin(run_id=fresh_id(), question=self._question, history=tuple(self._before), user=user)

    async def work(self, run: Execution) -> None:
        added = [one for one in self._since if isinstance(one, UserMessage)]
        await run.emit(*(MessageAdded(message) for message in added))
        await finish(run, self._result.brief, "answer")

    def partial_answer(self, run: Execution) -> str:
        return self._result.brief

    def findings(self, run: Execution) -> str:
        return trace(self._result.steps, run.settings.synthesis_chars, trace_chars(run))

    def metadata(self, run: Execution) -> dict[str, Any]:
        return {}
