"""How each kind of Google's credentials files becomes a token."""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from treadle._models.transport.failures import Origin
from treadle._models.transport.side_requests import send_json
from treadle._models.transport.wire import as_dict
from treadle._types.errors import ConfigError, MissingExtraError

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_TOKEN_URI = "https://oauth2.googleapis.com/token"
_JWT_SECONDS = 3600
_FORM = {"content-type": "application/x-www-form-urlencoded"}


class Token(Struct, frozen=True, weakref=True):
    """A token of limited life. `repr` shows nothing of it."""

    value: str
    expires: float = 0.0
    """Seconds since 1970; 0 when that is not known."""

    def __repr__(self) -> str:
        return "Token(...)"


async def from_file(origin: Origin, info: Mapping[str, Any]) -> Token:
    """The token for the contents of a credentials file."""
    match info.get("type"):
        case "service_account":
            return await _service_account(origin, info)
        case "authorized_user":
            return await _user(origin, info)
        case "impersonated_service_account":
            source = await from_file(origin, as_dict(info.get("source_credentials")))
            return await _impersonate(origin, str(info.get("service_account_impersonation_url")), source, info)
        case "external_account":
            return await _federated(origin, info)
        case kind:
            raise ConfigError(
                f"the credentials file is of the type {kind!r}, which is not supported here: pass access_token=... "
                "(`gcloud auth print-access-token`), or use the key file of a service account"
            )


def service_account_assertion(info: Mapping[str, Any], now: float) -> str:
    """What a service account signs to get a token: a JSON Web Token."""
    try:
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import padding, rsa
    except ImportError:
        raise MissingExtraError("a service account of Google", "vertex") from None
    address = info.get("token_uri") or _TOKEN_URI
    head = {"alg": "RS256", "typ": "JWT", "kid": info.get("private_key_id", "")}
    claims = {
        "iss": info.get("client_email", ""),
        "scope": SCOPE,
        "aud": address,
        "iat": int(now),
        "exp": int(now) + _JWT_SECONDS,
    }
    text = b".".join(_base64(msgspec.json.encode(part)) for part in (head, claims))
    try:
        key = serialization.load_pem_private_key(str(info.get("private_key")).encode(), None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ConfigError("the private_key in the service account's file is not an RSA key in PEM form")
    return (text + b"." + _base64(key.sign(text, padding.PKCS1v15(), hashes.SHA256()))).decode()


async def _service_account(origin: Origin, info: Mapping[str, Any]) -> Token:
    fields = {
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "assertion": service_account_assertion(info, time.time()),
    }
    return await _exchange(origin, str(info.get("token_uri") or _TOKEN_URI), fields, "the service account")


async def _user(origin: Origin, info: Mapping[str, Any]) -> Token:
    fields = {"grant_type": "refresh_token"}
    fields |= {name: str(info.get(name, "")) for name in ("client_id", "client_secret", "refresh_token")}
    return await _exchange(origin, str(info.get("token_uri") or _TOKEN_URI), fields, "the user's sign-in")


async def _impersonate(origin: Origin, url: str, source: Token, info: Mapping[str, Any]) -> Token:
    body = msgspec.json.encode({"scope": [SCOPE], "delegates": info.get("delegates") or []})
    headers = {"content-type": "application/json", "authorization": f"Bearer {source.value}"}
    answer = await send_json(origin, "POST", url, headers=headers, body=body)
    value = {"access_token": answer.get("accessToken")}
    return token_of(value, "the impersonated service account", until=_time(answer.get("expireTime")))


async def _federated(origin: Origin, info: Mapping[str, Any]) -> Token:
    fields = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "audience": str(info.get("audience", "")),
        "subject_token_type": str(info.get("subject_token_type", "")),
        "subject_token": await _subject_token(origin, as_dict(info.get("credential_source"))),
        "scope": SCOPE,
    }
    token = await _exchange(origin, str(info.get("token_url", "")), fields, "the federated identity")
    url = info.get("service_account_impersonation_url")
    return await _impersonate(origin, str(url), token, info) if url else token


async def _subject_token(origin: Origin, source: Mapping[str, Any]) -> str:
    """The token of the other identity provider: from a file or an address, as text or as a field of JSON."""
    if path := source.get("file"):
        text = _read(str(path))
    elif url := source.get("url"):
        headers = {str(name): str(value) for name, value in as_dict(source.get("headers")).items()}
        answer = await send_json(origin, "GET", str(url), headers=headers)
        text = msgspec.json.encode(answer).decode()
    else:
        raise ConfigError(
            "the federated identity in the credentials file is neither from a file nor from an address, and other "
            "sources are not supported here: pass access_token=... (`gcloud auth print-access-token`)"
        )
    form = as_dict(source.get("format"))
    if form.get("type") != "json":
        return text.strip()
    try:
        return str(as_dict(msgspec.json.decode(text)).get(str(form.get("subject_token_field_name")), ""))
    except msgspec.MsgspecError:
        raise ConfigError("the token of the federated identity is not in a JSON object") from None


def _read(path: str) -> str:
    try:
        return Path(path).expanduser().read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"the token file {path} of the federated identity cannot be read: {error}") from None


async def _exchange(origin: Origin, url: str, fields: Mapping[str, str], where: str) -> Token:
    answer = await send_json(origin, "POST", url, headers=_FORM, body=urlencode(fields).encode())
    return token_of(answer, where)


def token_of(answer: Mapping[str, Any], where: str, *, until: float = 0.0) -> Token:
    """The token in an answer of a token service."""
    value, seconds = answer.get("access_token"), answer.get("expires_in")
    if not isinstance(value, str) or not value:
        raise ConfigError(f"no token came from {where}: check the credentials file")
    expires = time.time() + seconds if isinstance(seconds, int | float) else until
    return Token(value.rstrip("."), expires)


def _time(value: Any) -> float:
    from datetime import datetime

    try:
        return msgspec.convert(str(value), datetime).timestamp() if value else 0.0
    except msgspec.ValidationError:
        return 0.0


def _base64(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")
