"""What an operator can choose about the server."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class ServerSettings(Struct, frozen=True, kw_only=True):
    """The limits and policies of a server."""

    on_restart: Literal["resume", "leave"] = "resume"
    """What becomes of unfinished runs when the server starts: gone on with, or left until somebody asks for them."""
    max_body: int = 2_000_000
    """Bytes a request may have."""
    header_timeout: float = 10.0
    """Seconds a client has to send the head of a request."""
    body_timeout: float = 15.0
    """Seconds a client has to send the body of a request."""
    requests_per_second: float = 50.0
    """For each user, or for each address where there are no users."""
    request_burst: int = 200
    logins_per_second: float = 0.5
    """Wrong tokens one address may try, after a first handful."""
    max_runs: int = 1000
    """Runs under way at once."""
    max_runs_per_user: int = 100
    max_streams: int = 2000
    """Connections that follow runs at once."""
    max_streams_per_user: int = 200
    flush: float = 0.05
    """Seconds text may be gathered before it is sent, so that fast models do not cost a packet for every token."""
    heartbeat: float = 15.0
    """Seconds of silence after which a stream says that it is still there."""
    send_timeout: float = 30.0
    """Seconds a client may leave a full buffer unread before its connection is closed. It can come back and go on."""
    poll: float = 1.0
    """Seconds between looks into the journal, for followers of a run that another process drives."""
    grace: float = 5.0
    """Seconds runs get to finish when the server stops; what is left is gone on with at the next start."""
    cors_origins: tuple[str, ...] = ()
    """Other sites whose pages may call this server, such as `https://chat.example.com`."""
    allowed_hosts: tuple[str, ...] = ()
    """Names under which this server may be addressed when it asks for no token, beside those of the loopback."""
