"""The way out of a sandbox, by host: an HTTP proxy on a socket that is bound into it, for the hosts of a list.

The sandbox has no network of its own. `RELAY` runs in it and passes on what programs send to a port there, which the
usual variables name as their proxy.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import shutil
import socket
import socketserver
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from treadle._tools.builtin.http.addresses import is_public, system_resolve
from treadle._types.errors import ConfigError

_NAME = re.compile(r"(\*\.)?([a-z0-9_-]+\.)*[a-z0-9_-]+(:[0-9]{1,5})?", re.I)
_WEB_PORTS = (80, 443)
_MOST_HEAD = 65_536
_CONNECT_SECONDS = 20
_INSIDE = "/run/treadle-gateway"
_PORT = 3128


def copy(source: socket.socket, target: socket.socket) -> None:
    """Pass on what comes, until there is no more."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for end, how in ((source, socket.SHUT_RD), (target, socket.SHUT_WR)):
        with suppress(OSError):
            end.shutdown(how)


RELAY = f"""
from __future__ import annotations
import os, socket, sys, threading
from contextlib import suppress
{inspect.getsource(copy)}
server = socket.create_server(('127.0.0.1', {_PORT}))
if os.fork():
    os.execvp(sys.argv[1], sys.argv[1:])
for fd in range(3):
    os.dup2(os.open(os.devnull, os.O_RDWR), fd)
while True:
    ours = server.accept()[0]
    out = socket.socket(socket.AF_UNIX)
    try:
        out.connect('{_INSIDE}')
    except OSError:
        ours.close()
        continue
    for pair in ((ours, out), (out, ours)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
"""


class Gateway:
    """Lets programs of a sandbox reach some hosts: `pypi.org`, `*.pythonhosted.org`, `localhost:8080`."""

    def __init__(self, hosts: Sequence[str]) -> None:
        for host in hosts:
            if not _NAME.fullmatch(host):
                raise ConfigError(
                    f"network: {host!r} is no host; write it like 'pypi.org', '*.example.com' or 'a:8080'"
                )
        parted = [host.lower().partition(":") for host in hosts]
        self._hosts = [(name, (int(port),) if port else _WEB_PORTS) for name, _, port in parted]
        folder = tempfile.mkdtemp(prefix="treadle-", dir="/tmp")  # the path of a socket may not be long
        server = _Server(str(Path(folder) / "way"), _Request)
        server.gateway = self
        threading.Thread(target=server.serve_forever, args=(0.2,), daemon=True, name="treadle-gateway").start()
        self.options = ["--ro-bind", str(Path(folder) / "way"), _INSIDE]
        """The options of bubblewrap with which it is there."""
        self.close = weakref.finalize(self, _end, server, folder)

    def environment(self) -> dict[str, str]:
        names = ("http_proxy", "https_proxy", "all_proxy")
        address = f"http://127.0.0.1:{_PORT}"
        return {one: address for name in names for one in (name, name.upper())} | {"no_proxy": "localhost,127.0.0.1"}

    def line(self, argv: Sequence[str]) -> list[str]:
        """Return the command line that runs a program beside the relay."""
        return [sys.executable, "-I", "-S", "-c", RELAY, *argv]

    def connect(self, host: str, port: int) -> socket.socket | None:
        """A connection to a host that is on the list; None where it is not."""
        host = host.lower().rstrip(".")
        named = any(host == name and port in ports for name, ports in self._hosts)
        below = any(name[:2] == "*." and host.endswith(name[1:]) and port in ports for name, ports in self._hosts)
        if not named and not below:
            return None
        # Whoever has a name below an allowed domain must not lead into this network with it.
        addresses = asyncio.run(system_resolve(host, port))
        for address in addresses if named else filter(is_public, addresses):
            with suppress(OSError):
                return socket.create_connection((address, port), timeout=_CONNECT_SECONDS)
        raise OSError("it cannot be reached")


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    gateway: Gateway

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: what a program in the sandbox sends wrongly ends its connection."""


class _Request(socketserver.StreamRequestHandler):
    timeout = 300
    rbufsize = 0  # what follows the head is passed on unread

    def handle(self) -> None:
        line = self.rfile.readline(_MOST_HEAD)
        headers: list[bytes] = []
        while (one := self.rfile.readline(_MOST_HEAD)) not in (b"\r\n", b"\n", b"") and len(headers) < 200:
            if not one.lower().startswith(b"proxy-"):
                headers.append(one)
        method, target, *_ = line.decode("latin-1").split(" ")
        url = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = url.hostname or "", url.port or (443 if method == "CONNECT" else 80)
        try:
            out = cast("_Server", self.server).gateway.connect(host, port) if url.scheme in ("", "http") else None
        except OSError as error:
            self.wfile.write(b"HTTP/1.1 502 " + str(error).encode("latin-1", "replace")[:200] + b"\r\n\r\n")
            return
        if out is None:
            text = f"this sandbox may not reach {host}:{port}; its user can allow it (treadle code --host {host})\n"
            head = f"HTTP/1.1 403 Not allowed\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
            self.wfile.write((head + text).encode("latin-1", "replace"))
            return
        with out:
            if method == "CONNECT":
                self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                path = (url.path or "/") + (f"?{url.query}" if url.query else "")
                others = [one for one in headers if not one.lower().startswith(b"connection:")]
                head = f"{method} {path} HTTP/1.1\r\nConnection: close\r\n".encode("latin-1")
                out.sendall(head + b"".join(others) + b"\r\n")
            back = threading.Thread(target=copy, args=(out, self.connection), daemon=True)
            back.start()
            copy(self.connection, out)
            back.join()


def _end(server: _Server, folder: str) -> None:
    server.shutdown()
    server.server_close()
    shutil.rmtree(folder, ignore_errors=True)
