"""`runs import`: finds out what a file is, and writes the runs in it into a journal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from treadle._engine.core.redaction import event_redactor
from treadle._journal.base import Journal
from treadle._journal.export import IMPORTED_TAG, import_run, is_exported
from treadle._record.imports.conversation import Imported
from treadle._record.imports.dumps import dumped, is_dump
from treadle._record.imports.otel import is_trace, traced
from treadle._record.runs import RunWriter
from treadle._safety.data import DataError, decode_json
from treadle._types.errors import ConfigError

MAX_BYTES = 256 * 1024 * 1024
_NEXT = re.compile(r"\S")


class ImportedRuns(Struct, frozen=True):
    runs: tuple[str, ...]
    without_contents: int = 0
    """Calls of models in a trace that say nothing of what was said."""


async def import_file(journal: Journal, data: bytes, name: str) -> ImportedRuns:
    """The runs of an exported run, a dump of messages, or a trace."""
    if is_exported(data):
        return ImportedRuns((await import_run(journal, data),))
    documents = _documents(data, name)
    writer = RunWriter(journal, _agent(name), tag=IMPORTED_TAG, resume=False)
    if any(is_trace(document) for document in documents):
        exchanges, missing = traced(documents)
        if not exchanges:
            raise ConfigError(
                f"{name} is a trace without contents: have its program capture messages "
                "(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true)"
            )
        await _write(writer, exchanges)
        return ImportedRuns(tuple(await writer.finish()), missing)
    conversations = [document for document in documents if is_dump(document)]
    if not conversations and is_dump(documents):  # a message in each line
        conversations = [documents]
    if not conversations:
        raise ConfigError(
            f"{name} cannot be imported: expected an exported run, messages as OpenAI and Anthropic write them, or "
            "an OpenTelemetry trace with GenAI attributes"
        )
    runs: list[str] = []
    for conversation in conversations:  # each is a run of its own, also if two begin alike
        await _write(writer, dumped(conversation))
        runs += await writer.finish()
    return ImportedRuns(tuple(runs))


async def _write(writer: RunWriter, exchanges: Iterable[Imported]) -> None:
    for exchange in exchanges:
        await writer.add(exchange.asked, exchange.answered, exchange.http(), 0)


def _documents(data: bytes, name: str) -> list[Any]:
    """One document, or one in each line. Secrets are taken out before anything is read."""
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{name} is larger than {MAX_BYTES // 2**20} MiB")
    try:
        text = event_redactor().text(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} is not UTF-8: {error.reason} at byte {error.start}") from None
    try:
        return [decode_json(text)]
    except DataError as problem:
        documents = [decode_json(piece) for piece in _split(text)] if _may_be_several(text) else []
        if not documents:
            raise ConfigError(f"{name} is neither an exported run nor JSON: {problem}") from None
        return documents


def _may_be_several(text: str) -> bool:
    return text.lstrip().startswith(("{", "["))


def _split(text: str) -> list[str]:
    """Documents one after the other: in lines of their own, or printed over several lines."""
    decoder, pieces, at = json.JSONDecoder(), list[str](), 0
    try:
        while at < len(text):
            start = _NEXT.search(text, at)
            if start is None:
                break
            _, at = decoder.raw_decode(text, start.start())
            pieces.append(text[start.start() : at])
    except (ValueError, RecursionError):
        return []
    return pieces


def _agent(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2].partition(".")[0] or "imported"
