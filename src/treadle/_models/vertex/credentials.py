"""Google's application-default credentials, in the order of its own tools.

A token given as an argument; the file named by `GOOGLE_APPLICATION_CREDENTIALS`; the file of `gcloud auth
application-default login`; the metadata service. Tokens are kept until five minutes before they expire.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from treadle._models.transport.failures import Origin
from treadle._models.transport.side_requests import send
from treadle._models.vertex import token_sources as sources
from treadle._models.vertex.token_sources import Token
from treadle._safety.secrets import known_secrets
from treadle._types.errors import ConfigError, MissingKeyError, ModelError, TransientModelError

EARLY = 300.0
"""Tokens are renewed so many seconds before they expire."""
METADATA_SECONDS = 1.0
"""The metadata service answers at once where it exists; elsewhere nobody does."""
METADATA_HOST = "metadata.google.internal"


class Credentials:
    def __init__(
        self,
        origin: Origin,
        *,
        access_token: str = "",
        path: str = "",
        project: str = "",
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._origin = origin
        self._env = os.environ if env is None else env
        self._path = path
        self._given = Token(access_token) if access_token else None
        self._token: Token | None = None
        self._info: dict[str, Any] | None = None
        self._project = project or self._env.get("GOOGLE_CLOUD_PROJECT", "") or self._env.get("GCLOUD_PROJECT", "")
        if self._given is not None:
            self._keep(self._given)

    def __repr__(self) -> str:
        return "Credentials(...)"

    async def token(self) -> str:
        """The token to send now."""
        kept = self._token
        left = kept.expires - time.time() if kept is not None else 0.0
        if kept is not None and (not kept.expires or left > EARLY):
            return kept.value
        try:
            return self._keep(await self._find()).value
        except ModelError:
            if kept is not None and left > 0:  # still good for a while: the source may be back by then
                return kept.value
            raise

    async def project(self) -> str:
        """The project that is billed: an argument, a variable, the credentials' own, or the machine's."""
        if not self._project:
            info = self._file()
            self._project = str(info.get("project_id") or info.get("quota_project_id") or "")
        if not self._project and not self._file():
            self._project = await self._metadata("project/project-id")
        if not self._project:
            raise ConfigError("vertex needs a project: pass project='my-project' or set GOOGLE_CLOUD_PROJECT")
        return self._project

    def forget(self) -> bool:
        """Look the token up again next time, because the provider does not accept it any more. False for one that was
        given: there is no other."""
        self._token, self._info = self._given, None
        return self._given is None

    def _keep(self, token: Token) -> Token:
        self._origin.mask([token.value])
        known_secrets.keep(token, f"{self._origin.provider}-token", [token.value])
        self._token = token
        return token

    async def _find(self) -> Token:
        if self._given is not None:
            return self._given
        info = self._file()
        if info:
            return await sources.from_file(self._origin, info)
        answer = await self._metadata("instance/service-accounts/default/token")
        try:
            return sources.token_of(msgspec.json.decode(answer or "{}", type=dict[str, Any]), "the metadata service")
        except (msgspec.MsgspecError, ConfigError):
            raise MissingKeyError(
                f"{self._origin.provider} needs credentials: run `gcloud auth application-default login`, or set "
                "GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account"
            ) from None

    def _file(self) -> dict[str, Any]:
        """The credentials file; empty when there is none. One that is named must be there."""
        if self._info is None:
            named = self._path or self._env.get("GOOGLE_APPLICATION_CREDENTIALS", "")
            path = Path(named).expanduser() if named else self._well_known()
            try:
                self._info = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
            except OSError as error:
                if named:
                    raise ConfigError(f"the credentials file {path} cannot be read: {error.strerror}") from None
                self._info = {}
            except (msgspec.MsgspecError, UnicodeError):
                raise ConfigError(f"the credentials file {path} is not a JSON object") from None
        return self._info

    def _well_known(self) -> Path:
        name = "application_default_credentials.json"
        if folder := self._env.get("CLOUDSDK_CONFIG"):
            return Path(folder) / name
        if os.name == "nt":
            return Path(self._env.get("APPDATA", "~")).expanduser() / "gcloud" / name
        return Path("~/.config/gcloud").expanduser() / name

    async def _metadata(self, what: str) -> str:
        """What the metadata service says; empty where there is none."""
        if self._env.get("NO_GCE_CHECK", "").lower() in ("1", "true"):
            return ""
        host = self._env.get("GCE_METADATA_HOST") or METADATA_HOST
        try:
            answered = await send(
                self._origin,
                "GET",
                f"http://{host}/computeMetadata/v1/{what}",
                headers={"metadata-flavor": "Google"},
                seconds=METADATA_SECONDS,
            )
        except TransientModelError:
            return ""
        return answered.body.decode("utf-8", "replace").strip() if answered.ok else ""
