"""Writes finished exchanges down in a thread (of a process of its own, see `worker.py`).

Nothing here can hold up or end the program that is recorded: what cannot be written is counted and reported.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from treadle._engine.core.redaction import event_redactor
from treadle._record.contents import UnreadableError
from treadle._record.exchange import PATIENCE, HttpExchange, wait_while_moving
from treadle._safety.secrets import known_secrets
from treadle._types.errors import TreadleError


class Sink(Protocol):
    """Somewhere to write exchanges down."""

    async def take(self, exchange: HttpExchange, clean: Callable[[str], str]) -> str:
        """Write one down; `clean` takes the secrets out of a text. Returns why it is not for this sink, if so."""
        ...

    async def close(self, *, ended: bool) -> None:
        """`ended`: nothing more passes. Else the recording broke off, and another one may go on with it."""
        ...


class Recorder:
    """Takes exchanges from the proxy and gives them to its sinks, in the order in which they ended."""

    def __init__(self, sinks: Sequence[Sink], say: Callable[[str], None]) -> None:
        self.recorded = 0
        self.missed: Counter[str] = Counter()
        """Exchanges that were passed on and not written down, by reason."""
        self._sinks = sinks
        self._say = say
        self._keys: set[str] = set()
        self._queue: asyncio.Queue[HttpExchange | None] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._written = threading.Condition()
        self._left = 0
        self._ended = True
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._take_all()), name="treadle-record", daemon=True
        )
        self._thread.start()
        self._ready.wait()

    def __call__(self, exchange: HttpExchange) -> None:
        """Never blocks."""
        with self._written:
            self._left += 1
        self._put(exchange)

    def wait_below(self, most: int) -> None:
        """Wait until fewer exchanges than that are left to be written."""
        with self._written:
            self._written.wait_for(lambda: self._left < most)

    def close(self, seconds: float = 30.0, *, ended: bool = True, patience: float = PATIENCE) -> bool:
        """Write down what is left, and stop: after `seconds` at the latest, and when nothing could be written for
        `patience` seconds. Return whether all was written."""
        self._ended = ended
        self._put(None)
        if not wait_while_moving(self._thread.join, self._thread.is_alive, lambda: self._left, seconds, patience):
            self._say(
                f"the last exchanges ({self._left}) could not be written: nothing moved for {patience:g} seconds, or "
                f"it took more than {seconds:g}. Does another process hold the journal?"
            )
            return False
        if self.missed:
            reasons = "; ".join(f"{count} because {reason}" for reason, count in self.missed.most_common(5))
            self._say(f"exchanges that were passed on but not recorded: {reasons}")
        return True

    def _put(self, exchange: HttpExchange | None) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._queue.put_nowait, exchange)

    async def _take_all(self) -> None:
        """The loop runs all the time: a journal renews its claims meanwhile."""
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        while (exchange := await self._queue.get()) is not None:
            await self._record(exchange)
            with self._written:
                self._left -= 1
                self._written.notify()
        for sink in self._sinks:
            await self._guarded(sink.close(ended=self._ended), "the end of the recording failed")

    async def _record(self, exchange: HttpExchange) -> None:
        try:
            if new := set(exchange.secrets) - self._keys:
                self._keys |= new
                known_secrets.keep(self, "key", new)
            if exchange.not_stored:
                self._miss(exchange.not_stored)
                return
            redactor = event_redactor().current()

            def clean(text: str) -> str:  # a look is much cheaper, and nearly always enough
                return redactor.text(text) if redactor.suspects(text) else text

            before = self.missed.total()
            refused = [await self._guarded(sink.take(exchange, clean), "") for sink in self._sinks]
            if self.missed.total() > before:
                return
            self.recorded += not all(refused)
            if all(refused) and exchange.method == "POST":  # lists of models and the like are no loss
                self._miss(next(filter(None, refused), "there is neither a journal nor a folder to write it to"))
        finally:
            exchange.forget()

    async def _guarded(self, work: Awaitable[str | None], what: str) -> str:
        try:
            return await work or ""
        except UnreadableError as error:
            self._miss(str(error))
        except (TreadleError, OSError) as error:
            self._miss(f"{what}{': ' if what else ''}{error}")
        except Exception as error:
            self._miss(f"{what or 'of an internal error'}: {type(error).__name__}: {error}")
        return ""

    def _miss(self, reason: str) -> None:
        if not self.missed[reason]:
            self._say(f"an exchange was passed on but not recorded: {reason}. The program is not affected")
        self.missed[reason] += 1
