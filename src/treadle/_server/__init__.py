"""Agents behind HTTP: `create_app` for any ASGI server, `serve` to run one. Needs the extra `server`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle._server.settings import ServerSettings

if TYPE_CHECKING:
    from treadle._server.app import create_app as create_app
    from treadle._server.uvicorn_server import make_server as make_server
    from treadle._server.uvicorn_server import serve as serve

__all__ = ["ServerSettings", "create_app", "make_server", "serve"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'treadle._server' has no attribute {name!r}")
    try:
        from treadle._server import app, uvicorn_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("starlette", "uvicorn"):
            from treadle._types.errors import MissingExtraError

            raise MissingExtraError("the server", "server") from error
        raise
    return getattr(app if name == "create_app" else uvicorn_server, name)
