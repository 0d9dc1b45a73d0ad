"""Reads responses of OpenAI's Responses API: whole ones and event streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle._models.openai.responses_wire import API
from treadle._models.transport.failures import ONE_REQUEST, Origin, error_in_reply
from treadle._models.transport.provider_tools import of_responses
from treadle._models.transport.reader import Reader
from treadle._models.transport.wire import as_count, as_dict, as_list, as_text, with_cost
from treadle._types.profile import Profile
from treadle._types.request import Delta, Finish, Reply
from treadle._types.usage import Usage

_INCOMPLETE: dict[str, Finish] = {"max_output_tokens": "length", "max_tokens": "length", "content_filter": "filter"}


class ResponsesReader(Reader):
    """Reads items as they are finished, without the parts of them that were streamed before."""

    def __init__(self, origin: Origin, profile: Profile, name: str) -> None:
        super().__init__(origin, profile, name)
        self._items: dict[int, dict[str, Any]] = {}
        self._streamed: set[tuple[int, str]] = set()
        """The items of which a text, refusal, thought or arguments have been streamed, and which of these."""
        self._refusal: list[str] = []
        self._response: dict[str, Any] = {}

    def feed(self, payload: bytes) -> Sequence[Delta]:
        if payload.startswith(b"[DONE]"):
            self.done = True
            return ()
        return super().feed(payload)

    def _document(self, document: Any, out: list[Delta]) -> None:
        event = as_dict(document)
        index, piece = as_count(event.get("output_index")), as_text(event.get("delta"))
        match event.get("type"):
            case "response.output_text.delta":
                self._text_delta(index, piece, out)
            case "response.function_call_arguments.delta":
                if index in self._slots and piece:
                    self._streamed.add((index, "arguments"))
                    out.append(self._calls.add(self._slots[index], piece))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._thought_delta(index, piece, out)
            case "response.reasoning_summary_part.added":
                if (index, "thought") in self._streamed:
                    self._thought_delta(index, "\n\n", out)
            case "response.refusal.delta":
                self._refusal_delta(index, piece)
            case "response.output_item.added":
                self._added(index, as_dict(event.get("item")), out)
            case "response.output_item.done":
                self._finished(index, as_dict(event.get("item")), out)
            case "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled":
                self._end(as_dict(event.get("response")), out)
            case "error":
                raise error_in_reply(self._origin, event.get("error") or event)
            case None:
                if event.get("object") == "response":
                    self._end(event, out)
                elif error := event.get("error"):
                    raise error_in_reply(self._origin, error)
            case _:
                self._response = as_dict(event.get("response")) or self._response

    def _added(self, index: int, item: dict[str, Any], out: list[Delta]) -> None:
        if item.get("type") == "function_call":
            self._open_call(index, as_text(item.get("call_id")), as_text(item.get("name")), out)

    def _finished(self, index: int, item: dict[str, Any], out: list[Delta]) -> None:
        """Read from a finished item what has not been streamed."""
        self._items[index] = item
        match item.get("type"):
            case "function_call":
                if index not in self._slots:
                    self._added(index, item, out)
                slot = self._slots[index]
                if (index, "arguments") not in self._streamed and (arguments := as_text(item.get("arguments"))):
                    out.append(self._calls.add(slot, arguments))
                item["call_id"] = self._calls.id(slot)
                if item.get("status") != "incomplete":
                    out += self._calls.close(slot)
            case "message":
                has_text, has_refusal = (index, "text") in self._streamed, (index, "refusal") in self._streamed
                for part in map(as_dict, as_list(item.get("content"))):
                    if not has_text:
                        self._text_delta(index, as_text(part.get("text")), out)
                    if not has_refusal:
                        self._refusal_delta(index, as_text(part.get("refusal")))
            case "reasoning" if (index, "thought") not in self._streamed:
                thoughts = as_list(item.get("summary")) or as_list(item.get("content"))
                self._thought_delta(
                    index, "\n\n".join(as_text(as_dict(thought).get("text")) for thought in thoughts), out
                )
            case _:
                pass

    def _text_delta(self, index: int, text: str, out: list[Delta]) -> None:
        if text:
            self._streamed.add((index, "text"))
            self._add_text(text, out)

    def _thought_delta(self, index: int, text: str, out: list[Delta]) -> None:
        if text:
            self._streamed.add((index, "thought"))
            self._add_thought(text, out)

    def _refusal_delta(self, index: int, text: str) -> None:
        if text:
            self._streamed.add((index, "refusal"))
            self._refusal.append(text)

    def _end(self, response: dict[str, Any], out: list[Delta]) -> None:
        self._response = response
        for index, item in enumerate(as_list(response.get("output"))):
            if index not in self._items:
                self._finished(index, as_dict(item), out)
        self.done = self.complete = True

    def reply(self) -> Reply:
        response = self._response
        status = as_text(response.get("status"))
        if error := response.get("error"):
            raise error_in_reply(self._origin, error)
        if status in ("failed", "cancelled"):
            raise self._broken_off(status)
        if not self.complete:
            raise self._cut_off(seen=bool(response or self._items), missing="response")
        text, usage = "".join(self._text), self.spent()
        finish = self._finish(status)
        if finish == "refusal" and not text:
            text = "".join(self._refusal)
        if finish == "filter" and not text and not len(self._calls):
            raise self._withheld()
        name, reply_id = as_text(response.get("model")), as_text(response.get("id"))
        used, cited = of_responses(self._items[index] for index in sorted(self._items))
        reasoning, opaque = "".join(self._reasoning), self._opaque()
        return Reply(text, self._calls.raw(), reasoning, finish, usage, name, reply_id, opaque, used, cited)

    def _finish(self, status: str) -> Finish:
        if status == "incomplete":
            return _INCOMPLETE.get(as_text(as_dict(self._response.get("incomplete_details")).get("reason")), "unknown")
        if len(self._calls):
            return "calls"
        return "refusal" if self._refusal and not self._text else "stop"

    def _opaque(self) -> dict[str, Any] | None:
        items = [self._items[index] for index in sorted(self._items)]
        # A message with a phase, or anything that is not a plain message or call, has to be sent back unchanged.
        plain = all(item.get("type") in ("message", "function_call") and "phase" not in item for item in items)
        return None if plain else {"api": API, "model": self._name, "items": items}

    def spent(self) -> Usage:
        fields = as_dict(self._response.get("usage"))
        if not fields:
            return ONE_REQUEST
        read, wrote = as_count(fields.get("input_tokens")), as_count(fields.get("output_tokens"))
        input_details = as_dict(fields.get("input_tokens_details"))
        cached = min(read, as_count(input_details.get("cached_tokens")))
        cache_writes = as_count(input_details.get("cache_write_tokens"))
        thought = as_count(as_dict(fields.get("output_tokens_details")).get("reasoning_tokens"))
        return with_cost(Usage(read, wrote, cached, cache_writes, thought, requests=1), self._profile.prices)
