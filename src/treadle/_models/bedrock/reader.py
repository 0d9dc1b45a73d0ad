"""Reads responses of Amazon Bedrock's Converse API: whole ones and event streams."""

from __future__ import annotations

from typing import Any

from treadle._models.bedrock.wire import API
from treadle._models.transport.failures import Origin, error_in_reply
from treadle._models.transport.reader import BlockReader, decoded
from treadle._models.transport.wire import as_count, as_dict, as_list, as_text, with_cost
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


class ConverseReader(BlockReader):
    def __init__(self, origin: Origin, profile: Profile, name: str) -> None:
        super().__init__(origin, profile, name)
        self._seen = False

    def _document(self, document: Any, out: list[Delta]) -> None:
        fields = as_dict(document)
        for kind, event in fields.items():
            self._event(kind, event, fields, out)

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
            use_id, name = as_text(use.get("toolUseId")), as_text(use.get("name"))
            call_id = self._start_call(index, use_id, name, use.get("input"), out)
            self._blocks[index] = {"toolUse": use | {"toolUseId": call_id}}

    def _delta(self, index: int, delta: dict[str, Any], out: list[Delta]) -> None:
        self._seen = True
        block = self._blocks.setdefault(index, {})
        self._pieces.setdefault(index, [])
        if "text" in delta:
            block.setdefault("text", "")
            self._piece(index, as_text(delta["text"]), TextDelta, out)
        elif "toolUse" in delta:
            self._add_arguments(index, as_text(as_dict(delta["toolUse"]).get("input")), out)
        elif "reasoningContent" in delta:
            self._thought_delta(index, block, as_dict(delta["reasoningContent"]), out)
        elif "citation" in delta:
            block["citations"] = [*as_list(block.get("citations")), delta["citation"]]

    def _thought_delta(self, index: int, block: dict[str, Any], thought: dict[str, Any], out: list[Delta]) -> None:
        content = as_dict(block.get("reasoningContent"))
        if hidden := as_text(thought.get("redactedContent")):
            block["reasoningContent"] = {"redactedContent": as_text(content.get("redactedContent")) + hidden}
            return
        reasoning = as_dict(content.get("reasoningText"))
        if signature := as_text(thought.get("signature")):
            reasoning = reasoning | {"signature": as_text(reasoning.get("signature")) + signature}
        block["reasoningContent"] = {"reasoningText": reasoning}
        self._piece(index, as_text(thought.get("text")), ReasoningDelta, out)

    def _complete_block(self, index: int) -> dict[str, Any]:
        block, text = self._blocks[index], "".join(self._pieces[index])
        if "text" in block:
            return {"text": text} | ({"citations": block["citations"]} if "citations" in block else {})
        if "reasoningText" in as_dict(block.get("reasoningContent")):
            return {"reasoningContent": {"reasoningText": _thought(block) | {"text": text}}}
        if index in self._slots:
            arguments = decoded(self._calls.arguments(self._slots[index]))
            return {"toolUse": as_dict(block["toolUse"]) | {"input": arguments}}
        if "toolUse" in block and text:
            return {"toolUse": as_dict(block["toolUse"]) | {"input": decoded(text)}}
        return block

    def reply(self) -> Reply:
        if not self.complete:
            raise self._cut_off(seen=self._seen)
        content = self._complete_blocks()
        text = "".join(as_text(block.get("text")) for block in content)
        reasoning = "".join(as_text(_thought(block).get("text")) for block in content)
        finish = _FINISH.get(self._stop, "unknown")
        empty = not text and not len(self._calls)
        if finish == "filter" and empty:
            raise self._withheld(self._stop)
        if self._stop in _BROKEN_OFF:
            if empty:
                raise self._broken_off(self._stop)
            finish = "error"
        finish, usage, opaque = self._agreed(finish), self.spent(), self._opaque(content)
        return Reply(text, self._calls.raw(), reasoning, finish, usage, self._name, "", opaque)

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
