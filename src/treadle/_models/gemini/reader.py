"""Gemini's generateContent, incoming."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle._models.gemini.wire import API
from treadle._models.transport.adapter import decode
from treadle._models.transport.failures import Origin, dropped, inline, unreadable
from treadle._models.transport.wire import CallList, as_count, as_dict, as_list, as_text, encode, priced
from treadle._types.errors import ContentFilteredError
from treadle._types.profile import Profile
from treadle._types.request import Delta, Finish, ReasoningDelta, Reply, TextDelta
from treadle._types.usage import NO_USAGE, Usage

_FINISH: dict[str, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "filter",
    "RECITATION": "filter",
    "BLOCKLIST": "filter",
    "PROHIBITED_CONTENT": "filter",
    "SPII": "filter",
    "LANGUAGE": "filter",
    "IMAGE_SAFETY": "filter",
}
_BROKEN = frozenset(("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"))


class GeminiReader:
    """A stream is a row of whole answers, each with what is new: one way to read serves both."""

    def __init__(self, origin: Origin, profile: Profile, name: str) -> None:
        self.done = False
        self.complete = False
        """Never said before the end: some models give a reason to finish with every piece."""
        self.instalments = 1
        self.continuation = ""
        """Given when the provider wants to be asked for the rest."""
        self._origin = origin
        self._profile = profile
        self._name = name
        self._calls = CallList()
        self._parts: list[dict[str, Any]] = []
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._finish = ""
        self._blocked = ""
        self._seen = False
        self._usage: dict[str, Any] = {}
        self._spent = NO_USAGE
        self._model = ""
        self._id = ""

    def feed(self, payload: bytes) -> Sequence[Delta]:
        out: list[Delta] = []
        for document in decode(payload, self._origin):
            for answer in as_list(document) or [document]:
                self._answer(as_dict(answer), out)
        return out

    def _answer(self, answer: dict[str, Any], out: list[Delta]) -> None:
        if error := answer.get("error"):
            raise inline(self._origin, error)
        self._usage = as_dict(answer.get("usageMetadata")) or self._usage
        self._model = as_text(answer.get("modelVersion")) or self._model
        self._id = self._id or as_text(answer.get("responseId"))
        if reason := as_text(as_dict(answer.get("promptFeedback")).get("blockReason")):
            self._blocked = reason
        candidates = as_list(answer.get("candidates"))
        if not candidates:
            return
        self._seen = True
        candidate = as_dict(candidates[0])
        for part in as_list(as_dict(candidate.get("content")).get("parts")):
            self._part(as_dict(part), out)
        if reason := as_text(candidate.get("finishReason")):
            self._finish = reason
            self.continuation = as_text(candidate.get("continuationToken"))

    def _part(self, part: dict[str, Any], out: list[Delta]) -> None:
        text = as_text(part.get("text"))
        if part.get("thought"):
            if text:
                self._reasoning.append(text)
                out.append(ReasoningDelta(text))
        elif call := as_dict(part.get("functionCall")):
            opened = self._calls.open(as_text(call.get("id")), as_text(call.get("name")))
            out.append(opened)
            out.append(self._calls.add(opened.index, encode(as_dict(call.get("args"))).decode()))
            out += self._calls.close(opened.index)
            self._parts.append(part | {"functionCall": call | {"id": opened.id}})
        else:
            if text:
                self._text.append(text)
                out.append(TextDelta(text))
            self._keep(part, text)

    def _keep(self, part: dict[str, Any], text: str) -> None:
        """A part that carries a signature stays as it came; plain text is joined to the text before it."""
        last = self._parts[-1] if self._parts else None
        if last is not None and last.keys() == part.keys() == {"text"}:
            last["text"] += text
        elif text or part.keys() - {"text"}:
            self._parts.append(dict(part))

    def go_on(self) -> str:
        """Begin the next instalment; returns the token that asks for it."""
        self._spent += self._counted()
        self._usage = {}
        self.instalments += 1
        self._finish = ""
        token, self.continuation = self.continuation, ""
        return token

    def reply(self) -> Reply:
        usage = self.spent()
        text, reasoning = "".join(self._text), "".join(self._reasoning)
        empty = not text and not len(self._calls)
        if not self._finish and not self._blocked:
            if not self._seen:
                raise unreadable(self._origin, "the reply holds no candidate")
            raise dropped(self._origin, "the stream ended before the reply was complete")
        finish = _FINISH.get(self._finish, "unknown")
        if self._blocked or (finish == "filter" and empty):
            message = self._origin.say(f"the provider's filter withheld the reply ({self._blocked or self._finish})")
            raise ContentFilteredError(message, usage=usage, provider=self._origin.provider)
        if self._finish in _BROKEN:
            if empty:
                raise dropped(self._origin, f"the model broke off ({self._finish})")
            finish = "error"
        if len(self._calls) and finish == "stop":
            finish = "calls"
        return Reply(text, self._calls.raw(), reasoning, finish, usage, self._model, self._id, self._opaque())

    def spent(self) -> Usage:
        return self._spent + self._counted()

    def _opaque(self) -> dict[str, Any] | None:
        if not self._profile.replay_reasoning or not any("thoughtSignature" in part for part in self._parts):
            return None
        return {"api": API, "model": self._name, "parts": self._parts}

    def _counted(self) -> Usage:
        found = self._usage
        read = as_count(found.get("promptTokenCount")) + as_count(found.get("toolUsePromptTokenCount"))
        thought = as_count(found.get("thoughtsTokenCount"))
        wrote = as_count(found.get("candidatesTokenCount")) + thought
        cached = min(read, as_count(found.get("cachedContentTokenCount")))
        return priced(Usage(read, wrote, cached, 0, thought, requests=1), self._profile.prices)
