"""Amazon's request signature, version 4."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import parse_qsl, quote, urlsplit

from msgspec import Struct

_ALGORITHM = "AWS4-HMAC-SHA256"


class Keys(Struct, frozen=True, weakref=True):
    """What a request is signed with. `repr` shows nothing of it."""

    access_key: str
    secret_key: str
    token: str = ""
    expires: float = 0.0
    """Seconds since 1970; 0 when they do not expire."""

    def __repr__(self) -> str:
        return "Keys(...)"


def signed_headers(
    keys: Keys,
    method: str,
    url: str,
    body: bytes,
    *,
    region: str,
    service: str,
    now: datetime,
    headers: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The headers that sign a request, to be sent with it. `url` is written as it will be sent; `headers` are signed
    too; `now` is in UTC."""
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    added = {"x-amz-date": stamp} | ({"x-amz-security-token": keys.token} if keys.token else {})
    parts = urlsplit(url)
    covered = {name.lower(): " ".join(value.split()) for name, value in (headers or {}).items()}
    covered |= {"host": parts.netloc.rpartition("@")[2]} | added
    names = ";".join(sorted(covered))
    canonical = "\n".join(
        (
            method,
            quote(parts.path or "/", safe="/-_.~"),  # once more: for all services but S3 the path is encoded twice
            _canonical_query(parts.query),
            *(f"{name}:{covered[name]}" for name in sorted(covered)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        )
    )
    to_sign = "\n".join((_ALGORITHM, stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{keys.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    credential = f"{keys.access_key}/{scope}"
    added["authorization"] = f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
    return added


def _canonical_query(query: str) -> str:
    pairs = [(quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in parse_qsl(query, True)]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))
