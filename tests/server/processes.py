"""Servers of ours as processes of their own, which a test can kill."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from programs import python
from server.serving import parse
from waiting import GUARD_SECONDS, eventually


class Process:
    """`program` gets the journal, the port, and whatever else is given."""

    def __init__(self, program: Path, journal: str, *more: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen([*python(), str(program), journal, str(self.port), *more])
        eventually(self.lives, "the server answers", seconds=120)

    def lives(self) -> bool:
        assert self.process.poll() is None, "the server ended"
        try:
            return self.ask("GET", "/health")["status"] == "ok"
        except OSError:
            return False

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=GUARD_SECONDS)
        try:
            data = json.dumps(body).encode() if body is not None else None
            connection.request(method, path, data, {"content-type": "application/json"} if data else {})
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def events(self, run: str, after: str = "") -> Iterator[dict[str, Any]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=GUARD_SECONDS)
        try:
            connection.request("GET", f"/api/runs/{run}/events", headers={"last-event-id": after} if after else {})
            yield from parse(connection.getresponse())
        finally:
            connection.close()

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, bytes]:
        """Status and whatever came of the body before the connection was lost."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=GUARD_SECONDS)
        status, parts = 0, list[bytes]()
        try:
            sent = {"content-type": "application/json", **{name.replace("_", "-"): it for name, it in headers.items()}}
            connection.request("POST", path, json.dumps(body).encode(), sent)
            response = connection.getresponse()
            status = response.status
            while part := response.read1(65536):
                parts.append(part)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
        return status, b"".join(parts)

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, how)
        self.process.wait(GUARD_SECONDS)
