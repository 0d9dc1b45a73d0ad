"""The journal as one user sees it. Handlers get this and no other: a look-up without an owner cannot be written.

What the hub does with a run takes an `OwnedRun`, and only this module and the hub make one.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Unpack

from treadle._engine.run import Run
from treadle._journal.base import Journal, RunInfo
from treadle._journal.catalog.values import Overview, RunFilter
from treadle._server.authenticator import Principal
from treadle._server.errors import not_found, token_needed
from treadle._server.live.branches import OwnedRun, RunFacts
from treadle._server.live.hub import Hub
from treadle._types.errors import RunNotFoundError
from treadle._types.ids import fresh_id

_TAG = 12
"""Characters that the ids of a user's runs begin with: 48 bits; the 20 behind them are the client's choice."""


def run_of(one: RunInfo | Run[Any]) -> OwnedRun:
    """The run of a line that the view has listed, or that was started for whoever asks."""
    return OwnedRun(one.run_id if isinstance(one, RunInfo) else one.id)


def id_prefix(user: str) -> str:
    """What the ids that a user's clients choose begin with, so that no two users can choose the same."""
    return blake2b(user.encode(), digest_size=_TAG // 2, person=b"treadle-runs").hexdigest() if user else ""


class Runs:
    """The runs of one user, or everybody's for the operator of a server that has no users. A run of somebody else is
    not there."""

    def __init__(self, hub: Hub, principal: Principal) -> None:
        if principal.role == "nobody":
            raise token_needed()
        self._hub, self._user = hub, principal.user

    async def owned(self, run_id: str) -> OwnedRun:
        """The run with this id, or that the user has started with this id; otherwise "not found"."""
        run = await self.find(run_id)
        if run is None:
            raise not_found(f"run {run_id[:80]!r}")
        return run

    async def find(self, run_id: str) -> OwnedRun | None:
        for name in dict.fromkeys((run_id, self.id_for(run_id))):
            try:
                run = root = OwnedRun(name)
                while parent := (await self._hub.facts(root)).parent:
                    root = OwnedRun(parent)  # a run inside another belongs to its user
                if not self._user or (await self._hub.facts(root)).user == self._user:
                    return run
            except RunNotFoundError:
                continue
        return None

    def id_for(self, wanted: str | None) -> str:
        """The id of the run that a client calls so: its own choice within what is the user's, else one made of it."""
        if not wanted:
            return fresh_id()
        prefix = id_prefix(self._user)
        if wanted.startswith(prefix):
            return wanted
        return prefix + blake2b(wanted.encode("utf-8", "replace"), digest_size=10).hexdigest()

    async def facts(self, run: OwnedRun) -> RunFacts:
        return await self._hub.facts(run)

    async def info(self, run: OwnedRun) -> RunInfo:
        return await self._hub.journal.info(run)

    async def list(self, *, limit: int, after: str = "", **only: Unpack[RunFilter]) -> list[RunInfo]:
        """The user's runs, newest first, without those inside others."""
        return await self._hub.journal.list(limit=limit, after=after, **self._bound(only))

    async def overview(self, **only: Unpack[RunFilter]) -> Overview:
        return await self._hub.journal.overview(**self._bound(only))

    async def inside(self, run: OwnedRun, *, limit: int, after: str = "", **only: Unpack[RunFilter]) -> list[RunInfo]:
        """The runs inside a run, which record no user of their own."""
        return await self._hub.journal.list(limit=limit, after=after, **(only | RunFilter(parent=run, user="")))

    async def annotate(self, run: OwnedRun, **notes: Any) -> RunInfo:
        return await self._hub.journal.annotate(run, **notes)

    async def recall(self, run: OwnedRun, message_id: str) -> bool:
        return await self._hub.journal.recall(run, message_id)

    def log_of(self, run: OwnedRun) -> tuple[Journal, OwnedRun]:
        """The run in its journal, for what reads logs by itself."""
        return self._hub.journal, run

    def _bound(self, only: RunFilter) -> RunFilter:
        return only | RunFilter(parent="", user=self._user)
