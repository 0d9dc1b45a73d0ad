"""The messages of a document as its answer: shown while the agents that they refer to write them."""

from __future__ import annotations

from collections.abc import Callable

from treadle._config.scope import Scope, component_of, references_in
from treadle._engine.core.execution import Execution
from treadle._types.events import AnswerDelta, AnswerRetracted, Record, Reset


class MessageStream:
    """One message is shown while it is written; others that are complete meanwhile come after it."""

    def __init__(self, run: Execution) -> None:
        self._run = run
        self._texts: dict[str, str] = {}
        self._live = ""

    @property
    def text(self) -> str:
        return "\n\n".join(text for text in self._texts.values() if text)

    def say(self, name: str, text: str) -> None:
        """A message is complete."""
        self._texts[name] = text
        if self._live in ("", name):
            self._live = ""
            self._show(self.text)

    def follow(
        self, name: str, content: str, agent: str, scope: Scope, child_id: str
    ) -> Callable[[Record], None] | None:
        """Have this message shown while `agent` writes the first reference in it that is not known yet."""
        before = _text_before(content, agent, scope)
        if self._live or before is None:
            return None
        self._live = name
        self._texts[name] = ""
        start = "\n\n".join([*filter(None, self._texts.values()), before])
        self._show(start)

        def show(record: Record) -> None:
            if record.run != child_id or self._live != name:
                return
            match record.event:
                case AnswerDelta(text=text, provisional=provisional):
                    self._run.answer.add(text, provisional=provisional)
                case AnswerRetracted() | Reset():
                    self._run.answer.retract()
                    self._show(start)
                case _:
                    pass

        return show

    def _show(self, text: str) -> None:
        """Show what has not been shown of this text."""
        shown = self._run.answer.text
        if text.startswith(shown):
            self._run.answer.add(text[len(shown) :])


def _text_before(content: str, agent: str, scope: Scope) -> str | None:
    """The text of a message before what the agent is to write; None when something else is not known yet."""
    for match in references_in(content):
        name = component_of(match.group(1))
        if name == agent:
            return scope.render(content[: match.start()])
        if name not in scope.values:
            return None
    return None
