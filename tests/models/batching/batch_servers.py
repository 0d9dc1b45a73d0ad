"""Servers on loopback that answer as the documented batch interfaces do: OpenAI's, Anthropic's, Gemini's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from models.loopback import Answer, Received, reply

Say = Callable[[Any], Any]
"""What the pretended model says to the body of one request: the body of its response."""


class BatchServer:
    """One provider: batches end at the second poll. `fails` are keys that end without a result, once."""

    def __init__(self, say: Say) -> None:
        self.say = say
        self.batches: dict[str, dict[str, Any]] = {}
        """The requests of each batch, by key."""
        self.polls: dict[str, int] = {}
        self.lost: set[str] = set()
        """Batches whose first request expires."""
        self.never: bool = False
        """Batches do not end."""

    def keep(self, requests: dict[str, Any]) -> str:
        batch = f"batch_{len(self.batches) + 1}"
        self.batches[batch] = requests
        return batch

    def ended(self, batch: str) -> bool:
        self.polls[batch] = self.polls.get(batch, 0) + 1
        return not self.never and self.polls[batch] > 1

    def answered(self, batch: str) -> dict[str, Any]:
        found = {key: self.say(body) for key, body in self.batches[batch].items()}
        if batch in self.lost:
            found.pop(next(iter(found)))
        return found


def jsonl(lines: list[Any]) -> Answer:
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return Answer(pieces=[data], headers={"content-type": "application/x-jsonl"}, length=True)


class OpenAIServer(BatchServer):
    def __init__(self, say: Say) -> None:
        super().__init__(say)
        self.files: dict[str, list[Any]] = {}

    def __call__(self, request: Received) -> Answer:
        path = request.path
        if path == "/files":
            assert b'name="purpose"' in request.body
            lines = [
                json.loads(line)
                for line in request.body.split(b"\r\n")
                for line in line.split(b"\n")
                if line[:1] == b"{"
            ]
            assert {line["method"] for line in lines} == {"POST"}
            name = f"file-{len(self.files) + 1}"
            self.files[name] = lines
            return reply({"id": name, "object": "file", "purpose": "batch"})
        if path == "/batches":
            asked = request.json
            assert asked["completion_window"] == "24h"
            lines = self.files[asked["input_file_id"]]
            assert {line["url"] for line in lines} == {asked["endpoint"]}
            batch = self.keep({line["custom_id"]: line["body"] for line in lines})
            return reply({"id": batch, "object": "batch", "status": "validating"})
        if found := re.fullmatch(r"/batches/(\w+)", path):
            batch = found[1]
            ended = self.ended(batch)
            counts = {
                "total": len(self.batches[batch]),
                "completed": len(self.batches[batch]) if ended else 0,
                "failed": 0,
            }
            more = {"output_file_id": f"out-{batch}"} if ended else {}
            state = "completed" if ended else "in_progress"
            return reply({"id": batch, "status": state, "request_counts": counts, **more})
        batch = path.removeprefix("/files/out-").removesuffix("/content")
        return jsonl(
            [
                {"custom_id": key, "response": {"status_code": 200, "body": body}, "error": None}
                for key, body in self.answered(batch).items()
            ]
        )


class AnthropicServer(BatchServer):
    def __call__(self, request: Received) -> Answer:
        path = request.path
        if path == "/v1/messages/batches":
            asked = request.json["requests"]
            assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one["custom_id"]) for one in asked)
            batch = self.keep({one["custom_id"]: one["params"] for one in asked})
            return reply({"id": batch, "type": "message_batch", "processing_status": "in_progress"})
        if path.endswith("/results"):
            batch = path.split("/")[-2]
            lines = [
                {"custom_id": key, "result": {"type": "succeeded", "message": body}}
                for key, body in self.answered(batch).items()
            ]
            missing = self.batches[batch].keys() - self.answered(batch).keys()
            return jsonl(lines + [{"custom_id": key, "result": {"type": "expired"}} for key in missing])
        batch = path.split("/")[-1]
        ended = self.ended(batch)
        size = len(self.batches[batch])
        counts = {"processing": 0 if ended else size, "succeeded": size if ended else 0, "errored": 0}
        return reply({"id": batch, "processing_status": "ended" if ended else "in_progress", "request_counts": counts})


class GeminiServer(BatchServer):
    def __call__(self, request: Received) -> Answer:
        if request.path.endswith(":batchGenerateContent"):
            asked = request.json["batch"]["input_config"]["requests"]["requests"]
            batch = self.keep({one["metadata"]["key"]: one["request"] for one in asked})
            return reply({"name": f"batches/{batch}", "metadata": {"state": "BATCH_STATE_PENDING"}})
        batch = request.path.split("/")[-1]
        ended = self.polls.get(batch, 0) > 1 or self.ended(batch)
        stats = {"requestCount": str(len(self.batches[batch])), "successfulRequestCount": "0"}
        facts = {"state": "BATCH_STATE_SUCCEEDED" if ended else "BATCH_STATE_RUNNING", "batchStats": stats}
        if not ended:
            return reply({"name": request.path[1:], "metadata": facts})
        inlined = [{"response": body, "metadata": {"key": key}} for key, body in self.answered(batch).items()]
        response = {"inlinedResponses": {"inlinedResponses": inlined}}
        return reply({"name": request.path[1:], "metadata": facts, "done": True, "response": response})
