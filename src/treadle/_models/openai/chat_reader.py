"""Reads chat completions: whole replies and streams, also from servers that deviate from the API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from treadle._models.openai.chat_wire import API
from treadle._models.transport.decision import DecisionPoint
from treadle._models.transport.failures import ONE_REQUEST, Origin, error_in_reply
from treadle._models.transport.reader import Reader
from treadle._models.transport.wire import (
    ThinkSplitter,
    as_count,
    as_dict,
    as_list,
    as_text,
    encode,
    is_object,
    with_cost,
)
from treadle._types.profile import Profile
from treadle._types.request import Delta, Finish, Reply
from treadle._types.usage import Usage

_FINISH: dict[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "complete": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_calls": "calls",
    "tool_call": "calls",
    "tool_use": "calls",
    "function_call": "calls",
    "content_filter": "filter",
    "sensitive": "filter",
    "safety": "filter",
    "refusal": "refusal",
}
_BROKEN_OFF = frozenset({"error", "network_error", "insufficient_system_resource", "abort", "aborted", "cancelled"})
_REASONING_FIELDS: tuple[Literal["reasoning_content", "reasoning"], ...] = ("reasoning_content", "reasoning")


class Watch(Protocol):
    """Sees the text of a reply as it is written, and finds that the rest of it is not worth waiting for."""

    detected: bool

    def feed(self, piece: str) -> None: ...


class ChatReader(Reader):
    """Reads streams and whole replies: a whole reply is a stream of one piece, with `message` in place of `delta`."""

    def __init__(
        self,
        origin: Origin,
        profile: Profile,
        name: str = "",
        point: DecisionPoint | None = None,
        endless: Watch | None = None,
    ) -> None:
        super().__init__(origin, profile, name)
        self._point = point
        self._endless = endless
        self._splitter = ThinkSplitter()
        self._refusal: list[str] = []
        self._finish = ""
        self._timings: dict[str, Any] = {}
        self._field = ""
        self._details: list[dict[str, Any]] = []
        self._seen = False

    def feed(self, payload: bytes) -> Sequence[Delta]:
        if payload.startswith(b"[DONE]"):
            self.done = self.complete = True
            return self._end()
        return super().feed(payload)

    def _document(self, document: Any, out: list[Delta]) -> None:
        document = as_dict(document)
        if error := document.get("error"):
            raise error_in_reply(self._origin, error)
        self._model = as_text(document.get("model")) or self._model
        self._id = as_text(document.get("id")) or self._id
        if usage := as_dict(document.get("usage") or as_dict(document.get("x_groq")).get("usage")):
            self._usage = usage
        self._timings = as_dict(document.get("timings")) or self._timings
        # Only one choice is requested; a server that sends several gives the others an index.
        choices = [as_dict(choice) for choice in as_list(document.get("choices"))]
        choice = next((choice for choice in choices if "message" in choice or not choice.get("index")), None)
        if choice is not None:
            self._choice(choice, out)
        elif not choices and (document.get("message") or document.get("detail")):
            raise error_in_reply(self._origin, document)

    def _choice(self, choice: dict[str, Any], out: list[Delta]) -> None:
        if error := choice.get("error"):
            raise error_in_reply(self._origin, error)
        self._seen = True
        self.complete = self.complete or "message" in choice
        if self._point is not None:
            self._read_options(self._point, choice)
        if delta := as_dict(choice.get("delta")):
            self._message(delta, out, whole=False)
        else:
            self._message(as_dict(choice.get("message")), out, whole=True)
        if reason := as_text(choice.get("finish_reason")):
            self._finish = reason.lower()
            self.complete = True
            out += self._end()

    def _read_options(self, point: DecisionPoint, choice: dict[str, Any]) -> None:
        for token in map(as_dict, as_list(as_dict(choice.get("logprobs")).get("content"))):
            others = map(as_dict, as_list(token.get("top_logprobs")))
            pairs = ((as_text(other.get("token")), other.get("logprob")) for other in others)
            point.feed(
                as_text(token.get("token")),
                [(text, float(value)) for text, value in pairs if isinstance(value, (int, float))],
            )
        if point.contradicted and "message" not in choice:
            self.done = self.complete = True  # the rest of it need not be written

    def _message(self, message: dict[str, Any], out: list[Delta], *, whole: bool) -> None:
        self._think(message, out)
        content = message.get("content")
        if isinstance(content, str):
            if content:
                self._keep(self._splitter.feed(content), out)
                self._watch(content, whole)
        else:
            for part in as_list(content):
                self._part(as_dict(part), out)
        if refusal := as_text(message.get("refusal")):
            self._refusal.append(refusal)
        for fragment in as_list(message.get("tool_calls")):
            self._fragment(as_dict(fragment), out, whole=whole)
        if legacy := message.get("function_call"):
            self._fragment({"index": 0, "function": legacy}, out, whole=whole)

    def _watch(self, content: str, whole: bool) -> None:
        """Ends a text that has no end of its own."""
        if self._endless is None or whole:
            return
        self._endless.feed(content)
        if self._endless.detected:
            self._finish = "length"
            self.done = self.complete = True

    def _think(self, message: dict[str, Any], out: list[Delta]) -> None:
        details = [as_dict(detail) for detail in as_list(message.get("reasoning_details"))]
        for detail in details:
            self._detail(detail)
        # Some servers send the same thought under both names.
        for field in _REASONING_FIELDS:
            if text := as_text(message.get(field)):
                self._field = field
                self._add_thought(text, out)
                return
        self._add_thought("".join(as_text(detail.get("text") or detail.get("summary")) for detail in details), out)

    def _part(self, part: dict[str, Any], out: list[Delta]) -> None:
        """A part of structured content: text, or thoughts that are parts themselves."""
        if part.get("type") == "thinking":
            thought = part.get("thinking")
            for piece in [{"text": thought}] if isinstance(thought, str) else as_list(thought):
                self._add_thought(as_text(as_dict(piece).get("text")), out)
        elif text := as_text(part.get("text")):
            self._keep(self._splitter.feed(text), out)
        elif text := as_text(part.get("refusal")):
            self._refusal.append(text)

    def _detail(self, detail: dict[str, Any]) -> None:
        """Join the pieces of a reasoning detail, which has to be sent back in one piece."""
        last = self._details[-1] if self._details else None
        if last is None or last.get("index") != detail.get("index") or last.get("type") != detail.get("type"):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            joined = key in ("text", "summary", "data") and isinstance(value, str) and isinstance(last.get(key), str)
            last[key] = last[key] + value if joined else value

    def _fragment(self, fragment: dict[str, Any], out: list[Delta], *, whole: bool) -> None:
        calls = self._calls
        function = as_dict(fragment.get("function") or fragment)
        call_id, name = as_text(fragment.get("id")), as_text(function.get("name"))
        value = function.get("arguments")
        arguments = value if isinstance(value, str) else "" if value is None else encode(value).decode()
        index = fragment.get("index")
        slot = self._slots.get(index, -1) if isinstance(index, int) else len(calls) - 1
        if slot < 0 or whole or self._begins_another(slot, call_id, name, arguments, isinstance(index, int)):
            if not (call_id or name or arguments):
                return
            if len(calls):
                out += calls.close(len(calls) - 1, final=False)
            delta = calls.open(call_id, name)
            slot = delta.index
            if isinstance(index, int):
                self._slots[index] = slot
            out.append(delta)
        elif name and name != calls.name(slot) and not calls.arguments(slot):
            out.append(calls.rename(slot, name))
        if arguments:
            out.append(calls.add(slot, arguments))

    def _begins_another(self, slot: int, call_id: str, name: str, arguments: str, indexed: bool) -> bool:
        """Tell whether a fragment that seems to belong to the call in `slot` starts a new one.

        Some servers number every call 0, some send no number, some no id, some repeat the name in each fragment.
        """
        if not name:
            return not indexed and bool(call_id) and call_id != self._calls.id(slot)
        if call_id:
            return call_id != self._calls.id(slot)
        return bool(arguments) and is_object(self._calls.arguments(slot))

    def _end(self) -> list[Delta]:
        """The last deltas: held-back text, and the calls' completion unless they were cut off."""
        out: list[Delta] = []
        self._keep(self._splitter.end(), out)
        if _FINISH.get(self._finish) != "length":
            out += self._calls.close_all()
        return out

    def reply(self) -> Reply:
        if self._finish in _BROKEN_OFF:
            raise self._broken_off(self._finish)
        if not self.complete or not self._seen:
            raise self._cut_off(seen=not self.complete)
        usage = self.spent()
        text, reasoning, finish = "".join(self._text), "".join(self._reasoning), self._finished()
        if self._profile.reasoning and not reasoning and "</think>" in text:
            # Some templates write the opening tag into the prompt, so that only the closing one is seen.
            reasoning, _, text = text.partition("</think>")
            text = text.lstrip()
        if finish == "refusal" and not text:
            text = "".join(self._refusal)
        if finish == "filter" and not text and not len(self._calls):
            raise self._withheld()
        return Reply(
            text, self._calls.raw(), reasoning, finish, usage, self._model, self._id, self._opaque(reasoning),
            options=self._point.options if self._point is not None else {},
            broken_off=self.done and not self._finish and self._point is not None and self._point.contradicted,
        )  # fmt: skip

    def spent(self) -> Usage:
        return chat_usage(self._usage, self._timings, self._profile)

    def _finished(self) -> Finish:
        """Why the reply ended. Its content counts for more than the reason the server gives."""
        stated = _FINISH.get(self._finish, "unknown" if self._finish else "stop")
        if self._refusal and not self._text:
            return "refusal"
        if len(self._calls):
            return stated if stated in ("length", "filter") else "calls"
        return "stop" if stated == "calls" else stated

    def _opaque(self, reasoning: str) -> dict[str, Any] | None:
        if not self._profile.replay_reasoning or not (self._details or (reasoning and self._field)):
            return None
        keep = {"reasoning_details": self._details} if self._details else {}
        return {"api": API, "provider": self._origin.provider, "field": self._field, "keep": keep}


def chat_usage(fields: dict[str, Any], timings: dict[str, Any], profile: Profile) -> Usage:
    """Usage under all the names servers give it. Without any, the request itself is counted."""
    if not fields:
        return ONE_REQUEST
    read, wrote = as_count(fields.get("prompt_tokens")), as_count(fields.get("completion_tokens"))
    prompt, completion = as_dict(fields.get("prompt_tokens_details")), as_dict(fields.get("completion_tokens_details"))
    reasoning = as_count(completion.get("reasoning_tokens") or fields.get("reasoning_tokens"))
    # xAI does not count thoughts as completion tokens, though they are paid for; the total shows it.
    if reasoning and as_count(fields.get("total_tokens")) == read + wrote + reasoning:
        wrote += reasoning
    cached = prompt.get("cached_tokens") or fields.get("prompt_cache_hit_tokens") or fields.get("cached_tokens")
    cached = as_count(cached or timings.get("cache_n"))
    stated = fields.get("cost")
    upstream = as_dict(fields.get("cost_details")).get("upstream_inference_cost")
    if fields.get("is_byok") and isinstance(stated, (int, float)) and isinstance(upstream, (int, float)):
        stated += upstream  # with the user's own key, the router states only its fee
    usage = Usage(read, wrote, min(cached, read), as_count(prompt.get("cache_write_tokens")), reasoning, requests=1)
    return with_cost(usage, profile.prices, stated)
