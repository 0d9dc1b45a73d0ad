"""Operations that look into a run: its records, requests and files, and its comparison with another run."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated
from urllib.parse import quote

from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._inspect.compare import RunComparison, compare_records
from treadle._inspect.prefixes import PrefixUse, prefixes
from treadle._server.api import bodies as b
from treadle._server.api.operations import Call, Routes, answer
from treadle._server.api.views import find_artifact, find_content, record_body, request_body
from treadle._server.errors import conflict, not_found
from treadle._server.live.branches import question_files
from treadle._types.events import RunStarted

routes = Routes("inspector")

ARTIFACT_CSP = (
    "sandbox; default-src 'none'; img-src data:; media-src data:; font-src data:; style-src 'unsafe-inline'; "
    "frame-ancestors 'self'"
)
_SHOWN_INLINE = ("text/", "image/", "audio/", "video/", "application/json", "application/pdf")


class CompareQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    first: Annotated[str, Meta(min_length=1, max_length=200)]
    second: Annotated[str, Meta(min_length=1, max_length=200)]


class PrefixList(Struct, frozen=True):
    requests: list[PrefixUse]


@routes("GET", "/api/runs/{run_id}/records", b.RecordList, query=b.RecordsQuery, errors=(404,))
async def run_records(call: Call) -> Response:
    """Return the run's log."""
    query: b.RecordsQuery = call.query
    run_id = await call.owned_run()
    records = [record for record in await call.hub.records(run_id) if record.seq > query.after]
    page = records[: query.limit]
    return answer(b.RecordList([record_body(record) for record in page], len(records) > len(page)))


@routes("GET", "/api/runs/{run_id}/requests/{seq}", b.RequestBody, errors=(404, 409))
async def run_request(call: Call) -> Response:
    """Return the exact request a record sent to the model."""
    run_id = await call.owned_run()
    return answer(request_body(await call.hub.records(run_id), call.seq))


@routes("GET", "/api/runs/{run_id}/artifacts/{name:path}", "*/*", tag="runs", query=b.ArtifactQuery, errors=(404, 409))
async def run_artifact(call: Call) -> Response:
    """Return a file that a tool made."""
    query: b.ArtifactQuery = call.query
    run_id = await call.owned_run()
    artifact = find_artifact(await call.hub.records(run_id), call.path("name"), query.call_id)
    content = _decoded(artifact.content) if artifact.base64 else artifact.content.encode()
    return file_response(content, artifact.mime, artifact.name, download=query.download)


@routes("GET", "/api/runs/{run_id}/files/{number}", "*/*", tag="runs", errors=(404, 409))
async def run_file(call: Call) -> Response:
    """Return a file that was sent with the question, by its place among them, from 0."""
    run_id, number = await call.owned_run(), call.path("number")
    started = (await call.hub.records(run_id))[0].event
    files = question_files(started.question) if isinstance(started, RunStarted) else []
    if not number.isascii() or not number.isdigit() or len(number) > 3 or int(number) >= len(files):
        raise not_found(f"file {number[:20]!r} of run {run_id[:80]!r}")
    part = files[int(number)]
    if not part.data:
        raise conflict("it was given by its address or its id at the provider: its content is not here")
    return file_response(_decoded(part.data), part.mime, part.name or f"file-{number}", download=False)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise conflict("it is marked as base64 but is not valid base64") from None


@routes("GET", "/api/runs/{run_id}/contents/{digest}", "*/*", query=b.ContentQuery, errors=(404,))
async def run_content(call: Call) -> Response:
    """Return the content of an image, a sound or a file that a record refers to with `blob`."""
    query: b.ContentQuery = call.query
    run_id = await call.owned_run()
    part, content = find_content(await call.hub.records(run_id), call.path("digest"))
    return file_response(content, part.mime, part.name, download=query.download)


def file_response(content: bytes, mime: str, name: str, *, download: bool) -> Response:
    """A file as it can be shown: in a sandbox without scripts, network or an origin."""
    mime = mime if mime.isascii() and mime.isprintable() else "application/octet-stream"
    inline = mime.startswith(_SHOWN_INLINE) and not download
    filename = quote(name.rsplit("/")[-1], safe="")
    headers = {
        "content-security-policy": ARTIFACT_CSP,
        "content-disposition": f"{'inline' if inline else 'attachment'}; filename*=utf-8''{filename}",
        "cache-control": "private, max-age=3600",
    }
    return Response(content, 200, headers, media_type=mime)


@routes("GET", "/api/compare", RunComparison, query=CompareQuery, errors=(404,))
async def compare_runs(call: Call) -> Response:
    """Compare two runs: their inputs, their steps and their results."""
    query: CompareQuery = call.query
    first, second = [await call.runs.owned(run_id) for run_id in (query.first, query.second)]
    return answer(compare_records(await call.hub.records(first), await call.hub.records(second)))


@routes("GET", "/api/runs/{run_id}/prefixes", PrefixList, errors=(404,))
async def run_prefixes(call: Call) -> Response:
    """Show the prefix that each request shares with the one before it."""
    run_id = await call.owned_run()
    return answer(PrefixList(prefixes(await call.hub.records(run_id))))
