"""The sources of Amazon's keys that must be asked: roles, sign-in, a command, the container, the instance."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from treadle._models.bedrock.shared_files import SharedFiles
from treadle._models.bedrock.sigv4 import Keys, signed_headers
from treadle._models.transport.failures import Origin
from treadle._models.transport.http import is_local
from treadle._models.transport.side_requests import Answered, failure, send
from treadle._python_process import SAFE_FOLDER
from treadle._types.errors import ConfigError, TransientModelError

METADATA_SECONDS = 1.0
"""The metadata address answers at once where it exists; elsewhere nobody does."""
COMMAND_SECONDS = 60.0
_CONTAINER = "http://169.254.170.2"
_CONTAINER_HOSTS = ("169.254.170.2", "169.254.170.23", "fd00:ec2::23")
_INSTANCE = "http://169.254.169.254"


async def assume(
    origin: Origin,
    region: str,
    action: str,
    fields: Mapping[str, str],
    source: Keys | None,
    now: datetime,
    endpoint: str | None = None,
) -> Keys:
    """The keys of a role. `source` signs the request; a web identity token needs no signature."""
    url = (endpoint or f"https://sts.{region}.{domain(region)}").rstrip("/") + "/"
    asked = {"Action": action, "Version": "2011-06-15", **fields}
    asked["RoleSessionName"] = fields.get("RoleSessionName") or "treadle"
    body = urlencode({name: value for name, value in asked.items() if value}).encode()
    headers = {"content-type": "application/x-www-form-urlencoded"}
    if source is not None:
        headers |= signed_headers(source, "POST", url, body, region=region, service="sts", now=now, headers=headers)
    answered = await send(origin, "POST", url, headers=headers, body=body)
    if not answered.ok:
        raise failure(origin, answered)
    text = answered.body.decode("utf-8", "replace")
    found = dict(re.findall(r"<(AccessKeyId|SecretAccessKey|SessionToken|Expiration)>([^<]*)", text))
    return _keys(found, "SessionToken", f"the role {fields.get('RoleArn')}")


async def sign_in(
    origin: Origin, files: SharedFiles, name: str, values: Mapping[str, str], env: Mapping[str, str]
) -> Keys:
    """The keys of a role for somebody who has signed in with `aws sso login`."""
    session = files.session(values.get("sso_session", ""))
    region = session.get("sso_region") or values.get("sso_region", "")
    token = files.sign_in_token(values.get("sso_session") or values.get("sso_start_url", ""))
    until = _time(str(token.get("expiresAt", "")))
    again = f"run `aws sso login --profile {name}`"
    if not token.get("accessToken") or until < datetime.now().timestamp():
        raise ConfigError(f"the AWS profile {name!r} is not signed in, or no longer: {again}")
    base = env.get("AWS_ENDPOINT_URL_SSO") or f"https://portal.sso.{region}.{domain(region)}"
    query = urlencode({"role_name": values["sso_role_name"], "account_id": values["sso_account_id"]})
    headers = {"x-amz-sso_bearer_token": str(token["accessToken"])}
    answered = await send(origin, "GET", f"{base.rstrip('/')}/federation/credentials?{query}", headers=headers)
    if answered.status == 401:
        raise ConfigError(f"the sign-in of the AWS profile {name!r} is no longer accepted: {again}")
    if not answered.ok:
        raise failure(origin, answered)
    found = answered.fields().get("roleCredentials")
    fields: dict[str, Any] = dict(found) if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownArgumentType]
    capital = {key[:1].upper() + key[1:]: value for key, value in fields.items()}
    return _keys(capital, "SessionToken", f"the sign-in of the AWS profile {name!r}")


async def from_command(origin: Origin, name: str, command: str) -> Keys:
    """The keys that the profile's own command prints."""
    try:
        process = await asyncio.create_subprocess_exec(
            *shlex.split(command),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=SAFE_FOLDER,
        )
    except (OSError, ValueError) as error:
        raise ConfigError(f"the credential_process of the AWS profile {name!r} does not start: {error}") from None
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            printed, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise ConfigError(f"the credential_process of the AWS profile {name!r} did not end in time") from None
    if process.returncode:
        raise ConfigError(f"the credential_process of the AWS profile {name!r} ended with {process.returncode}")
    return _keys(Answered(200, {}, printed).fields(), "SessionToken", f"the credential_process of {name!r}")


async def container(origin: Origin, env: Mapping[str, str]) -> Keys | None:
    """The keys of the task or pod this process runs in."""
    relative, full = env.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
    if not relative and not full:
        return None
    url = f"{_CONTAINER}{relative}" if relative else str(full)
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" and not is_local(host) and host not in _CONTAINER_HOSTS:
        raise ConfigError(
            f"AWS_CONTAINER_CREDENTIALS_FULL_URI leads to {host} over plain HTTP, which would show the keys to others"
        )
    headers: dict[str, str] = {}
    if path := env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
        headers["authorization"] = read_token(path)
    elif token := env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN"):
        headers["authorization"] = token
    answered = await send(origin, "GET", url, headers=headers)
    if not answered.ok:
        raise failure(origin, answered)
    return _keys(answered.fields(), "Token", "the container's address for credentials")


async def instance(origin: Origin, env: Mapping[str, str]) -> Keys | None:
    """The keys of the instance this process runs on, by the second version of its metadata service."""
    if env.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return None
    base = env.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", _INSTANCE).rstrip("/") + "/latest"
    path = f"{base}/meta-data/iam/security-credentials/"
    try:
        token = await send(
            origin,
            "PUT",
            f"{base}/api/token",
            headers={"x-aws-ec2-metadata-token-ttl-seconds": "21600"},
            seconds=METADATA_SECONDS,
        )
        if not token.ok:
            return None
        headers = {"x-aws-ec2-metadata-token": token.body.decode("ascii", "replace").strip()}
        role = await send(origin, "GET", path, headers=headers)
        if not role.ok or not role.body.strip():
            return None
        name = quote(role.body.decode("utf-8", "replace").split("\n")[0].strip())
        answered = await send(origin, "GET", path + name, headers=headers)
    except TransientModelError:
        return None
    return _keys(answered.fields(), "Token", "the instance's metadata") if answered.ok else None


def read_token(path: str) -> str:
    try:
        return Path(path).expanduser().read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"the token file {path} for AWS cannot be read: {error}") from None


def domain(region: str) -> str:
    return "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"


def _keys(fields: Mapping[str, Any], token: str, where: str) -> Keys:
    key, secret = fields.get("AccessKeyId"), fields.get("SecretAccessKey")
    if not isinstance(key, str) or not isinstance(secret, str) or not key or not secret:
        raise ConfigError(f"no AWS keys came from {where}: check its settings, or set AWS_ACCESS_KEY_ID instead")
    return Keys(key, secret, str(fields.get(token) or ""), _time(fields.get("Expiration")))


def _time(value: Any) -> float:
    """A moment as seconds since 1970: from ISO text, or from milliseconds; 0 when there is none."""
    if isinstance(value, int | float):
        return value / 1000 if value > 1e11 else float(value)
    try:
        return msgspec.convert(str(value).replace("UTC", "Z"), datetime).timestamp() if value else 0.0
    except msgspec.ValidationError:
        return 0.0
