"""Where Amazon's keys come from, in the order of its own tools.

Arguments; the environment; a role by a web identity token; the profile (a role, web identity, sign-in, keys, a
command); the container's address; the instance's metadata. Keys are kept until five minutes before they expire.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from treadle._models.bedrock import key_sources as sources
from treadle._models.bedrock.shared_files import SharedFiles
from treadle._models.bedrock.sigv4 import Keys
from treadle._models.transport.failures import Origin
from treadle._safety.secrets import known_secrets
from treadle._types.errors import ConfigError, MissingKeyError, ModelError

EARLY = 300.0
"""Keys are renewed so many seconds before they expire."""


class Credentials:
    def __init__(
        self,
        origin: Origin,
        region: str,
        *,
        keys: Keys | None = None,
        profile: str = "",
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._origin = origin
        self._region = region
        self._given = keys
        self._profile = profile
        self._env = os.environ if env is None else env
        self._keys: Keys | None = None
        if keys is not None:
            self._keep(keys)

    def __repr__(self) -> str:
        return "Credentials(...)"

    async def keys(self) -> Keys:
        """The keys to sign with now."""
        kept = self._keys
        left = kept.expires - time.time() if kept is not None else 0.0
        if kept is not None and (not kept.expires or left > EARLY):
            return kept
        try:
            return self._keep(await self._find())
        except ModelError:
            if kept is not None and left > 0:  # still good for a while: the source may be back by then
                return kept
            raise

    def forget(self) -> bool:
        """Look them up again next time, because the provider says that they have expired. False for those that were
        given: there are no others."""
        self._keys = self._given
        return self._given is None

    def _keep(self, keys: Keys) -> Keys:
        secrets = [keys.secret_key, keys.token]
        self._origin.mask(secrets)
        known_secrets.keep(keys, f"{self._origin.provider}-key", secrets)
        self._keys = keys
        return keys

    async def _find(self) -> Keys:
        env = self._env
        if self._given is not None:
            return self._given
        if not self._profile:
            if env.get("AWS_ACCESS_KEY_ID") and env.get("AWS_SECRET_ACCESS_KEY"):
                return Keys(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], env.get("AWS_SESSION_TOKEN", ""))
            if env.get("AWS_WEB_IDENTITY_TOKEN_FILE") and env.get("AWS_ROLE_ARN"):
                return await self._web_identity(
                    env["AWS_ROLE_ARN"], env["AWS_WEB_IDENTITY_TOKEN_FILE"], env.get("AWS_ROLE_SESSION_NAME", "")
                )
        files = SharedFiles(env)
        name = self._profile or files.default
        if name not in files.names and (self._profile or name != "default"):
            known = ", ".join(files.names) or "none"
            raise ConfigError(f"there is no AWS profile {name!r}; those in {files.folder} are: {known}")
        if keys := await self._of_profile(files, name, ()):
            return keys
        if keys := await sources.container(self._origin, env):
            return keys
        if keys := await sources.instance(self._origin, env):
            return keys
        raise MissingKeyError(
            f"{self._origin.provider} needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
            "AWS_BEARER_TOKEN_BEDROCK (a Bedrock API key), or AWS_PROFILE after `aws configure` or `aws sso login`"
        )

    async def _of_profile(self, files: SharedFiles, name: str, seen: tuple[str, ...]) -> Keys | None:
        values = files.profile(name)
        if values.get("role_arn") and name not in seen:
            return await self._role(files, name, values, (*seen, name))
        if values.get("sso_account_id") and values.get("sso_role_name"):
            return await sources.sign_in(self._origin, files, name, values, self._env)
        if values.get("aws_access_key_id") and values.get("aws_secret_access_key"):
            return Keys(
                values["aws_access_key_id"], values["aws_secret_access_key"], values.get("aws_session_token", "")
            )
        if command := values.get("credential_process"):
            return await sources.from_command(self._origin, name, command)
        return None

    async def _role(self, files: SharedFiles, name: str, values: Mapping[str, str], seen: tuple[str, ...]) -> Keys:
        if path := values.get("web_identity_token_file"):
            return await self._web_identity(values["role_arn"], path, values.get("role_session_name", ""))
        if values.get("mfa_serial"):
            raise ConfigError(
                f"the AWS profile {name!r} asks for a code (mfa_serial), which cannot be asked for here: get keys with "
                f"`aws configure export-credentials --profile {name} --format env` and set them in the environment"
            )
        source = await self._source_of_role(files, name, values, seen)
        fields = {"RoleArn": values["role_arn"], "DurationSeconds": values.get("duration_seconds", "")}
        fields |= {"RoleSessionName": values.get("role_session_name", "")}
        fields |= {"ExternalId": values.get("external_id", "")}
        return await self._assume("AssumeRole", fields, source)

    async def _source_of_role(
        self, files: SharedFiles, name: str, values: Mapping[str, str], seen: tuple[str, ...]
    ) -> Keys:
        found: Keys | None = None
        if other := values.get("source_profile"):
            # A profile may name itself as its source when it has keys of its own.
            found = None if other in seen and other != name else await self._of_profile(files, other, seen)
        else:
            match values.get("credential_source", ""):
                case "Environment":
                    key, secret = self._env.get("AWS_ACCESS_KEY_ID", ""), self._env.get("AWS_SECRET_ACCESS_KEY", "")
                    found = Keys(key, secret, self._env.get("AWS_SESSION_TOKEN", "")) if key and secret else None
                case "EcsContainer":
                    found = await sources.container(self._origin, self._env)
                case "Ec2InstanceMetadata":
                    found = await sources.instance(self._origin, self._env)
                case _:
                    pass
        if found is None:
            raise ConfigError(
                f"the AWS profile {name!r} has a role_arn, but its source_profile or credential_source gives no keys"
            )
        return found

    async def _web_identity(self, role: str, path: str, session: str) -> Keys:
        token = sources.read_token(path)
        fields = {"RoleArn": role, "RoleSessionName": session, "WebIdentityToken": token}
        return await self._assume("AssumeRoleWithWebIdentity", fields, None)

    async def _assume(self, action: str, fields: dict[str, Any], source: Keys | None) -> Keys:
        return await sources.assume(
            self._origin, self._region, action, fields, source, datetime.now(UTC), self._env.get("AWS_ENDPOINT_URL_STS")
        )
