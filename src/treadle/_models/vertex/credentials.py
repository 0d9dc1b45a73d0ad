"""Finds and renews Google's application-default credentials through google-auth, Google's own library (extra `vertex`).

google-auth blocks, so it runs in a thread. Its requests are sent by our own HTTP client, on the event loop: its usual
transport would add `requests` as a second client.
"""

from __future__ import annotations

import asyncio
import os
import threading
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from treadle._models.transport.failures import ONE_REQUEST, Origin, connection_lost
from treadle._models.transport.side_requests import SECONDS, send
from treadle._safety.secrets import known_secrets
from treadle._types.errors import (
    ConfigError,
    MissingExtraError,
    MissingKeyError,
    ModelError,
    RequestRefusedError,
    TreadleError,
)

SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class Credentials:
    """Returns the token that it is constructed with, or the one that google-auth finds and renews."""

    def __init__(self, origin: Origin, *, access_token: str = "", path: str = "", project: str = "") -> None:
        self._origin = origin
        self._access_token = access_token
        self._path = path
        self._project = project or os.environ.get("GOOGLE_CLOUD_PROJECT", "") or os.environ.get("GCLOUD_PROJECT", "")
        self._lock = threading.Lock()
        self._source: Any = None
        """google-auth's credentials: they know when their token has to be renewed, and how."""
        if access_token:
            self._protect(access_token)

    def __repr__(self) -> str:
        return "Credentials(...)"

    async def token(self) -> str:
        """Return the token to send now."""
        return self._access_token or await asyncio.to_thread(self._current_token, self._sender())

    async def project(self) -> str:
        """Return the project that is billed: an argument, a variable, the credentials' own, or the machine's."""
        if not self._project:
            try:
                await asyncio.to_thread(self._current_source, self._sender())
            except ConfigError:
                if not self._access_token:
                    raise
        if not self._project:
            raise ConfigError("vertex needs a project: pass project='my-project' or set GOOGLE_CLOUD_PROJECT")
        return self._project

    def forget(self) -> bool:
        """Look the token up again next time, because the provider does not accept it any more. Return False when it
        came as an argument, because then there is no other."""
        self._source = None
        return not self._access_token

    def _sender(self) -> Callable[..., Any]:
        """Return what google-auth calls in its thread to send a request; the running event loop sends it."""
        loop = asyncio.get_running_loop()

        def request(
            url: str,
            method: str = "GET",
            body: bytes | None = None,
            headers: Mapping[str, str] | None = None,
            timeout: float | None = None,
            **options: Any,
        ) -> Any:
            sending = send(self._origin, method, url, headers=headers, body=body, seconds=timeout or SECONDS)
            try:
                answered = asyncio.run_coroutine_threadsafe(sending, loop).result()
            except ModelError as error:
                raise _google("auth.exceptions").TransportError(str(error)) from None
            return SimpleNamespace(status=answered.status, headers=answered.headers, data=answered.body)

        return request

    def _current_token(self, request: Callable[..., Any]) -> str:
        source = self._current_source(request)
        states, failed = _google("auth.credentials").TokenState, _google("auth.exceptions").GoogleAuthError
        with self._lock:
            if source.token_state is not states.FRESH:
                try:
                    source.refresh(request)
                except (failed, ValueError, OSError) as error:
                    # A token that has not expired is still used: its source may be back before it does.
                    if source.token_state is states.INVALID:
                        raise self._failure(error) from None
                self._protect(source.token)
            return source.token

    def _current_source(self, request: Callable[..., Any]) -> Any:
        with self._lock:
            if self._source is None:
                self._source, project = self._find(request)
                self._project = self._project or project or getattr(self._source, "quota_project_id", None) or ""
            return self._source

    def _find(self, request: Callable[..., Any]) -> tuple[Any, str | None]:
        google, theirs = _google("auth"), _google("auth.exceptions")
        named = self._path or os.environ.get("GOOGLE_APPLICATION_CREDENTIALS", "")
        path = Path(named or _google("auth._cloud_sdk").get_application_default_credentials_path()).expanduser()
        try:
            if not named and not path.is_file():
                return google.default([SCOPE], request=request)
            with warnings.catch_warnings():
                # google-auth warns of files whose origin nobody knows; this one was named by the user or by gcloud.
                warnings.simplefilter("ignore", DeprecationWarning)
                # Not default(), which would load the file without our transport.
                source, project = google.load_credentials_from_dict(_read(path), request=request)
            # A user has agreed to scopes at sign-in and gets no others.
            return _google("auth.credentials").with_scopes_if_required(source, [SCOPE]), project
        except theirs.DefaultCredentialsError as error:
            if named or path.is_file():
                raise ConfigError(f"the credentials file {path} cannot be used: {error.args[0]}") from None
            raise MissingKeyError(
                f"{self._origin.provider} needs credentials: run `gcloud auth application-default login`, or set "
                "GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account"
            ) from None
        except (theirs.GoogleAuthError, ValueError, OSError) as error:
            raise self._failure(error) from None

    def _protect(self, token: str) -> None:
        self._origin.mask([token])
        known_secrets.keep(self, f"{self._origin.provider}-token", [token])

    def _failure(self, error: Exception) -> TreadleError:
        theirs = _google("auth.exceptions")
        text = f"no token of Google's: {error.args[0] if error.args else type(error).__name__}"
        if isinstance(error, theirs.TransportError) or getattr(error, "retryable", False):
            return connection_lost(self._origin, text)
        if isinstance(error, theirs.RefreshError):
            provider = self._origin.provider
            return RequestRefusedError(self._origin.message(text), usage=ONE_REQUEST, provider=provider)
        return ConfigError(self._origin.message(text))


def _google(module: str) -> Any:
    """Import a module of google-auth, which has few types."""
    try:
        return import_module(f"google.{module}")
    except ImportError:
        raise MissingExtraError("credentials of Google", "vertex") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise ConfigError(f"the credentials file {path} cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeError):
        raise ConfigError(f"the credentials file {path} is not a JSON object") from None
