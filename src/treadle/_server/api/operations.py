"""Operations of the API: `Routes` declares them, for routing and the OpenAPI document; `perform` answers a request."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from treadle._safety.data import DataError, InvalidDataError, decode_json
from treadle._safety.logs import get_logger
from treadle._server.authenticator import Authenticator, Principal
from treadle._server.errors import (
    ApiError,
    UnreadableBody,
    bad_request,
    error_response,
    from_engine,
    token_needed,
    too_many,
)
from treadle._server.limits import ConcurrencyLimit, RateLimit
from treadle._server.live.branches import OwnedRun
from treadle._server.live.hub import Hub
from treadle._server.live.owned import Runs
from treadle._server.live.push import Push
from treadle._server.live.repeats import Repeats
from treadle._server.live.sse import EventStream
from treadle._server.metrics import Metrics
from treadle._server.settings import ServerSettings
from treadle._types.errors import TreadleError

logger = get_logger("treadle.server")


class Context:
    """Holds the objects that all operations of one server share."""

    def __init__(
        self, hub: Hub, authenticator: Authenticator, settings: ServerSettings, metrics: Metrics, push: Push
    ) -> None:
        self.hub = hub
        self.push = push
        self.authenticator = authenticator
        self.settings = settings
        self.metrics = metrics
        self.requests = RateLimit(settings.requests_per_second, settings.request_burst)
        self.logins = RateLimit(settings.logins_per_second, 10)
        self.computations = ConcurrencyLimit("grounds to compute", settings.max_computations, 1)
        self.differences = ConcurrencyLimit("differences to compute", 200, 20)
        self.computing = asyncio.Semaphore(settings.max_computations)
        """Differences wait for each other: a view asks for several at once."""
        self.repeats = Repeats(hub, settings.repeat_window)
        self.streams = ConcurrencyLimit("streams", settings.max_streams, settings.max_streams_per_user)


class Call(Struct, frozen=True):
    """One request after its checks: who sent it, its body and its query."""

    request: Request
    context: Context
    principal: Principal
    body: Any = None
    query: Any = None

    @property
    def hub(self) -> Hub:
        return self.context.hub

    @property
    def runs(self) -> Runs:
        """The runs that whoever sent this may see."""
        return Runs(self.hub, self.principal)

    def path(self, name: str) -> str:
        return str(self.request.path_params[name])

    @property
    def seq(self) -> int:
        """The number of a record, in the path."""
        text = self.path("seq")
        if not text.isascii() or not text.isdigit() or len(text) > 15:
            raise bad_request("the number of a record must be a non-negative integer")
        return int(text)

    async def owned_run(self) -> OwnedRun:
        """Return the run of the path; it must be one that the user may see."""
        return await self.runs.owned(self.path("run_id"))


Handler = Callable[[Call], Awaitable[Response]]


class Operation(Struct, frozen=True, kw_only=True):
    method: str
    path: str
    handler: Handler
    tag: str
    answers: Mapping[int, Any]
    """The content of each successful status: a type (sent as JSON), the name of a media type, or None."""
    body: type[Struct] | None
    query: type[Struct] | None
    errors: tuple[int, ...]
    """Statuses of its own, besides those any operation may answer with."""
    open: bool
    """Allowed without a token."""
    refusal: Callable[[ApiError], Response]
    """Turns an error into a response, in the form of its protocol."""
    refused: type[Struct] | None
    """The body of such a response, where it is not our own form."""

    @property
    def name(self) -> str:
        return self.handler.__name__

    @property
    def summary(self) -> str:
        """The first paragraph of the handler's docstring."""
        return " ".join((self.handler.__doc__ or "").partition("\n\n")[0].split())


class Routes:
    """Collects the operations of one module: `@routes("GET", "/health", Health)` stands above a handler."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.operations: list[Operation] = []

    def __call__(
        self,
        method: str,
        path: str,
        answers: dict[int, Any] | tuple[type, str] | type | str,
        *,
        tag: str = "",
        body: type[Struct] | None = None,
        query: type[Struct] | None = None,
        errors: tuple[int, ...] = (),
        open: bool = False,
        refusal: Callable[[ApiError], Response] = error_response,
        refused: type[Struct] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Declare an operation. `answers` is the content of status 200, or a mapping of statuses to contents."""

        def declare(handler: Handler) -> Handler:
            operation = Operation(
                method=method,
                path=path,
                handler=handler,
                tag=tag or self.tag,
                answers=answers if isinstance(answers, dict) else {200: answers},
                body=body,
                query=query,
                errors=errors,
                open=open,
                refusal=refusal,
                refused=refused,
            )
            self.operations.append(operation)
            return handler

        return declare


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")


async def perform(operation: Operation, request: Request, context: Context) -> Response:
    """Answer a request; an error becomes a response too."""
    try:
        response = await operation.handler(await _checked(operation, request, context))
    except ApiError as error:
        response = operation.refusal(error)
    except TreadleError as error:
        logger.info("%s refused: %s", operation.name, error)
        response = operation.refusal(from_engine(error))
    except ClientDisconnect:
        response = operation.refusal(ApiError(408, "client_gone", "the request ended before its body was complete"))
    except Exception:
        reference = secrets.token_hex(4)
        logger.exception("%s failed (reference %s)", operation.name, reference)
        response = operation.refusal(
            ApiError(500, "internal", f"internal error; the server's log has the details under {reference}")
        )

    def count(status: int) -> None:
        context.metrics.count("treadle_http_requests_total", operation=operation.name, status=str(status))

    if isinstance(response, EventStream):
        response.on_begin = count
    else:
        count(response.status_code)
    return response


async def _checked(operation: Operation, request: Request, context: Context) -> Call:
    context.authenticator.check_origin(request)
    principal = context.authenticator.principal(request)
    if principal is None:
        address = request.client.host if request.client else ""
        if not operation.open:
            if ("authorization" in request.headers or "x-api-key" in request.headers) and (
                wait := context.logins.spend(address)
            ):
                raise too_many("too many wrong tokens: try again later", wait)
            raise token_needed()
        principal = Principal(address=address)
    if wait := context.requests.spend(principal.key):
        raise too_many("too many requests: send them more slowly", wait)
    query = _query(operation.query, request)
    body = await _body(operation.body, request, context.settings)
    return Call(request, context, principal, body, query)


def _query(shape: type[Struct] | None, request: Request) -> Any:
    if shape is None:
        return None
    try:
        return msgspec.convert(dict(request.query_params), shape, strict=False)
    except msgspec.ValidationError as error:
        raise bad_request(f"invalid query: {error}; it takes {', '.join(shape.__struct_encode_fields__)}") from None


async def _body(shape: type[Struct] | None, request: Request, settings: ServerSettings) -> Any:
    if shape is None:
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise _wrong_media(f"send JSON, with the header `Content-Type: application/json` (not {kind[:80]!r})")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise _wrong_media(f"send the body as it is, not with the encoding {encoding[:40]!r}")
    try:
        async with asyncio.timeout(settings.body_timeout):
            data = await _read(request, settings.max_body)
    except TimeoutError:
        raise ApiError(408, "timeout", f"the body did not arrive within {settings.body_timeout:g} seconds") from None
    try:
        return decode_json(data, shape)
    except InvalidDataError as error:
        unknown = str(error).partition("unknown field")[2]
        takes = f"; it takes {', '.join(shape.__struct_encode_fields__)}" if unknown and " - at " not in unknown else ""
        raise bad_request(f"invalid body: {error}{takes}") from None
    except DataError as error:
        raise UnreadableBody(error) from None


def _wrong_media(message: str) -> ApiError:
    return ApiError(415, "unsupported_media_type", message)


async def _read(request: Request, limit: int) -> bytes:
    too_large = ApiError(413, "too_large", f"the body is larger than {limit} bytes")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise too_large
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise too_large
        chunks.append(chunk)
    return b"".join(chunks)
