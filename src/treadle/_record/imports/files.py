"""`runs import`: finds out what a file is, and writes the runs in it into a journal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from treadle._engine.core.redaction import event_redactor
from treadle._journal.base import Journal
from treadle._journal.export import IMPORTED, import_run, is_exported
from treadle._record.imports.atif import trajectories
from treadle._record.imports.conversation import Found
from treadle._record.imports.dumps import dumps
from treadle._record.imports.observations import observations
from treadle._record.imports.otel import traces
from treadle._record.runs import RunWriter
from treadle._safety.data import DataError, decode_json
from treadle._types.errors import ConfigError

MAX_BYTES = 256 * 1024 * 1024
_NEXT = re.compile(r"\S")


class ImportedRuns(Struct, frozen=True):
    runs: tuple[str, ...]
    without_contents: int = 0
    """Calls of models in a trace that say nothing of what was said."""


FORMATS: tuple[tuple[str, Callable[[list[Any]], Found | None]], ...] = (
    ("an OpenTelemetry trace with GenAI attributes", traces),
    ("observations of Langfuse or runs of LangSmith", observations),
    ("an ATIF trajectory", trajectories),
    ("messages as OpenAI and Anthropic write them", dumps),
)
"""What is recognized, in this order. Each reader returns None for what it does not know."""


async def import_file(journal: Journal, data: bytes, name: str) -> ImportedRuns:
    """The runs of an exported run, or of a file of any of `FORMATS`."""
    if is_exported(data):
        return ImportedRuns((await import_run(journal, data),))
    documents = _documents(data, name)
    contents = next((contents for _, read in FORMATS if (contents := read(documents)) is not None), None)
    if contents is None:
        raise ConfigError(
            f"{name} cannot be imported: expected an exported run, {', '.join(form for form, _ in FORMATS)}"
        )
    if not contents.groups:
        raise ConfigError(f"{name} is a record without contents{f': {contents.hint}' if contents.hint else ''}")
    writer = RunWriter(journal, _agent(name), tag=IMPORTED, resume=False)
    runs: list[str] = []
    for group in contents.groups:  # each is a run of its own, also if two begin alike
        for exchange in group:
            await writer.add(exchange.asked, exchange.answered, exchange.http(), 0)
        runs += await writer.finish()
    return ImportedRuns(tuple(runs), contents.without_contents)


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
        documents = [decode_json(piece) for piece in _split(text)] if text.lstrip().startswith(("{", "[")) else []
        if not documents:
            raise ConfigError(f"{name} is neither an exported run nor JSON: {problem}") from None
        return documents


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
