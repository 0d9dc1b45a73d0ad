"""Turns failures of a provider or the network into the typed errors the engine acts on. Keys are masked in all of
them."""

from __future__ import annotations

import errno
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
ONE_REQUEST = Usage(requests=1)
"""The usage of a failed attempt about which nothing else is known."""

# Plain strings, compiled by `re` when first used: most programs never see a failure.
_OVERFLOW = "|".join(
    (
        r"context[_ ](?:length|window|size|limit)[_ ]?exceed",
        r"exceeds? (?:the |this )?(?:model'?s? )?(?:available |maximum |max |allowed )*context",
        r"exceeds? the maximum number of (?:input )?tokens",
        r"tokens? exceeds? the configured limit",
        r"token count of \d+ exceeds the limit",
        r"exceed_context_size|model_context_window_exceeded|too_many_prompt_tokens",
        r"request_too_large|string_above_max_length",
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
        r"number of input tokens exceed|input tokens exceeded",
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
_REFUSED = "|".join(
    (
        r"invalid|validation|unsupported|not.?found",
        r"access.?denied|authenticat|unauthori[sz]ed|permission|forbidden",
        r"billing|insufficient_quota",
    )
)
_WITHOUT_TOOLS = (
    r"\btools? (?:param\w* )?(?:requires?|(?:is|are) not (?:supported|enabled))|not support (?:\w+ )?tools?\b"
)
"""Some servers answer so with a status that otherwise means that another attempt may succeed."""
_FILTERED = r"content.?filter|content.?policy|content management|data_inspection"
_KEYS = "|".join(
    (
        r"\b(?:sk|pk|rk|gsk|xai|hf|r8|pplx|nvapi|csk|tgp)[-_][A-Za-z0-9_\-*.]{6,}",
        r"\bAIza[A-Za-z0-9_\-]{16,}",
        r"(?i:\bbearer\s+)[^\s\"',]+",
    )
)
_NUMBER = r"\d{1,15}(?:\.\d{1,15})?"
_WAIT_IN_TEXT = rf"(?:(?:try again|retry) (?:in|after)|retryDelay\W+)\s*((?:{_NUMBER}\s*(?:ms|milli|h|m|s)[a-z]*\s*)+)"
_DURATION = rf"({_NUMBER})\s*(ms|milli|h|m|s)"
_UNITS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

_NETWORK = {
    OSError, EOFError, TimeoutError, ConnectionError, ConnectionAbortedError, ConnectionRefusedError,
    ConnectionResetError, BrokenPipeError,
}  # fmt: skip
_NETWORK_ERRNO = {
    errno.EADDRNOTAVAIL, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETRESET, errno.ENETUNREACH,
    getattr(errno, "EHOSTDOWN", 0),
}  # fmt: skip


def _matches(pattern: str, *texts: str) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE) for text in texts)


class Origin:
    """The provider and its address for use in messages: without credentials, and with the secrets to mask in them."""

    __slots__ = ("__weakref__", "_given", "_secrets", "address", "called", "key_env", "missing_key",
                 "provider")  # fmt: skip

    def __init__(
        self,
        provider: str,
        address: str,
        secrets: Iterable[str] = (),
        key_env: str = "",
        missing_key: str = "",
        called: str = "",
    ) -> None:
        self.provider = provider
        self.called = called or provider
        """Its name in messages: of a server that only speaks the provider's protocol, where that is, too."""
        self.key_env = key_env
        """The variable its key is in, if it is in one."""
        self.missing_key = missing_key
        """How a key could be given, where none is sent."""
        self.address = address
        self._given = tuple(secrets)
        self.mask(())

    def __repr__(self) -> str:
        return f"Origin({self.provider!r}, {self.address!r})"

    def mask(self, secrets: Iterable[str]) -> None:
        """Mask these too, instead of those of the last call: credentials that are looked up later, and change."""
        values = (secret for secret in (*self._given, *secrets) if len(secret) >= 6)
        self._secrets = tuple(sorted(values, key=len, reverse=True))

    def redact(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return re.sub(_KEYS, "***", text)

    def message(self, text: str) -> str:
        """`text` as an error message: masked, on one line, shortened, after the name of whoever it is from."""
        name = self.provider if self.address in text else self.called
        text = " ".join(self.redact(text).split())
        return f"{name}: {text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 3] + '...'}"


def error_for_status(origin: Origin, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """The error for a response with a status other than 2xx."""
    message, code = _describe(body)
    text = f"HTTP {status}: {message or 'no reason given'}"
    if 300 <= status < 400:
        target = headers.get("location", "no address")
        text = f"HTTP {status}: the server redirects to {target}; set base_url to the final address"
    elif status in (401, 403) and origin.missing_key:
        text += f" (no key was sent to {origin.address}: {origin.missing_key})"
    elif status in (401, 403):
        where = f"the key in {origin.key_env} is right" if origin.key_env else "the key is right"
        text += f" (check that {where} and may use this model)"
    elif status == 404:
        text += f" (the request went to {origin.address}; check the model's name and base_url)"
    return _classify(origin, text, message, code, status, _retry_after(headers, message))


def error_in_reply(origin: Origin, error: Any) -> ModelError:
    """The error for one that came inside a response with status 200, in a stream or a whole body."""
    message, code = _describe(msgspec.json.encode({"error": error}))
    status = next((int(word) for word in code.split() if word.isdecimal() and 400 <= int(word) < 600), None)
    text = f"error in the reply: {message or code or 'no reason given'}"
    return _classify(origin, text, message, code, status, _retry_after({}, message))


def model_failure(name: str, error: BaseException, program: str = "") -> ModelError:
    """The error for an exception that a model let through: of its HTTP library, of the system, of anything. A status
    it carries is believed; without one, another attempt may succeed only if it comes from the network. `program` is the
    package of the model itself."""
    if isinstance(error, ModelError):
        return error
    message = str(error)
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    response: Any = getattr(error, "response", None)
    status = _status_of(error) or _status_of(response)
    headers: Any = getattr(response, "headers", None) or getattr(error, "headers", None)
    wait = _retry_after(cast("Mapping[str, str]", headers) if isinstance(headers, Mapping) else {}, message)
    origin = Origin(name, "")
    if status is not None or _matches(_OVERFLOW, message):
        return _classify(origin, text, message, "", status, wait)
    if _of_network(error, program.partition(".")[0]):
        return connection_lost(origin, text, retry_after=wait)
    return ModelError(origin.message(text), usage=ONE_REQUEST, provider=name)


def _status_of(holder: Any) -> int | None:
    values = (getattr(holder, name, None) for name in ("status_code", "status"))
    return next((value for value in values if isinstance(value, int) and 400 <= value < 600), None)


def _of_network(error: BaseException | None, program: str) -> bool:
    """Return whether this, or what led to it, is of the network: of the system's connections, or of the libraries that
    a model uses, which have classes of their own for it. One of Python's other exceptions, or of the model's own
    program, is a mistake there and will come again."""
    own = ("builtins", "treadle", program)
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, BaseExceptionGroup):
            inner = cast("BaseExceptionGroup[BaseException]", error)
            return any(_of_network(one, program) for one in inner.exceptions)
        kind = type(error)
        bases = {base for base in kind.__mro__ if base.__module__ == "builtins"} - {Exception, BaseException, object}
        if kind is OSError:
            matches = getattr(error, "errno", None) in (None, *_NETWORK_ERRNO)
        else:
            matches = bases <= _NETWORK if bases else kind.__module__.partition(".")[0] not in own
        if matches:
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


def _classify(origin: Origin, text: str, message: str, code: str, status: int | None, wait: float | None) -> ModelError:
    shown = origin.message(text)
    provider = origin.provider
    if status == 413 or _matches(_OVERFLOW, message, code):
        return ContextOverflowError(shown, status=status, usage=ONE_REQUEST, provider=provider)
    if _transient(message, code, status):
        return TransientModelError(shown, status=status, usage=ONE_REQUEST, provider=provider, retry_after=wait)
    if _matches(_FILTERED, message, code):
        return ContentFilteredError(shown, status=status, usage=ONE_REQUEST, provider=provider)
    return RequestRefusedError(shown, status=status, usage=ONE_REQUEST, provider=provider)


def _transient(message: str, code: str, status: int | None) -> bool:
    if status == 429:
        # An account without credit gets 429 for ever: no pause helps.
        return "insufficient_quota" not in code
    if status is not None:
        # 501 is the server's word that it never will.
        return status in (408, 409) or (status >= 500 and status != 501 and not _matches(_WITHOUT_TOOLS, message))
    # Without a status, an error that is not clearly the request's fault is taken to be the server's.
    return not (_matches(_REFUSED, code or message) or _matches(_FILTERED, code or message))


def connection_lost(origin: Origin, what: str, *, retry_after: float | None = None) -> TransientModelError:
    """The error for a connection that failed, fell silent or ended too early: worth another attempt."""
    return TransientModelError(
        origin.message(what), usage=ONE_REQUEST, provider=origin.provider, retry_after=retry_after
    )


def bad_reply(origin: Origin, what: str, body: bytes = b"") -> BadReplyError:
    """The error for a response that breaks the protocol."""
    shown = body[:200].decode("utf-8", "replace").strip()
    return BadReplyError(
        origin.message(f"{what}: {shown!r}" if shown else what), usage=ONE_REQUEST, provider=origin.provider
    )


def insecure(origin: Origin, error: Exception) -> BadReplyError:
    """The error for https that did not come about: no other attempt helps."""
    plain = origin.address.replace("https://", "http://", 1)
    hint = f"; the server may speak plain HTTP: {plain}" if _matches("wrong.version|record.layer", str(error)) else ""
    return bad_reply(origin, f"no secure connection to {origin.address}: {error}{hint}")


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
    fields = cast("dict[str, Any]", error)
    names = ("message", "Message", "detail", "error")
    message: Any = next((fields[name] for name in names if fields.get(name)), outer.get("message") or "")
    if not isinstance(message, str):
        message = msgspec.json.encode(message).decode()
    # Routers wrap the message of the provider behind them; an overflow shows only there.
    for extra in ("metadata", "details"):
        if fields.get(extra):
            message += " " + msgspec.json.encode(fields[extra]).decode()[:MAX_MESSAGE]
    code = " ".join(str(fields[key]) for key in ("code", "type", "status") if fields.get(key))
    return message, code


def _retry_after(headers: Mapping[str, str], message: str) -> float | None:
    """The pause the server asks for, in seconds; None when it asks for none."""
    if wait := _seconds(headers.get("retry-after-ms"), 0.001):
        return wait
    value = headers.get("retry-after")
    if value:
        wait = _seconds(value)
        if wait is not None:
            return wait
        from email.utils import parsedate_to_datetime

        try:
            return max(0.0, parsedate_to_datetime(value[:64]).timestamp() - time.time())
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
        # A timestamp in (milli)seconds since 1970, or a number of seconds from now: their sizes tell them apart.
        seconds = reset / 1000 if reset > 1e11 else reset
        return max(0.0, seconds - time.time()) if seconds > 1e8 else seconds
    if match := re.search(_WAIT_IN_TEXT, message, re.IGNORECASE):
        return _duration(match[1])
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
