"""Reads responses of Gemini's generateContent."""

from __future__ import annotations

from typing import Any

from treadle._models.gemini.wire import API
from treadle._models.transport.failures import Origin, error_in_reply
from treadle._models.transport.provider_tools import of_gemini
from treadle._models.transport.reader import Reader
from treadle._models.transport.wire import as_count, as_dict, as_list, as_text, encode, with_cost
from treadle._types.profile import Profile
from treadle._types.request import Delta, Finish, Reply
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
_BROKEN_OFF = frozenset(
    ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS")
)


class GeminiReader(Reader):
    """Reads streams and whole responses alike: a stream is a sequence of responses, each with what is new."""

    def __init__(self, origin: Origin, profile: Profile, name: str) -> None:
        # Never complete before the end of a stream: some models give a finish reason with every piece.
        super().__init__(origin, profile, name)
        self.continuations = 0
        self.continuation_token = ""
        """Given when the rest of the reply has to be requested."""
        self._parts: list[dict[str, Any]] = []
        self._finish = ""
        self._blocked = ""
        self._seen = False
        self._grounding: dict[str, Any] = {}
        self._spent = NO_USAGE

    def _document(self, document: Any, out: list[Delta]) -> None:
        for response in as_list(document) or [document]:
            self._response(as_dict(response), out)

    def _response(self, response: dict[str, Any], out: list[Delta]) -> None:
        if error := response.get("error"):
            raise error_in_reply(self._origin, error)
        self._usage = as_dict(response.get("usageMetadata")) or self._usage
        self._model = as_text(response.get("modelVersion")) or self._model
        self._id = self._id or as_text(response.get("responseId"))
        if reason := as_text(as_dict(response.get("promptFeedback")).get("blockReason")):
            self._blocked = reason
        candidates = as_list(response.get("candidates"))
        if not candidates:
            return
        self._seen = True
        candidate = as_dict(candidates[0])
        for part in as_list(as_dict(candidate.get("content")).get("parts")):
            self._part(as_dict(part), out)
        self._grounding |= as_dict(candidate.get("groundingMetadata"))
        if reason := as_text(candidate.get("finishReason")):
            self._finish = reason
            self.continuation_token = as_text(candidate.get("continuationToken"))

    def _part(self, part: dict[str, Any], out: list[Delta]) -> None:
        text = as_text(part.get("text"))
        if part.get("thought"):
            self._add_thought(text, out)
        elif call := as_dict(part.get("functionCall")):
            opened = self._calls.open(as_text(call.get("id")), as_text(call.get("name")))
            out.append(opened)
            out.append(self._calls.add(opened.index, encode(as_dict(call.get("args"))).decode()))
            out += self._calls.close(opened.index)
            self._parts.append(part | {"functionCall": call | {"id": opened.id}})
        else:
            self._add_text(text, out)
            self._keep_part(part, text)

    def _keep_part(self, part: dict[str, Any], text: str) -> None:
        """Keep a part with a signature as it came; plain text is joined to the text before it."""
        last = self._parts[-1] if self._parts else None
        if last is not None and last.keys() == part.keys() == {"text"}:
            last["text"] += text
        elif text or part.keys() - {"text"}:
            self._parts.append(dict(part))

    def start_continuation(self) -> str:
        """Get ready to read the next response of the same call; returns the token that requests it."""
        self._spent += self._usage_of_response()
        self._usage = {}
        self.continuations += 1
        self._finish = ""
        token, self.continuation_token = self.continuation_token, ""
        return token

    def reply(self) -> Reply:
        usage = self.spent()
        text, reasoning = "".join(self._text), "".join(self._reasoning)
        empty = not text and not len(self._calls)
        if not self._finish and not self._blocked:
            raise self._cut_off(seen=self._seen, missing="candidate")
        finish = _FINISH.get(self._finish, "unknown")
        if self._blocked or (finish == "filter" and empty):
            raise self._withheld(self._blocked or self._finish)
        if self._finish in _BROKEN_OFF:
            if empty:
                raise self._broken_off(self._finish)
            finish = "error"
        used, cited = of_gemini(self._parts, self._grounding)
        finish, opaque = self._agreed(finish), self._opaque()
        return Reply(text, self._calls.raw(), reasoning, finish, usage, self._model, self._id, opaque, used, cited)

    def spent(self) -> Usage:
        return self._spent + self._usage_of_response()

    def _opaque(self) -> dict[str, Any] | None:
        ran = any("executableCode" in part or "codeExecutionResult" in part for part in self._parts)
        signed = self._profile.replay_reasoning and any("thoughtSignature" in part for part in self._parts)
        if not ran and not signed:
            return None
        return {"api": API, "model": self._name, "parts": self._parts}

    def _usage_of_response(self) -> Usage:
        fields = self._usage
        read = as_count(fields.get("promptTokenCount")) + as_count(fields.get("toolUsePromptTokenCount"))
        thought = as_count(fields.get("thoughtsTokenCount"))
        wrote = as_count(fields.get("candidatesTokenCount")) + thought
        cached = min(read, as_count(fields.get("cachedContentTokenCount")))
        return with_cost(Usage(read, wrote, cached, 0, thought, requests=1), self._profile.prices)
