"""The SDK's OAuth with tokens that are stored in a file; a person is asked only when a login is wanted."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.auth.utils import extract_scope_from_www_auth, union_scopes
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyHttpUrl, AnyUrl, ValidationError

from treadle._safety.data import DataError, decode_json
from treadle._tools.mcp.auth.callback import CallbackListener, LoginFailedError, plain_code
from treadle._tools.mcp.auth.guarded_http import GuardedHttp
from treadle._tools.mcp.auth.settings import McpAuth, ShowLogin
from treadle._tools.mcp.auth.store import CredentialFile, Credentials

MAX_LOGINS = 3
"""How often one connection asks a person; a server that wants more each time gets no more."""
_ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
_ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
_TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"


class LoginNeededError(Exception):
    """The server asks for a login, or for more rights, and there is nobody here who could log in."""

    def __init__(self, scope: str = "") -> None:
        super().__init__("a login is needed")
        self.scope = scope


class FileStorage:
    """The SDK's token storage, in the file of the server. Nothing is written before there are tokens."""

    def __init__(self, file: CredentialFile, stored: Credentials) -> None:
        self.file, self.stored = file, stored
        self.context: Any = None

    async def get_tokens(self) -> OAuthToken | None:
        return _as(OAuthToken, self.stored.tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return _as(OAuthClientInformationFull, self.stored.client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.stored = msgspec.structs.replace(self.stored, client=_plain(client_info))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.stored = msgspec.structs.replace(
            self.stored,
            tokens=_plain(tokens),
            expires_at=None if tokens.expires_in is None else time.time() + tokens.expires_in,
            metadata=_plain(self.context.oauth_metadata),
            resource=_plain(self.context.protected_resource_metadata),
        )
        self.file.write(self.stored)


class MemoryStorage:
    """For grants that need no person: a token is asked for again."""

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass


class LoginProvider(OAuthClientProvider):
    """Uses the stored tokens and refreshes them; a person is asked only where there is a `show`."""

    def __init__(
        self,
        server_url: str,
        auth: McpAuth,
        storage: FileStorage,
        http: GuardedHttp,
        show: ShowLogin | None,
        listener: CallbackListener | None,
    ) -> None:
        super().__init__(
            server_url,
            OAuthClientMetadata(
                client_name="Treadle",
                redirect_uris=[AnyUrl(listener.address if listener else "http://127.0.0.1/callback")],
                scope=auth.scope or None,
                token_endpoint_auth_method=None,
            ),
            storage,
            self._redirect,
            self._callback,
            client_metadata_url=auth.client_metadata_url or None,
        )
        storage.context = self.context
        self._auth, self._storage, self._http = auth, storage, http
        self._show, self._listener = show, listener
        self._state = self._issuer = ""
        self._logins = 0
        self._wants_more = False

    async def _initialize(self) -> None:
        await super()._initialize()
        stored = self._storage.stored
        self.context.token_expiry_time = stored.expires_at
        self.context.oauth_metadata = _as(OAuthMetadata, stored.metadata)
        self.context.protected_resource_metadata = _as(ProtectedResourceMetadata, stored.resource)
        if self._auth.client_id:
            self.context.client_info = OAuthClientInformationFull(
                client_id=self._auth.client_id,
                client_secret=self._auth.client_secret or None,
                token_endpoint_auth_method=self._auth.token_auth if self._auth.client_secret else "none",
                redirect_uris=self.context.client_metadata.redirect_uris,
                issuer=self._auth.issuer or None,
            )

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """A token that the server no longer takes is refreshed once before anybody is asked to log in again."""
        if self._storage.file.changed() and self._show is None:  # another process logged in, or refreshed
            self._storage.stored = self._storage.file.read()
            self._initialized = False
        for first in (True, False):
            flow, refreshed, again = super()._auth_flow(request), False, False
            try:
                outgoing = await anext(flow)
                while not again:
                    refreshed = refreshed or outgoing is not request
                    response = yield outgoing
                    if outgoing is request and _is_challenge(response):
                        self._wants_more = response.status_code == 403
                        again = first and not refreshed and response.status_code == 401 and self._expire()
                        if not again and self._show is None:
                            raise LoginNeededError(self._scope_to_ask(response))
                    elif outgoing is not request:
                        response = self._legacy_metadata(outgoing, response)
                    if not again:
                        outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return
            finally:
                await flow.aclose()

    def _legacy_metadata(self, asked: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """Servers of 2025-03-26 are their own authorization server, and some name an issuer below their origin. What an
        origin says of itself is taken; the SDK takes only the origin as the issuer, so it is shown that until later."""
        if self.context.auth_server_url is not None or asked.url.path != "/.well-known/oauth-authorization-server":
            return response
        issuer, own = urlsplit(_field(response.content, "issuer")), urlsplit(self.context.server_url)
        if response.status_code != 200 or not issuer.path.strip("/") or issuer[:2] != own[:2]:
            return response
        self._issuer = issuer.geturl()
        fields = {**decode_json(response.content, dict[str, Any]), "issuer": f"{own.scheme}://{own.netloc}"}
        return httpx2.Response(200, content=msgspec.json.encode(fields), request=asked)

    async def _perform_authorization(self) -> httpx2.Request:
        asked, metadata = self.context.client_metadata, self.context.oauth_metadata
        if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise LoginFailedError("the authorization server does not protect logins with PKCE (S256)")
        if self._auth.scope:  # the SDK asks for what the server names; what the user named comes first
            asked.scope = union_scopes(self._auth.scope, asked.scope) if self._wants_more else self._auth.scope
        if self._issuer and self.context.oauth_metadata is not None:
            self.context.oauth_metadata.issuer = AnyHttpUrl(self._issuer)
        return await super()._perform_authorization()

    def _scope_to_ask(self, challenge: httpx2.Response) -> str:
        """Compute the scope to ask for, so that the refused call will work and all earlier ones still do."""
        tokens = self.context.current_tokens
        wanted = _sayable(extract_scope_from_www_auth(challenge)) if challenge.status_code == 403 else ""
        held = union_scopes(self._auth.scope, tokens.scope if tokens is not None else None)
        return (_sayable(union_scopes(held, wanted)) or wanted) if wanted else ""

    def _expire(self) -> bool:
        """Treat the token as expired; return whether it can be refreshed."""
        self.context.token_expiry_time = 1.0
        return self.context.can_refresh_token()

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        if response.status_code != 200 and self._storage.file.changed():
            self._storage.stored = self._storage.file.read()  # another process refreshed: its tokens are the valid ones
            await self._initialize()
            return self.context.is_token_valid()
        refreshed = await super()._handle_refresh_response(response)
        if not refreshed and 400 <= response.status_code < 500:  # it will not be taken the next time either
            self._storage.stored = msgspec.structs.replace(self._storage.stored, tokens={}, expires_at=None)
        return refreshed

    async def _redirect(self, address: str) -> None:
        if self._show is None or self._listener is None:
            raise LoginNeededError
        self._logins += 1
        if self._logins > MAX_LOGINS:
            raise LoginFailedError(f"the server asked for a login {self._logins} times in one connection")
        self._http.require_scheme(address)
        self._state = parse_qs(urlsplit(address).query).get("state", [""])[-1]
        await self._show(address)

    async def _callback(self) -> AuthorizationCodeResult:
        assert self._listener is not None
        params = await self._listener.wait(self._state or secrets.token_urlsafe())
        return AuthorizationCodeResult(code=params["code"], state=params.get("state"), iss=params.get("iss"))


async def open_provider(
    server_url: str,
    auth: McpAuth,
    file: CredentialFile,
    http: GuardedHttp,
    show: ShowLogin | None,
    stack: AsyncExitStack,
    *,
    anew: bool = False,
) -> httpx2.Auth:
    """Return the authorization of one connection. `anew`: ignore the stored tokens."""
    if auth.grant == "client_credentials":
        return ClientCredentialsOAuthProvider(
            server_url,
            MemoryStorage(),
            auth.client_id,
            auth.client_secret,
            token_endpoint_auth_method=auth.token_auth,
            scope=auth.scope or None,
            issuer=auth.issuer,
        )
    if auth.grant == "private_key_jwt":
        signed = SignedJWTParameters(
            issuer=auth.client_id,
            subject=auth.client_id,
            signing_algorithm=auth.signing_algorithm,
            signing_key=auth.private_key,
        )
        return PrivateKeyJWTOAuthProvider(
            server_url,
            MemoryStorage(),
            auth.client_id,
            signed.create_assertion_provider(),
            scope=auth.scope or None,
            issuer=auth.issuer,
        )
    if auth.grant == "identity_assertion":
        return _identity_provider(server_url, auth, http)
    stored = file.read()
    listener = None
    if show is not None:
        listener, stored = _listener(auth, stored)
        stack.callback(listener.close)
    if anew:
        stored = msgspec.structs.replace(stored, tokens={}, expires_at=None)
    return LoginProvider(server_url, auth, FileStorage(file, stored), http, show, listener)


def _listener(auth: McpAuth, stored: Credentials) -> tuple[CallbackListener, Credentials]:
    """A client that was registered with an address is used with that address; else a new one is registered."""
    client = _as(OAuthClientInformationFull, stored.client)
    registered = next((address.port or 0 for address in (client.redirect_uris if client else None) or ()), 0)
    try:
        return CallbackListener(auth.redirect_port or registered), stored
    except OSError as error:
        if auth.redirect_port:
            raise LoginFailedError(f"port {auth.redirect_port} cannot be used: {error.strerror}") from None
        return CallbackListener(), msgspec.structs.replace(stored, client={})


def _identity_provider(server_url: str, auth: McpAuth, http: GuardedHttp) -> IdentityAssertionOAuthProvider:
    async def assertion(audience: str, resource: str) -> str:
        data = {
            "grant_type": _TOKEN_EXCHANGE,
            "requested_token_type": _ID_JAG,
            "subject_token": auth.identity_token,
            "subject_token_type": _ID_TOKEN,
            "audience": audience,
            "resource": resource,
            "client_id": auth.identity_client_id,
        }
        response = await http.send(httpx2.Request("POST", auth.identity_endpoint, data=data))
        token = _field(response.content, "access_token")
        if response.status_code != 200 or not token:
            code = plain_code(_field(response.content, "error"))
            raise LoginFailedError(f"the identity provider refused ({response.status_code}): {code}")
        return token

    return IdentityAssertionOAuthProvider(
        server_url,
        MemoryStorage(),
        auth.client_id,
        auth.client_secret,
        auth.issuer,
        assertion,
        scope=auth.scope or None,
        token_endpoint_auth_method=auth.token_auth,
    )


def _field(body: bytes, name: str) -> str:
    try:
        value: Any = decode_json(body, dict[str, Any]).get(name)
    except DataError:
        return ""
    return value if isinstance(value, str) else ""


def _is_challenge(response: httpx2.Response) -> bool:
    return response.status_code == 401 or (
        response.status_code == 403 and "insufficient_scope" in response.headers.get("www-authenticate", "")
    )


def _sayable(scope: str | None) -> str:
    """Scopes come from servers, and are repeated in a message that a model may read."""
    return scope if scope and scope.isprintable() and len(scope) <= 200 else ""


def _as(kind: Any, fields: dict[str, Any]) -> Any:
    try:
        return kind.model_validate(fields) if fields else None
    except ValidationError:
        return None


def _plain(value: Any) -> dict[str, Any]:
    return {} if value is None else value.model_dump(mode="json", exclude_none=True)
