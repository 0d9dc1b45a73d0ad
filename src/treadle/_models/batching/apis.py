"""The providers' batch interfaces: many requests at once, answered within a day, at half the price."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol
from urllib.parse import quote

import msgspec
from msgspec import Struct

from treadle._models.anthropic.model import AnthropicModel
from treadle._models.gemini.model import GeminiModel
from treadle._models.http_model import HttpModel
from treadle._models.openai.chat import OpenAIModel
from treadle._models.openai.responses import ResponsesModel
from treadle._models.transport.failures import bad_reply
from treadle._models.transport.side_requests import Answered, failure, send
from treadle._models.transport.wire import as_count, as_dict, as_list, as_text, encode, read_as

SECONDS = 300.0
"""For one request to the interface: a file of many requests is large."""
MAX_RESULTS = 1024 * 1024 * 1024


class Progress(Struct, frozen=True):
    """How far a batch is."""

    state: str
    """As the provider calls it."""
    done: int = 0
    total: int = 0
    ended: bool = False


class Result(Struct, frozen=True):
    """The response to one request of a batch: what the provider would have answered to it alone."""

    status: int
    body: bytes


class BatchApi(Protocol):
    largest: int
    """How many requests one batch may have."""

    async def submit(self, requests: Sequence[tuple[str, bytes]]) -> str:
        """Hand in requests, each under a key; returns the id of the batch."""
        ...

    async def poll(self, batch: str) -> Progress: ...

    async def results(self, batch: str) -> dict[str, Result]:
        """The responses of a batch that has ended. A key without one was cancelled, or has expired."""
        ...


def no_batch_reason(model: Any) -> str:
    """Explain to whoever wanted a batch why requests to this model are sent one by one."""
    match getattr(model, "provider", ""):
        case "bedrock" | "vertex":
            return "the batches of Bedrock and Vertex read from and write to a bucket of yours, which is not supported"
        case _ if isinstance(model, HttpModel) and not model.at_home and model.provider in _KNOWN:
            return f"{model.address} is not {model.provider}'s own address"
        case _:
            return "only those of OpenAI, Anthropic and Gemini are known"


_KNOWN = ("openai", "openai-responses", "anthropic", "gemini")


def batch_api_for(model: Any, *, anywhere: bool = False) -> BatchApi | None:
    """The batch interface behind a model; None when there is none. Only providers themselves are known to have one,
    not the compatible servers, unless the caller says so (`anywhere`)."""
    if not isinstance(model, HttpModel) or not (anywhere or model.at_home):
        return None
    match model.provider:
        case "openai" | "openai-responses" if isinstance(model, OpenAIModel | ResponsesModel):
            return OpenAIBatches(model)
        case "anthropic" if isinstance(model, AnthropicModel):
            return AnthropicBatches(model)
        case "gemini" if isinstance(model, GeminiModel):
            return GeminiBatches(model)
        case _:
            return None


class _Requests:
    """Requests to a model's provider, beside those to the model."""

    largest = 10_000

    def __init__(self, model: HttpModel) -> None:
        self._model = model

    async def _call(self, method: str, path: str, body: Any = None, *, json: bool = True) -> Answered:
        connection = self._model.connection
        headers = dict(connection.headers)
        if not json:
            headers.pop("content-type", None)
        data = encode(body) if json and body is not None else body
        url = connection.base_url + path
        answered = await send(
            connection.origin, method, url, headers=headers, body=data, seconds=SECONDS, largest=MAX_RESULTS
        )
        if not answered.ok:
            raise failure(connection.origin, answered)
        return answered

    async def _fields(self, method: str, path: str, body: Any = None, *, json: bool = True) -> dict[str, Any]:
        return (await self._call(method, path, body, json=json)).fields()

    def _id_in(self, fields: dict[str, Any], name: str) -> str:
        if value := as_text(fields.get(name)):
            return value
        raise bad_reply(self._model.connection.origin, f"the batch interface gave no {name}", encode(fields))


class OpenAIBatches(_Requests):
    """A file of requests, a batch of that file, and files of responses and errors."""

    largest = 50_000

    async def submit(self, requests: Sequence[tuple[str, bytes]]) -> str:
        import aiohttp

        path = f"/v1{self._model.path}"
        lines = [
            encode({"custom_id": key, "method": "POST", "url": path, "body": msgspec.Raw(body)})
            for key, body in requests
        ]
        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field("file", b"\n".join(lines) + b"\n", filename="batch.jsonl", content_type="application/jsonl")
        file = await self._fields("POST", "/files", form, json=False)
        asked = {"input_file_id": self._id_in(file, "id"), "endpoint": path, "completion_window": "24h"}
        return self._id_in(await self._fields("POST", "/batches", asked), "id")

    async def poll(self, batch: str) -> Progress:
        fields = await self._fields("GET", f"/batches/{quote(batch)}")
        counts, state = as_dict(fields.get("request_counts")), as_text(fields.get("status"))
        done = as_count(counts.get("completed")) + as_count(counts.get("failed"))
        ended = state in ("completed", "failed", "expired", "cancelled")
        return Progress(state, done, as_count(counts.get("total")), ended)

    async def results(self, batch: str) -> dict[str, Result]:
        fields = await self._fields("GET", f"/batches/{quote(batch)}")
        results: dict[str, Result] = {}
        if errors := fields.get("errors"):  # the file itself was refused: no request has a response
            raise bad_reply(self._model.connection.origin, "the batch was refused", encode(errors))
        for name in ("output_file_id", "error_file_id"):
            if file := as_text(fields.get(name)):
                for line in _lines(await self._call("GET", f"/files/{quote(file)}/content")):
                    response = as_dict(line.get("response"))
                    body = response.get("body") or {"error": line.get("error")}
                    results[as_text(line.get("custom_id"))] = Result(
                        as_count(response.get("status_code")), encode(body)
                    )
        return results


class AnthropicBatches(_Requests):
    largest = 100_000

    @property
    def _path(self) -> str:
        home = self._model.connection.base_url.endswith("/v1")
        return "/messages/batches" if home else "/v1/messages/batches"

    async def submit(self, requests: Sequence[tuple[str, bytes]]) -> str:
        asked = [{"custom_id": key, "params": msgspec.Raw(body)} for key, body in requests]
        return self._id_in(await self._fields("POST", self._path, {"requests": asked}), "id")

    async def poll(self, batch: str) -> Progress:
        fields = await self._fields("GET", f"{self._path}/{quote(batch)}")
        counts, state = as_dict(fields.get("request_counts")), as_text(fields.get("processing_status"))
        done = sum(as_count(counts.get(name)) for name in ("succeeded", "errored", "canceled", "expired"))
        return Progress(state, done, done + as_count(counts.get("processing")), state == "ended")

    async def results(self, batch: str) -> dict[str, Result]:
        results: dict[str, Result] = {}
        for line in _lines(await self._call("GET", f"{self._path}/{quote(batch)}/results")):
            result, key = as_dict(line.get("result")), as_text(line.get("custom_id"))
            if result.get("type") == "succeeded":
                results[key] = Result(200, encode(result.get("message")))
            elif result.get("type") == "errored":
                error = as_dict(result.get("error"))
                kind = as_text((as_dict(error.get("error")) or error).get("type"))
                results[key] = Result(_STATUS.get(kind, 400), encode(error))
        return results


_STATUS = {"api_error": 500, "overloaded_error": 529, "rate_limit_error": 429, "timeout_error": 408}
"""The status that an error has outside of a batch, by its type; others are refusals."""


class GeminiBatches(_Requests):
    """Requests inside of one message, which is limited to 20 MB."""

    largest = 1_000

    async def submit(self, requests: Sequence[tuple[str, bytes]]) -> str:
        name = quote(self._model.name.removeprefix("models/"))
        asked = [{"request": msgspec.Raw(body), "metadata": {"key": key}} for key, body in requests]
        batch = {"display_name": "treadle", "input_config": {"requests": {"requests": asked}}}
        return self._id_in(await self._fields("POST", f"/models/{name}:batchGenerateContent", {"batch": batch}), "name")

    async def poll(self, batch: str) -> Progress:
        fields = await self._fields("GET", f"/{quote(batch)}")
        facts = as_dict(fields.get("metadata"))
        counts = {name: _number(value) for name, value in as_dict(facts.get("batchStats")).items()}
        done = counts.get("successfulRequestCount", 0) + counts.get("failedRequestCount", 0)
        return Progress(as_text(facts.get("state")), done, counts.get("requestCount", 0), bool(fields.get("done")))

    async def results(self, batch: str) -> dict[str, Result]:
        fields = await self._fields("GET", f"/{quote(batch)}")
        if error := fields.get("error"):
            raise bad_reply(self._model.connection.origin, "the batch failed", encode(error))
        inlined = as_dict(as_dict(fields.get("response")).get("inlinedResponses")).get("inlinedResponses")
        results: dict[str, Result] = {}
        for one in map(as_dict, as_list(inlined)):
            key = as_text(as_dict(one.get("metadata")).get("key"))
            if "response" in one:
                results[key] = Result(200, encode(one["response"]))
            else:
                results[key] = Result(as_count(as_dict(one.get("error")).get("code")) or 500, encode(one))
        return results


def _number(value: Any) -> int:
    """Counts of 64 bits are text in Google's JSON."""
    return int(value) if isinstance(value, str) and value.isdecimal() else as_count(value)


def _lines(answered: Answered) -> Iterable[dict[str, Any]]:
    return (read_as(dict[str, Any], line) or {} for line in answered.body.split(b"\n") if line.strip())
