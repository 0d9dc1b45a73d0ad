"""Operations about the server itself: health and metrics, and the browser's session."""

from __future__ import annotations

from starlette.responses import Response

from treadle._server.api import bodies as b
from treadle._server.api.operations import Call, Routes, answer
from treadle._server.authenticator import COOKIE
from treadle._server.errors import ApiError, too_many
from treadle._server.live.owned import id_prefix
from treadle._version import __version__

routes = Routes("session")

_WEEK = 7 * 86400


@routes("GET", "/health", b.Health, tag="server", open=True)
async def health(call: Call) -> Response:
    """Check that the server works."""
    return answer(
        b.Health(
            "stopping" if call.hub.closing else "ok",
            __version__,
            len(call.hub.runs),
            call.context.streams.in_use,
        )
    )


@routes("GET", "/metrics", "text/plain", tag="server")
async def metrics(call: Call) -> Response:
    """Return counters for Prometheus, to an operator: they are about everybody's runs."""
    if not call.context.authenticator.is_operator(call.principal):
        raise ApiError(403, "forbidden", "the metrics are for the operator: ServerSettings(operators=...) names who is")
    text = call.context.metrics.text(
        treadle_runs_live=len(call.hub.runs), treadle_streams_live=call.context.streams.in_use
    )
    return Response(text, media_type="text/plain; version=0.0.4")


@routes("GET", "/api/session", b.Session, open=True)
async def get_session(call: Call) -> Response:
    """Return who is logged in, and whether the page has to ask for a token."""
    return answer(_session(call.principal.user, needs_token=call.principal.role == "nobody"))


def _session(user: str, *, needs_token: bool = False) -> b.Session:
    return b.Session(user, needs_token, id_prefix(user))


@routes("POST", "/api/session", b.Session, body=b.Login, errors=(401,), open=True)
async def log_in(call: Call) -> Response:
    """Log a browser in with a token: it gets a cookie that scripts cannot read."""
    authenticator = call.context.authenticator
    login: b.Login = call.body
    user = authenticator.user_of(login.token)
    if not user:
        if wait := call.context.logins.spend(call.principal.address):
            raise too_many("too many wrong tokens: try again later", wait)
        raise ApiError(401, "unauthorized", "no user has this token")
    response = answer(_session(user))
    secure = call.request.url.scheme == "https"
    response.set_cookie(
        COOKIE, authenticator.session_of(login.token), max_age=_WEEK, httponly=True, samesite="strict", secure=secure
    )
    return response


@routes("DELETE", "/api/session", b.Done, open=True)
async def log_out(call: Call) -> Response:
    """Log the browser out."""
    response = answer(b.Done(True))
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response
