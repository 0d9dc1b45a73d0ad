"""The settings of the server, for its operator."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from treadle._safety.bounds import Count, Pause, Positive, Seconds, check_fields


class ServerSettings(Struct, frozen=True, kw_only=True):
    """The limits and policies of a server."""

    on_restart: Literal["resume", "leave"] = "resume"
    """What happens to unfinished runs when the server starts: resumed, or left until a client resumes them."""
    max_body: Count = 20_000_000
    """The most bytes a request body may have; a file in a question takes a third more than its size."""
    header_timeout: Seconds = 10.0
    """Seconds a client has to send the head of a request."""
    body_timeout: Seconds = 15.0
    """Seconds a client has to send the body of a request."""
    requests_per_second: Positive = 50.0
    """For each user, or for each address where there are no users."""
    request_burst: Count = 200
    """Requests that may come at once before that rate applies."""
    logins_per_second: Positive = 0.5
    """Wrong tokens one address may try, after the first ten."""
    max_runs: Count = 1000
    """Runs in progress at once."""
    max_runs_per_user: Count = 100
    """The same for each user."""
    max_streams: Count = 2000
    """Open event streams at once."""
    max_streams_per_user: Count = 200
    """The same for each user."""
    max_computations: Count = 2
    """Grounds of answers computed at once, one for each user: they take a processor."""
    flush: Pause = 0.05
    """Seconds text is collected before it is sent, so that a fast model does not cost one packet per token."""
    heartbeat: Seconds = 15.0
    """Seconds after which a silent stream sends a comment line; so long at most, a streamed answer waits for its first
    word."""
    send_timeout: Seconds = 30.0
    """Seconds a client may leave a full buffer unread before its connection is closed; it can reconnect."""
    poll: Seconds = 1.0
    """Seconds between reads of the journal, for streams of a run that another process drives."""
    grace: Pause = 5.0
    """Seconds runs get to finish when the server stops; the others are resumed at the next start."""
    models: tuple[str, ...] = ()
    """Models that a client may choose for a run instead of the agent's own, such as `openai:gpt-5`."""
    presets: tuple[str, ...] = ()
    """Presets that a client may choose for a run instead of the agent's own."""
    operators: tuple[str, ...] = ()
    """Users who may read `/metrics`; where it is empty, the only user may. Without tokens there is one user."""
    sources: tuple[str, ...] = ()
    """Files the agents are built from, for patches that an operator is shown."""
    cors_origins: tuple[str, ...] = ()
    """Other sites whose pages may call this server, such as `https://chat.example.com`."""
    open_cards: bool = True
    """Whether the A2A cards of the agents (names and descriptions) can be read without a token."""
    push_hosts: tuple[str, ...] = ()
    """Private hosts (`host` or `host:port`) to which push notifications of A2A may go."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names a server without tokens may be addressed by, besides those of the loopback."""

    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of reverse proxies whose `X-Forwarded-For`, `-Proto` and `-Host` are believed."""
    path_prefix: str = ""
    """The path that a proxy serves it under, such as `/agents`."""
    repeat_window: Seconds = 86400.0
    """Seconds in which a request that is sent again finds the run it has begun."""
    takeover: Seconds | None = None
    """Seconds between looks for runs that another server on the same journal left unfinished; None: only at start."""

    def __post_init__(self) -> None:
        check_fields(self, "ServerSettings.")
