"""Reads responses of Amazon Bedrock's Converse API: whole ones and event streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from treadle._models.bedrock.wire import API
from treadle._models.transport.decoding import decode_payload
from treadle._models.transport.failures import Origin, bad_reply, connection_lost, error_in_reply
from treadle._models.transport.wire import UNREADABLE, CallList, as_count, as_dict, as_list, as_text, encode, with_cost
from treadle._types.errors import ContentFilteredError
from treadle._types.profile import Profile
from treadle._types.request import Delta, Finish, ReasoningDelta, Reply, TextDelta
from treadle._types.usage import Usage

_FINISH: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "filter",
    "content_filtered": "filter",
}
_BROKEN_OFF = frozenset(("malformed_model_output", "malformed_tool_use"))
_PROVIDERS_OWN = "server_tool_use"


class ConverseReader:
    def __init__(self, origin: Origin, profile: Profile, name: str) -> None:
        self.done = False
        self.complete = False
        self._origin = origin
        self._profile = profile
        self._name = name
        self._calls = CallList()
        self._slots: dict[int, int] = {}
        """The index of a block with a call -> the slot of the call."""
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        """What has been streamed for a block so far: text, thoughts, or the arguments of a tool of the provider's."""
        self._seen = False
        self._stop = ""
        self._usage: dict[str, Any] = {}

    def feed(self, payload: bytes) -> Sequence[Delta]:
        out: list[Delta] = []
        for document in decode_payload(payload, self._origin):
            for kind, event in as_dict(document).items():
                self._event(kind, event, as_dict(document), out)
        return out

    def _event(self, kind: str, event: Any, document: dict[str, Any], out: list[Delta]) -> None:
        fields = as_dict(event)
        index = as_count(fields.get("contentBlockIndex"))
        match kind:
            case "contentBlockDelta":
                self._delta(index, as_dict(fields.get("delta")), out)
            case "contentBlockStart":
                self._start(index, as_dict(fields.get("start")), out)
            case "contentBlockStop":
                self._end(index, out)
            case "messageStart":
                self._seen = True
            case "messageStop":
                self._finished(fields.get("stopReason"))
            case "metadata":
                self._usage = as_dict(fields.get("usage")) or self._usage
                self.done = self.complete
            case "output":
                self._whole(as_dict(fields.get("message")), document, out)
            case "error":
                raise error_in_reply(self._origin, event)
            case _:
                pass

    def _whole(self, message: dict[str, Any], document: dict[str, Any], out: list[Delta]) -> None:
        for index, block in enumerate(as_list(message.get("content"))):
            self._start(index, as_dict(block), out)
            self._end(index, out)
        self._usage = as_dict(document.get("usage"))
        self._finished(document.get("stopReason"))
        self.done = self.complete

    def _finished(self, reason: Any) -> None:
        self._seen = True
        if as_text(reason):
            self._stop = as_text(reason)
            self.complete = True

    def _start(self, index: int, block: dict[str, Any], out: list[Delta]) -> None:
        self._seen = True
        self._blocks[index] = dict(block)
        self._pieces[index] = []
        if "text" in block:
            self._piece(index, as_text(block["text"]), TextDelta, out)
        elif "reasoningContent" in block:
            self._piece(index, as_text(_thought(block).get("text")), ReasoningDelta, out)
        elif "toolUse" in block and as_dict(block["toolUse"]).get("type") != _PROVIDERS_OWN:
            use = as_dict(block["toolUse"])
            opened = self._calls.open(as_text(use.get("toolUseId")), as_text(use.get("name")))
            self._slots[index] = opened.index
            self._blocks[index] = {"toolUse": use | {"toolUseId": opened.id}}
            out.append(opened)
            if use.get("input"):
                out.append(self._calls.add(opened.index, encode(use["input"]).decode()))

    def _piece(self, index: int, text: str, kind: type[TextDelta | ReasoningDelta], out: list[Delta]) -> None:
        if text:
            self._pieces[index].append(text)
            out.append(kind(text))

    def _delta(self, index: int, delta: dict[str, Any], out: list[Delta]) -> None:
        self._seen = True
        block = self._blocks.setdefault(index, {})
        self._pieces.setdefault(index, [])
        if "text" in delta:
            block.setdefault("text", "")
            self._piece(index, as_text(delta["text"]), TextDelta, out)
        elif "toolUse" in delta:
            text = as_text(as_dict(delta["toolUse"]).get("input"))
            if text and index in self._slots:
                out.append(self._calls.add(self._slots[index], text))
            elif text:
                self._pieces[index].append(text)
        elif "reasoningContent" in delta:
            self._thought_delta(index, block, as_dict(delta["reasoningContent"]), out)
        elif "citation" in delta:
            block["citations"] = [*as_list(block.get("citations")), delta["citation"]]

    def _thought_delta(self, index: int, block: dict[str, Any], thought: dict[str, Any], out: list[Delta]) -> None:
        content = as_dict(block.get("reasoningContent"))
        if hidden := as_text(thought.get("redactedContent")):
            block["reasoningContent"] = {"redactedContent": as_text(content.get("redactedContent")) + hidden}
            return
        known = as_dict(content.get("reasoningText"))
        if signature := as_text(thought.get("signature")):
            known = known | {"signature": as_text(known.get("signature")) + signature}
        block["reasoningContent"] = {"reasoningText": known}
        self._piece(index, as_text(thought.get("text")), ReasoningDelta, out)

    def _end(self, index: int, out: list[Delta]) -> None:
        if index in self._slots:
            out += self._calls.close(self._slots[index])

    def _content(self) -> list[dict[str, Any]]:
        """The blocks in the form they have in a whole message."""
        blocks = (self._complete_block(index) for index in sorted(self._blocks))
        return [block for block in blocks if block]

    def _complete_block(self, index: int) -> dict[str, Any]:
        block, text = self._blocks[index], "".join(self._pieces[index])
        if "text" in block:
            return {"text": text} | _citations(block)
        if "reasoningText" in as_dict(block.get("reasoningContent")):
            return {"reasoningContent": {"reasoningText": _thought(block) | {"text": text}}}
        if index in self._slots:
            arguments = _decode(self._calls.arguments(self._slots[index]))
            return {"toolUse": as_dict(block["toolUse"]) | {"input": arguments}}
        if "toolUse" in block and text:
            return {"toolUse": as_dict(block["toolUse"]) | {"input": _decode(text)}}
        return block

    def reply(self) -> Reply:
        if not self.complete:
            if not self._seen:
                raise bad_reply(self._origin, "the reply has no message")
            raise connection_lost(self._origin, "the stream ended before the reply was complete")
        content = self._content()
        text = "".join(as_text(block.get("text")) for block in content)
        reasoning = "".join(as_text(_thought(block).get("text")) for block in content)
        finish, usage = _FINISH.get(self._stop, "unknown"), self.spent()
        empty = not text and not len(self._calls)
        if finish == "filter" and empty:
            message = self._origin.message(f"the provider's filter withheld the reply ({self._stop})")
            raise ContentFilteredError(message, usage=usage, provider=self._origin.provider)
        if self._stop in _BROKEN_OFF:
            if empty:
                raise connection_lost(self._origin, f"the model stopped before the reply was complete ({self._stop})")
            finish = "error"
        if finish == "stop" and len(self._calls):
            finish = "calls"
        elif finish == "calls" and not len(self._calls):
            finish = "stop"
        return Reply(text, self._calls.raw(), reasoning, finish, usage, self._name, "", self._opaque(content))

    def _opaque(self, content: list[dict[str, Any]]) -> dict[str, Any] | None:
        plain = all(block.keys() == {"text"} or "type" not in block.get("toolUse", {"type": ""}) for block in content)
        return None if plain else {"api": API, "model": self._name, "content": content}

    def spent(self) -> Usage:
        fields = self._usage
        cached = as_count(fields.get("cacheReadInputTokens"))
        written = as_count(fields.get("cacheWriteInputTokens"))
        read = as_count(fields.get("inputTokens")) + cached + written
        usage = Usage(read, as_count(fields.get("outputTokens")), cached, written, requests=1)
        return with_cost(usage, self._profile.prices)


def _thought(block: dict[str, Any]) -> dict[str, Any]:
    return as_dict(as_dict(block.get("reasoningContent")).get("reasoningText"))


def _citations(block: dict[str, Any]) -> dict[str, Any]:
    return {"citations": block["citations"]} if "citations" in block else {}


def _decode(arguments: str) -> Any:
    """The arguments as a value; empty when they cannot be read, which the call itself reports."""
    try:
        return msgspec.json.decode(arguments) if arguments.strip() else {}
    except UNREADABLE:
        return {}
