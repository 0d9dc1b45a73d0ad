"""A proof: one file with an answer, its grounds and every record of its run, which can be checked without a network.

Each line is JSON. The first names the run; each further one is a record with the hash of itself and all before it; the
last has the answer and its claims, with the hash of everything. Who changes a line changes the last hash. A hash is no
signature: somebody who rewrites the whole file can make a consistent one, with another last hash. Keep that, or send it
by another way, and give it to `verify_proof`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from treadle._inspect.replay import replay
from treadle._journal.base import Journal
from treadle._journal.export import export_run, read_export
from treadle._plugins.evidence.support import MAX_ANSWER, MAX_SENTENCES, METHOD, NOT_LOOKED_UP, Claim, claims_of
from treadle._safety.data import DataError, decode_json
from treadle._types.errors import ConfigError
from treadle._types.events import LedgerEntry, Record, RunFinished
from treadle._types.state import fold

FORMAT = "treadle-proof"
VERSION = 1
MAX_BYTES = 256 * 1024 * 1024


class _Header(Struct, frozen=True):
    format: str
    version: int
    run: str
    method: str


class _RecordLine(Struct, frozen=True):
    hash: str
    record: Raw


class _Answer(Struct, frozen=True):
    answer: str
    claims: tuple[Claim, ...]
    ledger: tuple[LedgerEntry, ...] = ()


class _LastLine(Struct, frozen=True):
    hash: str
    answer: Raw


class Verdict(Struct, frozen=True):
    """What a proof is worth."""

    run: str
    answer: str
    head: str
    """The last hash: it stands for the whole file."""
    records: int
    claims: tuple[Claim, ...]
    ledger: tuple[LedgerEntry, ...] = ()
    """What became of each call that acts."""
    problems: tuple[str, ...] = ()
    """Why the file is not to be believed; empty when everything in it fits together."""

    @property
    def intact(self) -> bool:
        return not self.problems

    @property
    def not_supported(self) -> tuple[Claim, ...]:
        """Every sentence that claims something no record says."""
        return tuple(claim for claim in self.claims if claim.status not in ("supported", "receipted", "empty"))

    @property
    def unsupported(self) -> tuple[Claim, ...]:
        """Every sentence that no record has the words of, or that one contradicts."""
        return tuple(claim for claim in self.claims if claim.status in ("unsupported", "contradicted"))


class Grounds(Struct, frozen=True):
    """The claims of an answer, without the records they came from."""

    answer: str
    claims: tuple[Claim, ...]
    complete: bool
    """False when it was not looked at whole: the answer goes on after the last claim, or the log is too large."""
    ledger: tuple[LedgerEntry, ...] = ()
    """What became of each call that acts."""
    method: str = METHOD


async def prove_answer(journal: Journal, run_id: str) -> bytes:
    """The proof of a finished run."""
    return await asyncio.to_thread(_proof, await export_run(journal, run_id, notes=False), run_id)


async def grounds_of_answer(journal: Journal, run_id: str) -> Grounds:
    """Return what a proof would say about the answer of a finished run."""
    return await asyncio.to_thread(_grounds, await export_run(journal, run_id, notes=False), run_id)


def _grounds(export: bytes, run_id: str) -> Grounds:
    _, logs = read_export(export)
    answer = _answer_of(logs.get(run_id, ()))
    if not answer:
        raise ConfigError(f"run {run_id} has no answer to prove: it must be finished, with one")
    claims = claims_of(answer, logs)
    whole = len(answer) <= MAX_ANSWER and len(claims) < MAX_SENTENCES
    complete = whole and all(claim.why != NOT_LOOKED_UP for claim in claims)
    return Grounds(answer, claims, complete, fold(logs.get(run_id, ())).ledger.entries)


def _proof(export: bytes, run_id: str) -> bytes:
    header, *lines = export.splitlines()
    grounds = _grounds(export, run_id)
    first = msgspec.json.encode(_Header(FORMAT, VERSION, run_id, METHOD))
    written = [first]
    head = _hash("", first)
    for line in (header, *lines):
        head = _hash(head, line)
        written.append(msgspec.json.encode(_RecordLine(head, Raw(line))))
    last = msgspec.json.encode(_Answer(grounds.answer, grounds.claims, grounds.ledger))
    written.append(msgspec.json.encode(_LastLine(_hash(head, last), Raw(last))))
    return b"\n".join((*written, b""))


def verify_proof(data: bytes, *, head: str = "") -> Verdict:
    """Check a proof: its hashes, and that answer, claims and requests follow from its records. `head` is the last hash,
    as it was given to you."""
    try:
        header, records, last, hashes = _read(data)
        answer = decode_json(last, _Answer)
    except (msgspec.DecodeError, DataError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"this is no proof of an answer: {error}") from None
    problems: list[str] = []
    expected = _hash("", data.split(b"\n", 1)[0])
    for number, line in enumerate((*records, last), 2):
        expected = _hash(expected, line)
        if expected != hashes[number - 2]:
            problems.append(f"line {number} is not what was written: its hash is another one")
            break
    if head and head != hashes[-1]:
        problems.append("the last hash is not the one you were given")
    problems += _contents(header, b"\n".join(records), answer)
    return Verdict(
        header.run, answer.answer, hashes[-1], len(records) - 1, answer.claims, answer.ledger, tuple(problems)
    )


def _read(data: bytes) -> tuple[_Header, list[bytes], bytes, list[str]]:
    if len(data) > MAX_BYTES:
        raise DataError(f"it is larger than {MAX_BYTES} bytes")
    first, *rest = data.split(b"\n")[:-1] or [b""]
    header = decode_json(first, _Header)
    if header.format != FORMAT:
        raise DataError("its first line says something else")
    if header.version != VERSION:
        raise DataError(f"it has version {header.version}, and this program reads version {VERSION}")
    if len(rest) < 2:
        raise DataError("it ends too early")
    lines = [msgspec.json.decode(line, type=_RecordLine) for line in rest[:-1]]
    last = msgspec.json.decode(rest[-1], type=_LastLine)
    if b"\n".join((first, *map(msgspec.json.encode, (*lines, last)), b"")) != data:
        raise DataError("it has bytes that no hash covers: blanks, ends of lines, or fields of somebody else's")
    return header, [bytes(line.record) for line in lines], bytes(last.answer), [*(x.hash for x in lines), last.hash]


def _contents(header: _Header, export: bytes, claimed: _Answer) -> list[str]:
    """Return what does not follow from the records."""
    try:
        run, logs = read_export(export)
        if run != header.run:
            return [f"its records are those of another run, {run}"]
        problems: list[str] = []
        if _answer_of(logs.get(run, ())) != claimed.answer:
            problems.append("the answer is not the one the records end with")
        if header.method != METHOD:
            problems.append(f"its claims were made by another method, {header.method}: they cannot be checked here")
        elif claims_of(claimed.answer, logs) != claimed.claims:
            problems.append("the claims do not follow from the records")
        if fold(logs.get(run, ())).ledger.entries != claimed.ledger:
            problems.append("the ledger does not follow from the records")
        for name, records in logs.items():
            if (difference := replay(records).difference) is not None:
                problems.append(f"run {name}: {difference}"[:500])
    except Exception as error:  # a stranger may have written them: whatever they do, they prove nothing
        return [f"its records cannot be read: {type(error).__name__}: {error}"[:500]]
    return problems


def _answer_of(records: Sequence[Record]) -> str:
    return next((r.event.answer for r in reversed(records) if isinstance(r.event, RunFinished)), "")


def _hash(before: str, line: bytes) -> str:
    return hashlib.sha256(before.encode() + b"\n" + line).hexdigest()


STATUS_TEXT = {
    "supported": "supported",
    "receipted": "receipted",
    "contradicted": "contradicted",
    "words": "only words match",
    "unsupported": "unsupported",
    "empty": "empty",
}
"""What the counts are called where a person reads them."""


def count_text(claims: Sequence[Claim]) -> str:
    """The counts in one line."""
    return ", ".join(f"{count} {STATUS_TEXT[status]}" for status, count in summary(claims).items() if count)


def summary(claims: Sequence[Claim]) -> Mapping[str, int]:
    """How many sentences have which status."""
    return {status: sum(claim.status == status for claim in claims) for status in STATUS_TEXT}
