"""The web page: built from `web/` when the package is built, kept in memory, served with a strict content policy."""

from __future__ import annotations

import gzip
from importlib.resources import files
from importlib.resources.abc import Traversable
from mimetypes import guess_type

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_NOT_BUILT = (
    "The server works, but its page has not been built.\n\n"
    "Build it in a checkout of the source with: python3 tasks.py page\n"
    "Installed packages contain it already. The API is described at /openapi.json.\n"
)
_COMPRESS_ABOVE = 1000
"""Bytes; shorter files are sent as they are."""


class Page:
    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, str]] = {}
        self._packed: dict[str, bytes] = {}
        folder = files("treadle._server") / "static"
        if folder.is_dir():
            self._read(folder, "")

    def _read(self, folder: Traversable, prefix: str) -> None:
        for entry in folder.iterdir():
            name = f"{prefix}{entry.name}"
            if entry.is_dir():
                self._read(entry, f"{name}/")
                continue
            self._files[name] = (entry.read_bytes(), guess_type(name)[0] or "application/octet-stream")

    def routes(self) -> list[Route]:
        return [Route("/", self._serve), *(Route(f"/{name}", self._serve) for name in self._files)]

    async def _serve(self, request: Request) -> Response:
        name = request.url.path.removeprefix(request.scope.get("root_path", "")).removeprefix("/") or "index.html"
        if name not in self._files:
            return PlainTextResponse(_NOT_BUILT)
        data, kind = self._files[name]
        # Names of assets carry a digest of their content.
        keep = "public, max-age=31536000, immutable" if name.startswith("assets/") else "no-cache"
        headers = {"content-security-policy": CSP, "cache-control": keep, "vary": "accept-encoding"}
        if len(data) > _COMPRESS_ABOVE and "gzip" in request.headers.get("accept-encoding", ""):
            if name not in self._packed:
                self._packed[name] = gzip.compress(data, mtime=0)
            return Response(self._packed[name], 200, {**headers, "content-encoding": "gzip"}, media_type=kind)
        return Response(data, 200, headers, media_type=kind)
