"""Hosts of servers: which are this machine, and what a bare host stands for."""

from __future__ import annotations


def is_local(host: str) -> bool:
    """Tell whether `host` is this machine."""
    return (
        host in ("localhost", "::1", "0.0.0.0", "host.docker.internal")
        or host.startswith("127.")
        or host.endswith(".localhost")
    )


def ollama_address(value: str) -> str:
    """The address that Ollama's variable means: often a bare host, which stands for the usual port there, and 0.0.0.0
    or no host at all when the server listens on all interfaces."""
    scheme, stated, rest = value.strip().rpartition("://")
    host, slash, path = rest.partition("/")
    name, colon, port = host.rpartition(":")
    if not colon or "]" in port or (name.count(":") and not name.endswith("]")):
        name, port = host, ""
    name = f"[{name}]" if ":" in name and not name.startswith("[") else name
    name = "127.0.0.1" if name in ("", "0.0.0.0", "[::]") else name
    port = port or ("" if stated else "11434")
    return f"{scheme or 'http'}://{name}{':' if port else ''}{port}{slash}{path}"
