"""An OpenAI-compatible server with configurable abilities, and a probe of it."""

from __future__ import annotations

import json
from typing import Any

from kit import go
from models.loopback import Answer, Loopback, Received, reply, stream
from treadle._models.catalog.probe import Report, probe
from treadle._models.catalog.probe_target import target_of

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
EVERYTHING = frozenset(
    {"tools", "parallel", "forced", "json", "schema", "stream", "usage", "stream_usage", "list", "logprobs"}
)


class Server:
    """`can` is what works. Without `tools` calls come as text; `refuses` names request fields that get a 400."""

    def __init__(
        self,
        can: set[str] | frozenset[str] = EVERYTHING,
        *,
        refuses: tuple[str, ...] = (),
        entry: dict[str, Any] | None = None,
    ):
        self.can = can
        self.refuses = refuses
        self.entry = entry or {}
        self.received: list[Received] = []

    def __call__(self, request: Received) -> Answer:
        self.received.append(request)
        if request.path.endswith("/models"):
            if "list" not in self.can or not request.path.startswith("/v1"):
                return reply({"error": {"message": "not here"}}, 404)
            return reply(
                {
                    "object": "list",
                    "data": [{"id": "text-embed-1"}, {"id": "small-model", **self.entry}, {"id": "other"}],
                }
            )
        if request.path.startswith("/props"):
            return reply({"default_generation_settings": {"n_ctx": 4096}})
        body = request.json
        for field in self.refuses:
            if field in body:
                return reply(
                    {"error": {"message": f"{field} is not supported here", "type": "invalid_request_error"}}, 400
                )
        message = self.message(body)
        if body.get("stream"):
            return self.streamed(message)
        return self.whole(message, self.logprobs(str(message["content"])) if body.get("logprobs") else None)

    def logprobs(self, text: str) -> Any:
        """The whole text up to the value, then the value: with what else the model could have written, or without."""
        at = text.find("quartz")
        if at < 0 or not self.can & {"logprobs", "constrained_logprobs"}:
            return None
        others = [{"token": "quartz", "logprob": -1.5}]
        others += [{"token": "gran", "logprob": -0.3}] if "logprobs" in self.can else []
        return {"content": [{"token": text[:at], "top_logprobs": []}, {"token": "quartz", "top_logprobs": others}]}

    def message(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = str(body["messages"][-1].get("content"))
        if body["messages"][-1]["role"] == "tool":
            return {"content": "It is 31 degrees and sunny in Paris."}
        if body.get("tools"):
            return self.calls(asked, body.get("tool_choice"))
        wanted = body.get("response_format", {}).get("type")
        if wanted == "json_schema" and "schema" in self.can:
            return {"content": '{"stone": "quartz-7", "count": 3}'}
        if wanted and "json" in self.can:
            return {"content": '{"greeting": "Hello!"}'}
        if "JSON" in asked:
            return {"content": '```json\n{"greeting": "Hello!"}\n```'}
        if "numbers" in asked:
            return {"content": "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12"}
        return {"content": "Paris", **({"reasoning_content": "France, so Paris."} if "think" in self.can else {})}

    def calls(self, asked: str, choice: Any) -> dict[str, Any]:
        forced = isinstance(choice, dict)
        cities = [city for city in ("Paris", "Rome") if city in asked] or ["Oslo"]
        if forced:
            return (
                {"content": None, "tool_calls": [_call(0, "Oslo")]}
                if "forced" in self.can
                else {"content": "Hello! How can I help?"}
            )
        if "tools" not in self.can:
            return {"content": '```json\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n```'}
        cities = cities if "parallel" in self.can else cities[:1]
        return {"content": None, "tool_calls": [_call(index, city) for index, city in enumerate(cities)]}

    def whole(self, message: dict[str, Any], logprobs: Any = None) -> Answer:
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        document: dict[str, Any] = {
            "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}]
        }
        if logprobs is not None:
            document["choices"][0]["logprobs"] = logprobs
        if "usage" in self.can:
            document["usage"] = USAGE
        return reply(document)

    def streamed(self, message: dict[str, Any]) -> Answer:
        text = message["content"]
        if "stream" in self.can:
            pieces = [text[start : start + 4] for start in range(0, len(text), 4)]
        elif "half_stream" in self.can:
            return stream(_event({"delta": {"content": text[:6]}}), fault="close")
        else:
            pieces = [text]
        events = [_event({"delta": {"content": piece}}) for piece in pieces] + [
            _event({"delta": {}, "finish_reason": "stop"})
        ]
        if "stream_usage" in self.can:
            events.append(f"data: {json.dumps({'choices': [], 'usage': USAGE})}\n\n")
        return stream(*events, "data: [DONE]\n\n")


def _call(index: int, city: str) -> dict[str, Any]:
    arguments = json.dumps({"city": city})
    return {
        "index": index,
        "id": f"call_{index}",
        "type": "function",
        "function": {"name": "get_weather", "arguments": arguments},
    }


def _event(choice: dict[str, Any]) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, **choice}]})}\n\n"


def examine(server: Server, **options: Any) -> Report:
    async def main() -> Report:
        async with Loopback(server) as loopback:
            target = await target_of(loopback.url)
            return await probe(target.model, target.claimed, window=target.window, **options)

    return go(main())


def findings(report: Report) -> dict[str, bool | None]:
    return {finding.ability: finding.works for finding in report.findings}


def note(report: Report, ability: str) -> str:
    return next(finding.note for finding in report.findings if finding.ability == ability)
