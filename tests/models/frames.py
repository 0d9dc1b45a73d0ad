"""Writes Amazon's binary event streams, for servers on loopback."""

from __future__ import annotations

import json
import struct
from typing import Any
from zlib import crc32


def frame(payload: bytes, **headers: str) -> bytes:
    """One frame; `event_type` stands for the header `:event-type`."""
    written = b""
    for name, value in headers.items():
        key, text = f":{name.replace('_', '-')}".encode(), value.encode()
        written += struct.pack(">B", len(key)) + key + struct.pack(">BH", 7, len(text)) + text
    return with_checksums(written, payload)


def with_checksums(written: bytes, payload: bytes) -> bytes:
    """One frame with headers as they are written."""
    head = struct.pack(">II", 16 + len(written) + len(payload), len(written))
    body = head + struct.pack(">I", crc32(head)) + written + payload
    return body + struct.pack(">I", crc32(body))


def event_frame(kind: str, value: Any) -> bytes:
    payload = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    return frame(payload, event_type=kind, content_type="application/json", message_type="event")


def exception_frame(kind: str, message: str) -> bytes:
    payload = json.dumps({"message": message}).encode()
    return frame(payload, exception_type=kind, content_type="application/json", message_type="exception")
