"""Reads responses of Anthropic's Messages API: whole messages and event streams."""

from __future__ import annotations

from typing import Any

from treadle._models.anthropic.wire import API
from treadle._models.transport.failures import Origin, error_in_reply
from treadle._models.transport.provider_tools import of_anthropic
from treadle._models.transport.reader import BlockReader, decoded
from treadle._models.transport.wire import as_count, as_dict, as_list, as_text, with_cost
from treadle._types.profile import Profile
from treadle._types.request import Delta, Finish, ReasoningDelta, Reply, TextDelta
from treadle._types.usage import NO_USAGE, Usage

_FINISH: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "pause",
    "refusal": "refusal",
}


class MessagesReader(BlockReader):
    def __init__(self, origin: Origin, profile: Profile, name: str) -> None:
        super().__init__(origin, profile, name)
        self._earlier: list[dict[str, Any]] = []
        """The blocks of the responses before this one."""
        self.continuations = 0
        self._spent = NO_USAGE
        self._explanation = ""
        self.container = ""
        """Where the provider keeps the files of its own tools between the responses of one call."""

    @property
    def paused(self) -> bool:
        return self._stop == "pause_turn"

    def _document(self, document: Any, out: list[Delta]) -> None:
        event = as_dict(document)
        match event.get("type"):
            case "content_block_delta":
                self._delta(as_count(event.get("index")), as_dict(event.get("delta")), out)
            case "content_block_start":
                self._start(as_count(event.get("index")), as_dict(event.get("content_block")), out)
            case "content_block_stop":
                self._end(as_count(event.get("index")), out)
            case "message_start":
                self._message(as_dict(event.get("message")), out)
            case "message_delta":
                self._finished(as_dict(event.get("delta")))
                self._usage |= {key: value for key, value in as_dict(event.get("usage")).items() if value is not None}
            case "message_stop":
                self.done = self.complete = True
            case "message":
                self._message(event, out)
                self.done = self.complete = True
            case "error":
                raise error_in_reply(self._origin, event.get("error"))
            case _:
                if error := event.get("error"):
                    raise error_in_reply(self._origin, error)

    def _message(self, message: dict[str, Any], out: list[Delta]) -> None:
        self._model = as_text(message.get("model")) or self._model
        self._id = self._id or as_text(message.get("id"))
        self._usage |= as_dict(message.get("usage"))
        for index, block in enumerate(as_list(message.get("content"))):
            self._start(index, as_dict(block), out)
            self._end(index, out)
        self._finished(message)

    def _finished(self, fields: dict[str, Any]) -> None:
        if reason := as_text(fields.get("stop_reason")):
            self._stop = reason
            self.complete = True
        self._explanation = as_text(as_dict(fields.get("stop_details")).get("explanation")) or self._explanation
        self.container = as_text(as_dict(fields.get("container")).get("id")) or self.container

    def _start(self, index: int, block: dict[str, Any], out: list[Delta]) -> None:
        self._blocks[index] = dict(block)
        self._pieces[index] = []
        match block.get("type"):
            case "text":
                self._piece(index, as_text(block.get("text")), TextDelta, out)
            case "thinking":
                self._piece(index, as_text(block.get("thinking")), ReasoningDelta, out)
            case "tool_use":
                name, arguments = as_text(block.get("name")), block.get("input")
                self._blocks[index]["id"] = self._start_call(index, as_text(block.get("id")), name, arguments, out)
            case _:
                pass

    def _delta(self, index: int, delta: dict[str, Any], out: list[Delta]) -> None:
        block = self._blocks.setdefault(index, {"type": "text"})
        self._pieces.setdefault(index, [])
        match delta.get("type"):
            case "text_delta":
                self._piece(index, as_text(delta.get("text")), TextDelta, out)
            case "thinking_delta":
                self._piece(index, as_text(delta.get("thinking")), ReasoningDelta, out)
            case "signature_delta":
                block["signature"] = as_text(block.get("signature")) + as_text(delta.get("signature"))
            case "input_json_delta":
                self._add_arguments(index, as_text(delta.get("partial_json")), out)
            case "citations_delta":
                block["citations"] = [*as_list(block.get("citations")), delta.get("citation")]
            case _:
                pass

    def content(self) -> list[dict[str, Any]]:
        """The blocks in the form they have in a whole message, those of earlier responses first."""
        return [*self._earlier, *self._complete_blocks()]

    def _complete_block(self, index: int) -> dict[str, Any]:
        block, text = self._blocks[index], "".join(self._pieces[index])
        match block.get("type"):
            case "text":
                return block | {"text": text}
            case "thinking":
                return block | {"thinking": text}
            case "tool_use":
                return block | {"input": decoded(self._calls.arguments(self._slots[index]))}
            case _:
                return block | {"input": decoded(text)} if text else block

    def start_continuation(self) -> list[dict[str, Any]]:
        """Get ready to read the next response of the same call; returns the blocks so far."""
        self._earlier = self.content()
        self._spent += self._usage_of_response()
        self._blocks, self._pieces, self._slots, self._usage = {}, {}, {}, {}
        self._stop = ""
        self.continuations += 1
        self.done = self.complete = False
        return self._earlier

    def reply(self) -> Reply:
        if not self.complete:
            raise self._cut_off(seen=bool(self._model or self._blocks))
        content = self.content()
        text = "".join(as_text(block.get("text")) for block in content if block.get("type") == "text")
        reasoning = "".join(as_text(block.get("thinking")) for block in content if block.get("type") == "thinking")
        finish = self._agreed(_FINISH.get(self._stop, "unknown" if self._stop else "stop"))
        if finish == "refusal" and not text:
            text = self._explanation
        usage, (used, cited) = self.spent(), of_anthropic(content)
        opaque = self._opaque(content, used=bool(used))
        return Reply(text, self._calls.raw(), reasoning, finish, usage, self._model, self._id, opaque, used, cited)

    def spent(self) -> Usage:
        return self._spent + self._usage_of_response()

    def _opaque(self, content: list[dict[str, Any]], *, used: bool) -> dict[str, Any] | None:
        plain = all(block.get("type") in ("text", "tool_use") for block in content)
        if plain or not (used or self._profile.replay_reasoning):
            return None
        return {"api": API, "model": self._name, "content": content}

    def _usage_of_response(self) -> Usage:
        fields = self._usage
        cached = as_count(fields.get("cache_read_input_tokens"))
        written = as_count(fields.get("cache_creation_input_tokens"))
        thought = as_count(as_dict(fields.get("output_tokens_details")).get("thinking_tokens"))
        read = as_count(fields.get("input_tokens")) + cached + written
        usage = Usage(read, as_count(fields.get("output_tokens")), cached, written, thought, requests=1)
        return with_cost(usage, self._profile.prices)
