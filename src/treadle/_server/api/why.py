"""Operations about why a run went wrong: say what was expected, start a search for the cause, follow it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._inspect.why.marks import Mark, mark_wrong, marks_in
from treadle._inspect.why.notebook import read_notebook
from treadle._inspect.why.search import find_causes
from treadle._safety.logs import get_logger, log_handled
from treadle._server.api.operations import Call, Routes, answer
from treadle._server.errors import bad_request, conflict
from treadle._server.live.branches import OwnedRun
from treadle._types.errors import TreadleError

routes = Routes("inspector")

logger = get_logger()
_MOST = 2
"""Searches at the same time: each asks for many replies."""
_Text = Annotated[str, Meta(max_length=2_000)]


class Expected(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The expectation of a run, or of one step of it: a text in the answer, or a call."""

    answer: _Text = ""
    call: Annotated[str, Meta(max_length=200)] = ""
    args: dict[str, Any] | None = None
    step: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class SearchBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    requests: Annotated[int, Meta(ge=1, le=400)] = 60
    """At most so many model requests."""


class Tried(Struct, frozen=True, kw_only=True):
    """An experiment: what was changed, and what happened."""

    change: str
    kind: str
    step: int
    runs: tuple[str, ...] = ()
    right: int = 0
    trials: int = 1
    answer: str = ""
    why: str = ""
    unknown: tuple[str, ...] = ()


class Found(Struct, frozen=True, kw_only=True):
    """A change with which the run goes right."""

    change: str
    run: str = ""
    difference: str = ""
    patch: str = ""
    step: int = 0
    last_step: int = 0
    share: str = ""


class WhyBody(Struct, frozen=True, kw_only=True):
    """The findings about why a run went wrong, so far."""

    marks: list[Mark] = []
    running: bool = False
    judge: str = ""
    problem: str = ""
    experiments: list[Tried] = []
    causes: list[Found] = []
    requests: int = 0
    complete: bool = False
    failed: str = ""
    """Why the last search could not be made."""


@routes("POST", "/api/runs/{run_id}/expected", WhyBody, body=Expected, errors=(400, 404))
async def mark_run(call: Call) -> Response:
    """Mark the answer, or a step, as wrong, and say what was expected."""
    run_id, body = await call.owned_run(), call.body
    try:
        await mark_wrong(*call.runs.log_of(run_id), answer=body.answer, call=body.call, args=body.args, step=body.step)
    except TreadleError as error:
        raise bad_request(str(error)) from None
    return answer(await _cause_body(call, run_id))


@routes("POST", "/api/runs/{run_id}/why", WhyBody, body=SearchBody, errors=(404, 409))
async def search_causes(call: Call) -> Response:
    """Start a search for the smallest change with which the run goes right. Nothing with an effect runs."""
    run_id, body = await call.owned_run(), call.body
    searches = call.hub.searches
    if run_id in searches.running:
        raise conflict("a search for the causes of this run is under way already")
    if len(searches.running) >= _MOST:
        raise conflict(f"{_MOST} searches are under way already: wait until one of them is done", again=True)
    agent, _ = await call.hub.served(run_id)
    searches.failed.pop(run_id, None)
    own = call.context.authenticator.is_operator(call.principal)
    files = call.context.settings.sources if own else ()
    task = asyncio.create_task(_search(searches, agent, run_id, body.requests, files))
    searches.running[run_id] = task
    # What cannot be searched says so at once; what can is written down in the journal from now on.
    await asyncio.wait([task], timeout=0.2)
    return answer(await _cause_body(call, run_id))


async def _search(searches: Any, agent: Any, run_id: str, requests: int, files: Sequence[str]) -> None:
    try:
        await find_causes(agent, run_id, requests=requests, files=files)
    except TreadleError as error:
        searches.failed[run_id] = str(error)
    except Exception as error:
        log_handled(logger, "the search for the causes of run %s failed", run_id)
        searches.failed[run_id] = f"the search failed ({type(error).__name__})"
    finally:
        searches.running.pop(run_id, None)


@routes("GET", "/api/runs/{run_id}/why", WhyBody, errors=(404,))
async def run_why(call: Call) -> Response:
    """Return why a run went wrong, as far as it is known."""
    run_id = await call.owned_run()
    return answer(await _cause_body(call, run_id))


async def _cause_body(call: Call, run_id: OwnedRun) -> WhyBody:
    searches = call.hub.searches
    marks = marks_in((await call.runs.info(run_id)).note)
    failed = searches.failed.get(run_id, "")
    notebook = await read_notebook(*call.runs.log_of(run_id))
    if notebook is None:
        return WhyBody(marks=marks, failed=failed, running=run_id in searches.running)
    began = max(index for index, note in enumerate(notebook.notes) if note["what"] == "began")
    latest = notebook.notes[began:]
    tried = {(note["change"], note["step"], note["trials"]): note for note in latest if note["what"] == "tried"}
    nothing: dict[str, Any] = {}
    result = next((note for note in latest if note["what"] == "found"), nothing)
    return WhyBody(
        marks=marks,
        failed=failed,
        running=notebook.running or run_id in searches.running,
        judge=latest[0]["judge"],
        problem=latest[0]["problem"],
        experiments=[Tried(**_fields(note)) for note in tried.values()],
        causes=msgspec.convert(result.get("causes", []), list[Found]),
        requests=result.get("requests", 0),
        complete=bool(result.get("complete")),
    )


def _fields(note: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in note.items() if name in Tried.__struct_fields__}
