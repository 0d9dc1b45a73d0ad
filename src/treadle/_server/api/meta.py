"""Operations about the server itself: health and metrics, and the browser's session."""

from __future__ import annotations

from starlette.responses import Response

from treadle._server.api import bodies as b
from treadle._server.api.operations import Call, Operation, answer
from treadle._server.authenticator import COOKIE
from treadle._server.errors import ApiError, too_many
from treadle._version import __version__

_WEEK = 7 * 86400


async def health(call: Call) -> Response:
    return answer(
        b.Health(
            "stopping" if call.hub.closing else "ok",
            __version__,
            len(call.hub.runs),
            call.context.streams.in_use,
        )
    )


async def metrics(call: Call) -> Response:
    text = call.context.metrics.text(
        treadle_runs_live=len(call.hub.runs), treadle_streams_live=call.context.streams.in_use
    )
    return Response(text, media_type="text/plain; version=0.0.4")


async def get_session(call: Call) -> Response:
    """Tells the page whether to ask for a token."""
    authenticator = call.context.authenticator
    return answer(b.Session(call.principal.user, not authenticator.open and not call.principal.user))


async def log_in(call: Call) -> Response:
    """Exchange a token for a cookie that scripts cannot read."""
    authenticator = call.context.authenticator
    login: b.Login = call.body
    user = authenticator.user_of(login.token)
    if not user:
        if wait := call.context.logins.spend(call.principal.address):
            raise too_many("too many wrong tokens: try again later", wait)
        raise ApiError(401, "unauthorized", "no user has this token")
    response = answer(b.Session(user, False))
    secure = call.request.url.scheme == "https"
    response.set_cookie(
        COOKIE, authenticator.session_of(login.token), max_age=_WEEK, httponly=True, samesite="strict", secure=secure
    )
    return response


async def log_out(call: Call) -> Response:
    response = answer(b.Done(True))
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


OPERATIONS = (
    Operation(
        method="GET",
        path="/health",
        handler=health,
        tag="server",
        open=True,
        summary="Whether the server works.",
        answers={200: b.Health},
    ),
    Operation(
        method="GET",
        path="/metrics",
        handler=metrics,
        tag="server",
        summary="Counters for Prometheus.",
        answers={200: "text/plain"},
    ),
    Operation(
        method="GET",
        path="/api/session",
        handler=get_session,
        tag="session",
        open=True,
        summary="Who is logged in.",
        answers={200: b.Session},
    ),
    Operation(
        method="POST",
        path="/api/session",
        handler=log_in,
        tag="session",
        body=b.Login,
        open=True,
        errors=(401,),
        summary="Log a browser in with a token.",
        answers={200: b.Session},
    ),
    Operation(
        method="DELETE",
        path="/api/session",
        handler=log_out,
        tag="session",
        open=True,
        summary="Log the browser out.",
        answers={200: b.Done},
    ),
)
