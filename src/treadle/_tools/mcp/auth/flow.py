"""Drives an authorization: its own requests go through the guarded client, and its failures become a sentence."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack

import httpx2
from mcp.client.auth import OAuthFlowError

from treadle._safety.logs import get_logger
from treadle._tools.mcp.auth.access import Access
from treadle._tools.mcp.auth.callback import LoginFailedError, plain_code
from treadle._tools.mcp.auth.guarded_http import GuardedHttp, RefusedAddressError
from treadle._tools.mcp.auth.provider import LoginNeededError, open_provider
from treadle._types.errors import ConfigError

logger = get_logger()
get_logger("mcp.client.auth.oauth2")  # it logs what authorization servers answer


class AccessFlow(httpx2.Auth):
    """The `auth` of an HTTP client. When it cannot authorize, the server's refusal is what the caller gets, and
    `access.problem` says why: an exception here would end the connection for the other calls as well."""

    requires_response_body = True

    def __init__(self, access: Access, provider: httpx2.Auth | None, http: GuardedHttp) -> None:
        self._access, self._provider, self._http = access, provider, http
        self._given_up = False

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        access = self._access
        if self._given_up:  # nobody is asked twice, and no other error hides the first
            yield request
            return
        if self._provider is None:
            self._note((yield request).status_code)
            return
        flow = self._provider.async_auth_flow(request)
        sent: httpx2.Response | None = None
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is request:
                    response = sent = yield request
                else:
                    response = await self._http.send(outgoing)
                    access.logged_in = access.logged_in or (sent is not None and outgoing.method == "POST")
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            if sent is not None:
                self._note(sent.status_code)
        except LoginNeededError as needed:
            access.problem = access.refused(sent.status_code if sent is not None else 401, needed.scope)
        except (OAuthFlowError, LoginFailedError, RefusedAddressError, ConfigError, httpx2.HTTPError) as error:
            self._given_up = True
            access.problem = f"authorization failed: {_plain(error)}"
            logger.warning("the MCP server %r: %s", access.name, access.problem)
        finally:
            await flow.aclose()
        if sent is None:
            yield request

    def _note(self, status: int) -> None:
        self._access.problem = self._access.refused(status) if status in (401, 403) else ""


def _plain(error: Exception) -> str:
    """Without what a server wrote, except its error code: it may be meant for the model, or repeat a secret."""
    if isinstance(error, (LoginFailedError, RefusedAddressError, ConfigError)):
        return str(error)
    if isinstance(error, httpx2.HTTPError):
        return f"an authorization server cannot be reached ({type(error).__name__})"
    text = " ".join(str(error).split())
    if code := re.search(r'"error"\s*:\s*"([a-z_]{1,40})"', text):
        return f"the authorization server said: {plain_code(code[1])}"
    parts = ("issuer mismatch", "iss mismatch", "State parameter mismatch", "does not match expected", "missing iss")
    for part in parts:
        if part in text:
            return f"what the servers say does not fit together ({part})"
    return re.sub(r"[^A-Za-z ]+.*", "", text)[:80].strip().lower() or type(error).__name__


async def open_flow(access: Access, stack: AsyncExitStack) -> httpx2.Auth:
    """The authorization of a new connection; the stack closes what it opens."""
    auth = access.auth
    trusted = [address for address in (auth.issuer, auth.identity_endpoint) if address]
    http = GuardedHttp(access.url, trusted)
    if access.has_key:
        return AccessFlow(access, None, http)
    try:
        http.require_scheme(access.url)
    except RefusedAddressError:
        access.plain_http = True
        return AccessFlow(access, None, http)
    provider = await open_provider(
        access.url, auth, access.file(), http, access.show, stack, anew=access.anew and not access.logged_in
    )
    return AccessFlow(access, provider, http)
