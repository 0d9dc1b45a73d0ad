"""Operations about the grounds of an answer: those of each sentence, and the proof as a file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from msgspec import Struct
from starlette.responses import Response

from treadle._inspect.proof import grounds_of_answer, prove_answer, summary
from treadle._journal import Journal
from treadle._plugins.evidence.support import Claim, Ground
from treadle._server.api.operations import Call, Routes, answer
from treadle._server.errors import conflict
from treadle._types.errors import ConfigError
from treadle._types.events import LedgerEntry

routes = Routes("inspector")

T = TypeVar("T")
MAX_QUOTE = 600
"""Characters of a passage that are shown; the record has all of it."""


class GroundsBody(Struct, frozen=True):
    run_id: str
    method: str
    """How grounds were looked for; a proof names it, too."""
    claims: list[Claim]
    """Each sentence of the answer by its place in it, in characters, with what the records say about it."""
    counts: dict[str, int]
    ledger: list[LedgerEntry]
    """What became of each call that acts; receipts of claims name them."""
    complete: bool
    """False when it was not looked at whole: the answer goes on after the last claim, or the log is too large."""


@routes("GET", "/api/runs/{run_id}/grounds", GroundsBody, errors=(404, 409))
async def run_grounds(call: Call) -> Response:
    """Return the grounds of an answer, and what became of calls that act."""
    grounds = await _computed(call, grounds_of_answer)
    claims = [msgspec.structs.replace(claim, grounds=_quoted(claim.grounds)) for claim in grounds.claims]
    counts, ledger = dict(summary(grounds.claims)), list(grounds.ledger)
    return answer(GroundsBody(call.path("run_id"), grounds.method, claims, counts, ledger, grounds.complete))


@routes("GET", "/api/runs/{run_id}/proof", "application/x-ndjson", errors=(404, 409))
async def run_proof(call: Call) -> Response:
    """Export the answer, its grounds and every record as one file that `treadle verify` checks offline."""
    proof = await _computed(call, prove_answer)
    name = f"proof-{''.join(c for c in call.path('run_id')[:8] if c.isascii() and c.isalnum())}.jsonl"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(proof, 200, headers, media_type="application/x-ndjson")


async def _computed(call: Call, compute: Callable[[Journal, str], Awaitable[T]]) -> T:
    """Compute within the limit of one at a time for each user: a long run takes seconds of a processor."""
    run_id = await call.owned_run()
    with call.context.computations.held(call.principal.key):
        try:
            return await compute(*call.runs.log_of(run_id))
        except ConfigError as error:
            raise conflict(str(error)) from None


def _quoted(grounds: tuple[Ground, ...]) -> tuple[Ground, ...]:
    return tuple(
        Ground(g.run, g.seq, g.quote if len(g.quote) <= MAX_QUOTE else f"{g.quote[:MAX_QUOTE]}…") for g in grounds
    )
