"""From what a provider or the network did to the error the engine acts on. Keys never pass through here unmasked."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from treadle._types.errors import (
    BadReplyError,
    ContentFilteredError,
    ContextOverflowError,
    ModelError,
    RequestRefusedError,
    TransientModelError,
)
from treadle._types.usage import Usage

MAX_MESSAGE = 600
ATTEMPT = Usage(requests=1)
"""What every failed attempt is known to have cost: one request."""

# Plain strings, compiled by `re` when first used: most programs never see a failure.
_OVERFLOW = "|".join(
    (
        r"context[_ ](?:length|window|size|limit)[_ ]?exceed",
        r"exceeds? (?:the |this )?(?:model'?s? )?(?:available |maximum |max |allowed )*context",
        r"exceeds? the maximum number of (?:input )?tokens",
        r"tokens? exceeds? the configured limit",
        r"token count of \d+ exceeds the limit",
        r"exceed_context_size|model_context_window_exceeded|too_many_prompt_tokens|request_too_large|string_above_max_length",
        r"exceeded (?:model|max(?:imum)?) (?:token|context)",
        r"maximum (?:context|prompt) length",
        r"(?:maximum|max) (?:model|sequence) length",
        r"model'?s context length is only",
        r"greater than the context length",
        r"context length of only",
        r"context limit",
        r"context window exceeds",
        r"prompt (?:is )?too long",
        r"input (?:is )?too long",
        r"input length (?:and `?max_tokens`? )?exceed",
        r"length of all messages is too long",
        r"too many tokens:",
        r"too large for model|request too large for",
        r"reduce the length of the (?:messages|prompt|input)",
        r"tokens must be reduced",
        r"reduce your message size",
        r"range of input length",
    )
)
_REFUSED = r"invalid|authenticat|unauthori[sz]ed|permission|forbidden|not.?found|unsupported|billing|insufficient_quota"
_FILTERED = r"content.?filter|content.?policy|content management|data_inspection"
_KEYS = r"\b(?:sk|pk|rk|gsk|xai|hf|r8|pplx|nvapi|csk|tgp)[-_][A-Za-z0-9_\-*.]{6,}|\bAIza[A-Za-z0-9_\-]{16,}|(?i:\bbearer\s+)[^\s\"',]+"
_NUMBER = r"\d+(?:\.\d+)?"
_WAIT_IN_TEXT = rf"(?:(?:try again|retry) (?:in|after)|retryDelay\W+)\s*((?:{_NUMBER}\s*(?:ms|milli|h|m|s)[a-z]*\s*)+)"
_DURATION = rf"({_NUMBER})\s*(ms|milli|h|m|s)"
_UNITS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def _found(pattern: str, *texts: str) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE) for text in texts)


class Origin:
    """Who is spoken to, fit to be shown: the provider, its address without credentials, and what must be masked."""

    __slots__ = ("_secrets", "address", "provider")

    def __init__(self, provider: str, address: str, secrets: Iterable[str] = ()) -> None:
        self.provider = provider
        self.address = address
        self._secrets = tuple(sorted((secret for secret in secrets if len(secret) >= 6), key=len, reverse=True))

    def __repr__(self) -> str:
        return f"Origin({self.provider!r}, {self.address!r})"

    def redact(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return re.sub(_KEYS, "***", text)

    def say(self, text: str) -> str:
        """`text` as a message: masked, in one line, cut, with the provider's name in front."""
        text = " ".join(self.redact(text).split())
        return f"{self.provider}: {text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 3] + '...'}"


def refused(origin: Origin, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """An answer with a status other than 2xx."""
    message, code = _describe(body)
    text = f"HTTP {status}: {message or 'no reason given'}"
    if 300 <= status < 400:
        text = f"HTTP {status}: the server redirects to {headers.get('location', 'nowhere')}; set base_url to the final address"
    elif status in (401, 403):
        text += " (is the key right, and allowed to use this model?)"
    elif status == 404:
        text += f" (asked {origin.address}; check the model's name and base_url)"
    return _judge(origin, text, message, code, status, _retry_after(headers, message))


def inline(origin: Origin, error: Any) -> ModelError:
    """An error that came inside an answer with status 200, in a stream or a whole body."""
    message, code = _describe(msgspec.json.encode({"error": error}))
    status = next((int(word) for word in code.split() if word.isdecimal() and 400 <= int(word) < 600), None)
    text = f"error in the reply: {message or code or 'no reason given'}"
    return _judge(origin, text, message, code, status, _retry_after({}, message))


def _judge(origin: Origin, text: str, message: str, code: str, status: int | None, wait: float | None) -> ModelError:
    shown = origin.say(text)
    provider = origin.provider
    if status == 413 or _found(_OVERFLOW, message, code):
        return ContextOverflowError(shown, status=status, usage=ATTEMPT, provider=provider)
    if _transient(message, code, status):
        return TransientModelError(shown, status=status, usage=ATTEMPT, provider=provider, retry_after=wait)
    if _found(_FILTERED, message, code):
        return ContentFilteredError(shown, status=status, usage=ATTEMPT, provider=provider)
    return RequestRefusedError(shown, status=status, usage=ATTEMPT, provider=provider)


def _transient(message: str, code: str, status: int | None) -> bool:
    if status == 429:
        # An account without credit answers 429 for ever: no pause helps.
        return "insufficient_quota" not in code
    if status is not None:
        return status in (408, 409) or status >= 500
    # Without a status, what is not clearly our own fault is the upstream's.
    return not (_found(_REFUSED, code or message) or _found(_FILTERED, code or message))


def dropped(origin: Origin, what: str, *, retry_after: float | None = None) -> TransientModelError:
    """The connection failed, fell silent or ended too early: worth another attempt."""
    return TransientModelError(origin.say(what), usage=ATTEMPT, provider=origin.provider, retry_after=retry_after)


def unreadable(origin: Origin, what: str, body: bytes = b"") -> BadReplyError:
    """An answer that is not what the protocol says."""
    shown = body[:200].decode("utf-8", "replace").strip()
    return BadReplyError(origin.say(f"{what}: {shown!r}" if shown else what), usage=ATTEMPT, provider=origin.provider)


def _describe(body: bytes) -> tuple[str, str]:
    """The message and the code or type of an error body, whatever its shape."""
    try:
        value: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body[:MAX_MESSAGE].decode("utf-8", "replace").strip(), ""
    if isinstance(value, list) and value:
        value = cast("list[Any]", value)[0]
    if not isinstance(value, dict):
        return body[:MAX_MESSAGE].decode("utf-8", "replace"), ""
    outer = cast("dict[str, Any]", value)
    error: Any = outer.get("error") or outer
    if not isinstance(error, dict):
        return str(error), str(outer.get("code") or "")
    found = cast("dict[str, Any]", error)
    message: Any = found.get("message") or found.get("detail") or found.get("error") or outer.get("message") or ""
    if not isinstance(message, str):
        message = msgspec.json.encode(message).decode()
    # Routers wrap the upstream's own words; that is where an overflow shows.
    for extra in ("metadata", "details"):
        if found.get(extra):
            message += " " + msgspec.json.encode(found[extra]).decode()[:MAX_MESSAGE]
    code = " ".join(str(found[key]) for key in ("code", "type", "status") if found.get(key))
    return message, code


def _retry_after(headers: Mapping[str, str], message: str) -> float | None:
    """The server's own wish for a pause, in seconds."""
    if wait := _seconds(headers.get("retry-after-ms"), 0.001):
        return wait
    value = headers.get("retry-after")
    if value:
        wait = _seconds(value)
        if wait is not None:
            return wait
        from email.utils import parsedate_to_datetime

        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except ValueError:
            pass
    waits = [
        wait
        for kind in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{kind}") in ("0", None)
        and (wait := _duration(headers.get(f"x-ratelimit-reset-{kind}", ""))) is not None
    ]
    if waits:
        return max(waits)
    if reset := _seconds(headers.get("x-ratelimit-reset")):
        # A moment in (milli)seconds since 1970, or a distance from now: their sizes tell them apart.
        moment = reset / 1000 if reset > 1e11 else reset
        return max(0.0, moment - time.time()) if moment > 1e8 else moment
    if found := re.search(_WAIT_IN_TEXT, message, re.IGNORECASE):
        return _duration(found[1])
    return None


def _seconds(value: str | None, unit: float = 1.0) -> float | None:
    try:
        number = float(value or "") * unit
    except ValueError:
        return None
    return number if 0 <= number < 1e15 else None


def _duration(value: str) -> float | None:
    """`6m0s`, `1.5s`, `12ms` or a bare number of seconds."""
    if (plain := _seconds(value)) is not None:
        return plain
    parts = re.findall(_DURATION, value, re.IGNORECASE)
    return sum(float(number) * _UNITS[unit.lower()] for number, unit in parts) if parts else None
