"""First contact with a server that is not a provider's own: one or two cheap requests tell what it is, and a third one
what a model of llama.cpp is tuned with, where it may be.

It happens once per model and process, never takes long, never follows a redirect, and never fails: without an answer
the model is one of which nothing is known.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import Any

import msgspec

from treadle._lazy import load
from treadle._models.catalog.profiles import profile_for, sized, with_thresholds
from treadle._models.catalog.providers import PROVIDERS, Connection, Provider
from treadle._models.contact.servers import (
    Contact,
    Question,
    kind_of,
    question_for,
    read_contact,
)
from treadle._models.transport.side_requests import Answered, failure, send
from treadle._models.transport.wire import as_dict, as_list
from treadle._safety.logs import get_logger
from treadle._types.errors import ModelError, TransientModelError
from treadle._types.profile import Profile

log = get_logger(__name__)
SECONDS = 4.0
"""For all requests of a first contact together."""
MAX_DOCUMENT = 4_000_000
MAX_KNOWN = 500
_TUNING_PATH, _TUNING_IN = "_local.weights.served_tuning:path_for", "_local.weights.served_tuning:tuning_in"
_Key = tuple[str, str, str, str]
_known: dict[_Key, Contact | None] = {}
"""Address, key, provider and model -> what was found out. A server that was not there is asked again."""
_asked: dict[tuple[asyncio.AbstractEventLoop, _Key], asyncio.Task[Contact | None]] = {}
"""The first contacts under way: who comes meanwhile waits for the same."""


async def recognize(connection: Connection, provider: Provider, name: str = "") -> Contact | None:
    """Return what the server says of itself and of the model, or of its first one; None when it says nothing."""
    key = (connection.base_url, connection.api_key, provider.name, name)
    if key in _known:
        return _known[key]
    asking = (asyncio.get_running_loop(), key)
    task = _asked.get(asking)
    if task is None:
        task = _asked[asking] = asyncio.create_task(_find_out(key, connection, provider, name))
        task.add_done_callback(lambda _: _asked.pop(asking, None))
    return await asyncio.shield(task)


async def _find_out(key: _Key, connection: Connection, provider: Provider, name: str) -> Contact | None:
    try:
        async with asyncio.timeout(SECONDS):
            contact = await _ask(connection, provider, name)
    except TimeoutError:
        contact = None
    except TransientModelError:
        return None
    except Exception as error:  # whatever a server sends: it is a hint, not a condition
        log.debug("the server at %s cannot be recognized: %s", connection.origin.address, type(error).__name__)
        contact = None
    if len(_known) >= MAX_KNOWN:
        _known.clear()
    _known[key] = contact
    if contact is not None:
        _known[(*key[:-1], contact.name)] = contact
    return contact


def forget() -> None:
    """Ask every server again."""
    _known.clear()


async def list_models(connection: Connection) -> list[dict[str, Any]] | None:
    """The models the server lists; None when it gives no list."""
    listed = (await _document(connection, connection.base_url, Question("/models"))).get("data")
    return [as_dict(entry) for entry in as_list(listed)] if isinstance(listed, list) else None


async def refusal(connection: Connection) -> ModelError | None:
    """Why a server lists no models, where no other attempt would help: it wants a key, or speaks no TLS. Asked when
    nothing can be done without the list."""
    try:
        answered = await _answered(connection, connection.base_url, Question("/models"))
    except TransientModelError:
        return None
    except ModelError as error:
        return error
    return failure(connection.origin, answered) if answered.status in (401, 403) else None


async def _ask(connection: Connection, provider: Provider, name: str) -> Contact | None:
    listed = await list_models(connection) or []
    own = provider.name if provider.serves is not None and not provider.needs_key else ""
    kind = own or kind_of(listed)
    if not listed and not (own and name):
        return None
    if not name:
        name = next(iter(read_contact("", "", listed, {}).models), "")
    question = question_for(kind, name, len(listed)) if name else None
    root = re.sub(r"/v\d\w*$", "", connection.base_url)
    told: dict[str, Any] = {}
    if question is not None:
        with contextlib.suppress(ModelError):  # the list alone tells something
            told = await _document(connection, root, question)
    contact = read_contact(kind, name, listed, told)
    if contact.server == "llamacpp" and len(listed) == 1 and (path := load(_TUNING_PATH)(contact.family)):
        with contextlib.suppress(ModelError):
            answered = await _answered(connection, root, Question(path))
            return msgspec.structs.replace(contact, tuning=load(_TUNING_IN)(answered.items(), contact.family))
    return contact


async def _document(connection: Connection, base: str, question: Question) -> dict[str, Any]:
    answered = await _answered(connection, base, question)
    return answered.fields() if answered.ok else {}


async def _answered(connection: Connection, base: str, question: Question) -> Answered:
    body = None if question.body is None else msgspec.json.encode(question.body)
    return await send(
        connection.origin,
        "GET" if body is None else "POST",
        base + question.path,
        headers=connection.headers,
        body=body,
        seconds=SECONDS + 1.0,  # the limit for all of them comes first
        largest=MAX_DOCUMENT,
    )


def served_by(contact: Contact, otherwise: Provider) -> Provider:
    """The entry of the table whose deviations from the protocol apply to the server."""
    return PROVIDERS.get(contact.server, otherwise)


def profile_of(contact: Contact, provider: Provider) -> Profile:
    """The facts about a model at a server that was recognized: the same as for this model in process."""
    server = served_by(contact, provider)
    facts = profile_for(server, contact.family or contact.name)
    changes: dict[str, Any] = {"calls_known": False}
    if contact.tools is False:  # its template has none, or the server would refuse them
        changes |= {"tool_call": False, "parallel_calls": False, "forced_tool": False}
    for field in ("window", "vision", "prices"):
        if (told := getattr(contact, field)) is not None:
            changes[field] = told
    facts = msgspec.structs.replace(facts, **changes, decide=None)
    if contact.parameters is not None:
        facts = sized(facts, contact.parameters, own_server=not server.needs_key)
    if contact.tuning:
        facts = facts.with_tuning(contact.tuning)
    return with_thresholds(facts)
