"""Finds Amazon's keys and signs requests with them, through botocore, Amazon's own library (extra `bedrock`).

botocore reads files and asks services, which blocks, so everything here that uses it runs in a thread. Requests to the
model are sent by our own HTTP client.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from treadle._models.transport.failures import Origin, connection_lost, error_for_status
from treadle._safety.secrets import known_secrets
from treadle._types.errors import ConfigError, MissingExtraError, MissingKeyError, TreadleError

LOOKUP_SECONDS = 60.0
SERVICE = "bedrock"


class Credentials:
    """Signs requests with the keys that it is constructed with, or with those that botocore finds and renews."""

    def __init__(
        self,
        origin: Origin,
        region: str,
        *,
        profile: str = "",
        access_key: str = "",
        secret_key: str = "",
        session_token: str = "",
    ) -> None:
        self._origin = origin
        self._region = region
        self._profile = profile
        self._arguments = (access_key, secret_key, session_token) if access_key else None
        self._lock = threading.Lock()
        self._source: Any = None
        """botocore's credentials: they know when they have to be renewed, and how."""
        self._keys: Any = None
        """The keys that were used last."""
        if self._arguments:
            self._protect([secret_key, session_token])

    def __repr__(self) -> str:
        return "Credentials(...)"

    async def sign(self, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
        """Return the headers of a POST request with its signature. `url` is written as it will be sent."""
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                return await asyncio.to_thread(self._sign, url, headers, body)
        except TimeoutError:
            raise connection_lost(self._origin, f"no AWS keys were found within {LOOKUP_SECONDS:g} s") from None

    def forget(self) -> bool:
        """Look the keys up again next time, because the provider says that they have expired. Return False when they
        came as arguments, because then there are no others."""
        self._source = self._keys = None
        return self._arguments is None

    def _sign(self, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
        request = _botocore("awsrequest").AWSRequest("POST", url, headers=dict(headers), data=body)
        _botocore("auth").SigV4Auth(self._current_keys(), SERVICE, self._region).add_auth(request)
        return dict(request.headers)

    def _current_keys(self) -> Any:
        theirs = _botocore("exceptions")
        with self._lock:
            try:
                if self._source is None:
                    self._source = self._find()
                keys = self._source.get_frozen_credentials()
            except (theirs.BotoCoreError, theirs.ClientError, OSError, ValueError, KeyError, RuntimeError) as error:
                # Keys that have not expired are still used: their source may be back before they do.
                if self._source is None or self._keys is None or self._source.refresh_needed(0):
                    raise self._failure(error) from None
                return self._keys
            if keys != self._keys:
                self._protect([keys.secret_key, keys.token or ""])
                self._keys = keys
            return keys

    def _find(self) -> Any:
        if self._arguments:
            access_key, secret_key, session_token = self._arguments
            return _botocore("credentials").Credentials(access_key, secret_key, session_token or None)
        session = open_session(self._profile)
        session.set_config_variable("region", self._region)
        source = session.get_credentials()
        if source is None:
            raise MissingKeyError(
                f"{self._origin.provider} needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                "AWS_BEARER_TOKEN_BEDROCK (a Bedrock API key), or AWS_PROFILE after `aws configure` or `aws sso login`"
            )
        if source.method == "assume-role":
            _refuse_codes(session)
        return source

    def _protect(self, secrets: list[str]) -> None:
        self._origin.mask(secrets)
        known_secrets.keep(self, f"{self._origin.provider}-key", secrets)

    def _failure(self, error: Any) -> TreadleError:
        theirs = _botocore("exceptions")
        if isinstance(error, theirs.ClientError):
            details: Any = error.response.get("ResponseMetadata", {})
            status, headers = details.get("HTTPStatusCode", 400), details.get("HTTPHeaders", {})
            return error_for_status(self._origin, status, headers, str(error).encode())
        text = self._origin.message(f"no AWS keys: {type(error).__name__}: {error}")
        if isinstance(error, (theirs.SSOError, theirs.TokenRetrievalError)):
            profile = f" --profile {self._profile}" if self._profile else ""
            return ConfigError(f"{text}; run `aws sso login{profile}`")
        if isinstance(error, theirs.CredentialRetrievalError):
            from_command = error.kwargs.get("provider") == "custom-process"
            return ConfigError(text) if from_command else connection_lost(self._origin, f"no AWS keys: {error}")
        if isinstance(error, theirs.HTTPClientError):
            return connection_lost(self._origin, f"no AWS keys: {error}")
        return ConfigError(text)


def _botocore(module: str) -> Any:
    """Import a module of botocore, which has no types."""
    try:
        return import_module(f"botocore.{module}")
    except ImportError:
        raise MissingExtraError("Amazon Bedrock", "bedrock") from None


def open_session(profile: str) -> Any:
    """Open botocore's session for a profile (or the default one) and check that the shared files can be read."""
    theirs = _botocore("exceptions")
    session = _botocore("session").Session(profile=profile or None)
    try:
        session.get_scoped_config()
    except theirs.ProfileNotFound:
        profiles = ", ".join(sorted(session.available_profiles)) or "none"
        raise ConfigError(
            f"there is no AWS profile {session.profile!r}; those in the shared files are: {profiles}"
        ) from None
    except theirs.ConfigParseError as error:
        raise ConfigError(f"an AWS file cannot be read: {error}; correct it or set AWS_CONFIG_FILE") from None
    return session


def _refuse_codes(session: Any) -> None:
    """Raise when a role asks for a code, for which botocore would prompt at a terminal that may not be there."""
    profiles = dict(session.full_config["profiles"])
    name = session.profile or "default"
    while values := profiles.pop(name, None):
        if values.get("mfa_serial"):
            raise ConfigError(
                f"the AWS profile {name!r} asks for a code (mfa_serial), which cannot be asked for here: get keys with "
                f"`aws configure export-credentials --profile {name} --format env` and set them in the environment"
            )
        name = values.get("source_profile", "")
