"""Requests beside those to a model: for credentials, files and batches. One call, the whole answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from treadle._models.transport.failures import Origin, connection_lost, error_for_status, insecure
from treadle._models.transport.http import MAX_BODY, proxy_for, read_body, session
from treadle._models.transport.wire import read_as
from treadle._types.errors import ModelError

SECONDS = 30.0


class Answered(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def fields(self) -> dict[str, Any]:
        """Return the body as a JSON object, an empty one if it is something else."""
        return read_as(dict[str, Any], self.body) or {}

    def items(self) -> list[Any]:
        """Return the body as a JSON array, an empty one if it is something else."""
        return read_as(list[Any], self.body) or []


async def send(
    origin: Origin,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: Any = None,
    seconds: float = SECONDS,
    largest: int = MAX_BODY,
) -> Answered:
    """The answer, whatever its status; a network failure is a `TransientModelError`. Redirects are not followed: they
    would carry a key to another address."""
    import aiohttp
    from yarl import URL

    target = URL(url, encoded=True)
    timeout = aiohttp.ClientTimeout(total=seconds)
    client = await session()
    try:
        async with client.request(
            method,
            target,
            headers=dict(headers or {}),
            data=body,
            timeout=timeout,
            allow_redirects=False,
            **proxy_for(target),
        ) as response:
            data = await read_body(response, origin, largest)
            return Answered(response.status, response.headers, data)
    except aiohttp.ClientSSLError as error:
        raise insecure(origin, error) from None
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        # Without the cause: aiohttp's errors contain the request's headers.
        raise connection_lost(origin, f"no answer from {target.host}: {type(error).__name__}: {error}") from None


def failure(origin: Origin, answered: Answered) -> ModelError:
    return error_for_status(origin, answered.status, answered.headers, answered.body)
