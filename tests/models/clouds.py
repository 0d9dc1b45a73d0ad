"""The wire formats of the big clouds, for the contract tests: Amazon Bedrock and Google Vertex."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from models.frames import event_frame, exception_frame
from models.loopback import Answer, reply, split
from models.wires import KEY, AnthropicWire, ChatWire, GeminiWire, Sample, Sent, Wire, pieces
from treadle._models.base import complete
from treadle._models.bedrock.model import BedrockModel
from treadle._models.bedrock.wire import NO_CALLS
from treadle._models.http_model import HttpModel
from treadle._models.vertex.model import VertexModel
from treadle._types.messages import UserMessage
from treadle._types.request import Request

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def without_cloud_credentials(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """A machine without credentials of any cloud: no variables, an empty home, no metadata service."""
    import os

    for variable in list(os.environ):
        if variable.startswith(("AWS_", "GOOGLE_", "GCLOUD_", "CLOUDSDK_", "GCE_")):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")


class BedrockWire(Wire):
    """Signed requests. The secret that is looked for is the session token: the secret key itself is never sent."""

    name = "bedrock"
    key_header = "x-amz-security-token"
    _usage = {"inputTokens": 60, "outputTokens": 20, "totalTokens": 120, "cacheReadInputTokens": 40}
    _finish = {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens"}

    def model(self, url: str, **options: Any) -> HttpModel:
        return BedrockModel(
            CLAUDE,
            base_url=url,
            region="us-east-1",
            access_key="AKIDEXAMPLE",
            secret_key="wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            session_token=KEY,
            **options,
        )

    def _blocks(self, sample: Sample) -> list[dict[str, Any]]:
        thought = {"reasoningText": {"text": sample.reasoning, "signature": "c2ln"}}
        thoughts = [{"reasoningContent": thought}] if sample.reasoning else []
        uses = [
            {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}
            for call_id, name, arguments in sample.calls
        ]
        return [*thoughts, *([{"text": sample.text}] if sample.text else []), *uses]

    def whole(self, sample: Sample) -> Answer:
        message = {"role": "assistant", "content": self._blocks(sample)}
        stop = {"stopReason": self._finish[sample.finish], "usage": self._usage, "metrics": {"latencyMs": 7}}
        return reply({"output": {"message": message}, **stop})

    def documents(self, sample: Sample) -> list[Any]:
        out: list[Any] = [{"messageStart": {"role": "assistant"}}]
        for index, block in enumerate(self._blocks(sample)):
            place = {"contentBlockIndex": index}
            deltas: list[dict[str, Any]] = []
            if "text" in block:
                deltas = [{"text": piece} for piece in pieces(block["text"])]
            elif "reasoningContent" in block:
                thought = block["reasoningContent"]["reasoningText"]
                deltas = [{"reasoningContent": {"text": piece}} for piece in pieces(thought["text"])]
                deltas.append({"reasoningContent": {"signature": thought["signature"]}})
            else:
                use = dict(block["toolUse"])
                written = json.dumps(use.pop("input")) if use["input"] else ""
                out.append({"contentBlockStart": {**place, "start": {"toolUse": use}}})
                deltas = [{"toolUse": {"input": piece}} for piece in pieces(written)]
            out += [{"contentBlockDelta": {**place, "delta": delta}} for delta in deltas]
            out.append({"contentBlockStop": place})
        out.append({"messageStop": {"stopReason": self._finish[sample.finish]}})
        return [*out, {"metadata": {"usage": self._usage, "metrics": {"latencyMs": 7}}}]

    def events(self, sample: Sample) -> list[str]:
        raise AssertionError("these events are not text")

    def error_event(self, message: str) -> str:
        raise AssertionError("these events are not text")

    def encoded(self, sample: Sample) -> list[bytes]:
        frames = [event_frame(kind, value) for item in self.documents(sample) for kind, value in item.items()]
        return [*frames[:-2], frames[-2] + frames[-1]]

    def encoded_error(self, message: str) -> bytes:
        return exception_frame("serviceUnavailableException", message)

    def framed(self, body: bytes) -> bytes:
        return event_frame("contentBlockDelta", body)

    def send(self, *pieces: bytes, **changes: Any) -> Answer:
        return Answer(pieces=pieces, headers={"content-type": "application/vnd.amazon.eventstream"}, **changes)

    def streamed(self, sample: Sample, how: str) -> Answer:
        frames = self.encoded(sample)
        match how:
            case "one" | "seven" | "crlf":
                return self.send(*split(b"".join(frames), {"one": 1, "seven": 7}.get(how, 13)))
            case "comments":
                other = event_frame("somethingNew", {"contentBlockIndex": 0})
                return self.send(*(other + item for item in frames))
            case "no end":
                return self.send(b"".join(frames), no_framing=True)
            case _:
                return self.send(*frames, gzipped=how == "gzip")

    def error(self, status: int, message: str, **headers: str) -> Answer:
        return reply({"message": message}, status, **{"x-amzn-errortype": "SomeException:http://x/", **headers})

    @property
    def overflow(self) -> str:
        return "Input is too long for requested model."

    def sent(self, body: Any) -> Sent:
        texts, calls, results = [], [], []
        for message in body["messages"]:
            for block in message["content"]:
                if "text" in block:
                    texts.append(block["text"])
                elif use := block.get("toolUse"):
                    calls.append((use["toolUseId"], use["name"], use["input"]))
                elif result := block.get("toolResult"):
                    results.append((result["toolUseId"], result["content"][0]["text"]))
        system = "".join(block.get("text", "") for block in body.get("system", ())).removesuffix(NO_CALLS)
        listed = body.get("toolConfig", {}).get("tools", ())
        tools = tuple(tool["toolSpec"]["name"] for tool in listed if "toolSpec" in tool)
        return Sent(system, tuple(texts), tuple(calls), tuple(results), tools, False)

    async def ask_without_key(self, model: type[HttpModel]) -> None:
        """Credentials may come from a service: only the first request can tell that there are none."""
        asked = model("gpt-5", base_url="https://example.com/v1")
        await complete(asked, Request([UserMessage("hi")]))


class BedrockKeyWire(BedrockWire):
    """With an API key of Bedrock instead of a signature."""

    name = "bedrock-key"
    key_header = "authorization"

    def model(self, url: str, **options: Any) -> HttpModel:
        return BedrockModel(CLAUDE, base_url=url, region="us-east-1", api_key=KEY, **options)


class OnVertex(Wire):
    """What is the same for all models on Vertex: a token that is given, and credentials that are looked up late."""

    key_header = "authorization"

    async def ask_without_key(self, model: type[HttpModel]) -> None:
        asked = model("gemini-2.5-flash", base_url="https://example.com/v1", project="p")
        await complete(asked, Request([UserMessage("hi")]))


class VertexGeminiWire(OnVertex, GeminiWire):
    name = "vertex-gemini"
    key_header = "authorization"

    def model(self, url: str, **options: Any) -> HttpModel:
        return VertexModel("gemini-2.5-flash", base_url=url, project="p1", access_token=KEY, **options)


class VertexClaudeWire(OnVertex, AnthropicWire):
    name = "vertex-claude"
    key_header = "authorization"

    def model(self, url: str, **options: Any) -> HttpModel:
        return VertexModel("claude-sonnet-4-5@20250929", base_url=url, project="p1", access_token=KEY, **options)


class VertexChatWire(OnVertex, ChatWire):
    name = "vertex-chat"
    key_header = "authorization"

    def model(self, url: str, **options: Any) -> HttpModel:
        known = {"tool_call": True, "forced_tool": True, **options.pop("abilities", {})}
        name = "meta/llama-3.3-70b-instruct-maas"
        return VertexModel(name, base_url=url, project="p1", access_token=KEY, abilities=known, **options)
