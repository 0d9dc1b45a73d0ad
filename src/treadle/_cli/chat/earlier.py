"""An earlier conversation, to be continued: `chat --continue` and `chat --resume ID`."""

from __future__ import annotations

import sys

from msgspec import Struct

from treadle._agent.conversation import history_of
from treadle._cli.runs.lookup import find_run
from treadle._cli.setup.launch import AGENT, CODE, launch_of
from treadle._journal import Journal
from treadle._types.errors import ConfigError, RunNotFoundError
from treadle._types.events import Record
from treadle._types.messages import Message
from treadle._types.state import fold

_LOOK_BACK = 500


class Earlier(Struct, frozen=True):
    conversation: str
    last_run: str
    history: list[Message]
    records: list[Record]
    question: str
    answer: str
    ended: bool
    before: tuple[list[Message], str]
    """The history and the last run before that question."""


async def earlier_chat(journal: Journal, named: str = "", *, folder: str = "") -> Earlier:
    """Load the conversation that `named` stands for (its id, or a run of it), else the newest of this terminal; with
    `folder`, of those that work on it."""
    run_id = await (_named(journal, named) if named else _newest(journal, folder))
    if (await journal.info(run_id)).status == "running":
        raise ConfigError(_driven(run_id))
    records = await journal.load(run_id)
    state = fold(records)
    started = state.started
    return Earlier(
        started.conversation if started is not None else "",
        run_id,
        history_of(state),
        records,
        state.question,
        state.finished.answer if state.finished is not None else "",
        state.finished is not None,
        (list(started.history), started.follows) if started is not None else ([], ""),
    )


def _driven(run_id: str) -> str:
    return f"another process drives run {run_id[:8]}: treadle runs watch {run_id[:8]} shows it"


async def _newest(journal: Journal, folder: str) -> str:
    agent = CODE if folder else AGENT
    for info in await journal.list(limit=_LOOK_BACK, parent="", agent=agent):
        if info.conversation and not info.undone:
            launch = launch_of(await journal.load(info.run_id)) if folder else None
            if not folder or (launch is not None and launch.folder == folder):
                if info.status != "running":
                    return info.run_id
                print(f"({_driven(info.run_id)})", file=sys.stderr)
    command = "code" if folder else "chat"
    raise RunNotFoundError(f"there is no conversation to continue yet: treadle {command} starts one")


async def _named(journal: Journal, named: str) -> str:
    """A conversation is continued after its newest run, a run after itself: what came later is left out."""
    in_conversation = await journal.list(limit=_LOOK_BACK, conversation=named, parent="")
    newest = next((info.run_id for info in in_conversation if info.status != "running" and not info.undone), None)
    return newest or await find_run(journal, named)
