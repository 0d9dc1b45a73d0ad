"""The model of an experiment: equal requests are sent once, within the budget of the search."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from hashlib import blake2b
from typing import Any

import msgspec

from treadle._models.base import Model, complete
from treadle._types.errors import BudgetExhaustedError
from treadle._types.profile import Profile
from treadle._types.request import Reply, Request, StreamPart
from treadle._types.usage import NO_USAGE, Usage


class SearchBudget:
    """The limits of a search and what it has used. A request counts before it is sent, so there is no overshoot."""

    def __init__(self, requests: int, cost: float | None = None) -> None:
        self.limit, self.cost_limit = requests, cost
        self.requests = 0
        self.reused = 0
        """Requests that were answered from an equal one."""
        self.usage = NO_USAGE
        self.out = asyncio.Event()
        """Set when a request was refused."""

    @property
    def empty(self) -> bool:
        spent = self.usage.cost or 0.0
        return self.requests >= self.limit or (self.cost_limit is not None and spent >= self.cost_limit)

    def take(self) -> None:
        if self.empty:
            self.out.set()
            raise BudgetExhaustedError(f"the search has spent its {self.limit} model requests", cost=self.usage)
        self.requests += 1

    def add(self, usage: Usage) -> None:
        self.usage += usage


class CachedModel:
    """A model whose replies are cached for the duration of the search.

    Requests of different trials are not shared: a repetition has to be answered anew.
    """

    def __init__(
        self,
        model: Model,
        budget: SearchBudget,
        replies: dict[bytes, asyncio.Task[Reply]],
        trial: int = 0,
        change_profile: Callable[[Profile], Profile] | None = None,
    ) -> None:
        self._model, self._budget, self._replies, self._trial = model, budget, replies, trial
        self._change_profile = change_profile
        self._changed_profile: tuple[Profile, Profile] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def profile(self) -> Profile:
        """Return the changed profile; the same object until the profile of the model changes."""
        profile = self._model.profile
        if self._change_profile is None:
            return profile
        if self._changed_profile is None or self._changed_profile[0] is not profile:
            self._changed_profile = (profile, self._change_profile(profile))
        return self._changed_profile[1]

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        key = self._key(request)
        task = self._replies.get(key)
        if task is None:
            try:
                self._budget.take()
            except BudgetExhaustedError:
                # Not a failure of the model: the experiment waits here until it is abandoned, and a later search
                # resumes it.
                await asyncio.get_running_loop().create_future()
            frozen = request.replace(messages=tuple(request.messages), stream=False, cache=None)
            task = self._replies[key] = asyncio.create_task(complete(self._model, frozen))
            try:
                reply = await asyncio.shield(task)
            except BaseException:
                self._replies.pop(key, None)  # what failed may be asked again
                task.cancel()
                raise
            self._budget.add(reply.usage)
            yield reply
            return
        reply = await asyncio.shield(task)
        self._budget.reused += 1
        yield msgspec.structs.replace(reply, usage=NO_USAGE)

    async def aclose(self) -> None:
        """The model is the agent's: it stays open."""

    def _key(self, request: Request) -> bytes:
        asked = (
            self._model.name, self._trial, request.messages, request.tools, request.tool_choice, request.format,
            request.temperature, request.max_tokens, request.stop, request.seed, request.tuned, request.decision_after,
        )  # fmt: skip
        return blake2b(msgspec.json.encode(asked), digest_size=16).digest()
