"""The sockets a server listens on: opened first, so that a port that cannot be had is one line."""

from __future__ import annotations

import errno
import os
import socket
import sys

from treadle._types.errors import ConfigError


def listen(host: str, port: int, option: str = "--port") -> list[socket.socket]:
    """Sockets on every address that `host` stands for. `option` is what the message tells the user to change."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"there is no address {host!r} to listen on ({_reason(error)})") from None
    sockets: list[socket.socket] = []
    try:
        for family, address in dict.fromkeys((family, address) for family, *_, address in found):
            # A free port is chosen once: all addresses get the same one.
            chosen = sockets[0].getsockname()[1] if sockets and not port else port
            sockets.append(_bound(family, (address[0], chosen, *address[2:])))
    except OSError as error:
        for each in sockets:
            each.close()
        raise ConfigError(_why(error, host, port, option)) from None
    return sockets


def _bound(family: int, address: tuple[object, ...]) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix" and sys.platform != "cygwin":  # elsewhere it would let a second program share the port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and hasattr(socket, "IPV6_V6ONLY"):
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
        listening.listen(2048)  # now, not when the server starts: until then, two programs could have the same port
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def _why(error: OSError, host: str, port: int, option: str) -> str:
    if error.errno == errno.EADDRINUSE:
        fix = f"choose another with {option}, or {option} 0 for any free one"
        return f"port {port} on {host} is in use by another program: {fix}"
    if error.errno == errno.EACCES:
        return f"port {port} may not be used by this user: choose one from 1024 up with {option}"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine: listen on 127.0.0.1, or on 0.0.0.0 for all of them"
    return f"cannot listen on {host} port {port}: {_reason(error)}"


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
