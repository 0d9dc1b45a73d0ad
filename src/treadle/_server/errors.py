"""Errors as HTTP responses: a status, a type, and a message that says what to do."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from treadle._types.errors import ConfigError, JournalError, RunBusyError, RunNotFoundError, TreadleError


class ApiError(Exception):
    """An error with a status, a type and a message. `again` says whether the client should retry; None leaves it to the
    client, which usually retries 409 and 5xx on its own."""

    def __init__(
        self, status: int, kind: str, message: str, *, retry_after: float | None = None, again: bool | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.retry_after = retry_after
        self.again = again

    def saying(self, message: str) -> ApiError:
        """Return the same error with another message."""
        return ApiError(self.status, self.kind, message, retry_after=self.retry_after, again=self.again)


class UnreadableBody(ApiError):
    """A body that is not JSON: some protocols distinguish it from JSON with wrong fields."""

    def __init__(self, problem: object) -> None:
        super().__init__(400, "bad_request", f"the body cannot be read as JSON in UTF-8: {problem}")


def bad_request(message: str) -> ApiError:
    return ApiError(400, "bad_request", message)


def token_needed() -> ApiError:
    return ApiError(401, "unauthorized", "a token is needed: send the header `Authorization: Bearer <token>`")


def not_found(what: str, hint: str = "") -> ApiError:
    return ApiError(404, "not_found", f"there is no {what}" + (f"; {hint}" if hint else ""))


def conflict(message: str, *, again: bool | None = False) -> ApiError:
    """Make a conflict that the same request would meet again, unless `again` leaves it open."""
    return ApiError(409, "conflict", message, again=again)


def unprocessable(message: str) -> ApiError:
    return ApiError(422, "unprocessable", message)


def too_many(message: str, retry_after: float = 1.0) -> ApiError:
    return ApiError(429, "too_many_requests", message, retry_after=retry_after)


def from_engine(error: TreadleError) -> ApiError:
    """Convert an error of the engine; the client gets no details of errors that it can do nothing about."""
    match error:
        case RunNotFoundError():
            return ApiError(404, "not_found", str(error))
        case RunBusyError():
            return conflict(f"{error}; wait until it has finished, or send it a message", again=None)
        case JournalError():
            return ApiError(503, "journal_unavailable", "the journal is not available: try again", retry_after=5.0)
        case ConfigError():
            return bad_request(str(error))
        case _:
            return ApiError(500, "internal", "the run could not be started: the server's log says why")


def error_body(error: ApiError) -> dict[str, object]:
    """Return the error in the form that clients of the OpenAI protocol read, with a `type` for those of Anthropic's."""
    return {"type": "error", "error": {"type": error.kind, "message": error.message, "code": error.status}}


def error_response(error: ApiError) -> Response:
    body = msgspec.json.encode(error_body(error))
    headers = {"retry-after": str(max(1, round(error.retry_after)))} if error.retry_after is not None else {}
    if error.again is not None:  # the clients of the OpenAI protocol obey it
        headers["x-should-retry"] = str(error.again).lower()
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    if error.status in (408, 413):
        headers["connection"] = "close"  # the rest of the body is not read
    return Response(body, error.status, headers, media_type="application/json")
