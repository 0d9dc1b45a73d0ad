"""The default sandbox: `pydantic-monty`, a Python interpreter written in Rust, in a process of its own.

It has no files (but a mounted folder), no network, no processes and no way to the interpreter underneath; what it can do beyond
computing are the functions it is given. It lacks class inheritance, generators and most of the standard library.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from treadle._tools.results import cut
from treadle._tools.sandbox.base import CodeResult, SandboxLimits
from treadle._tools.sandbox.reading import ALLOWED, deferred_calls, import_refusal, parse, refused_import
from treadle._types.errors import MissingExtraError, ToolError

if TYPE_CHECKING:
    from pydantic_monty import AsyncMonty, AsyncMontySession, AsyncSnapshot, CollectString, MountDir

Function = Callable[[tuple[Any, ...], dict[str, Any]], Awaitable[Any]]
"""A function for the code: its positional and its named arguments. `ToolError` becomes an error the code may catch."""

_MAX_WORKERS = 64
_MAX_TRACE = 2_000
_SLEEPS = ("system.sleep", "system.async_sleep")
_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncMonty] = WeakKeyDictionary()


class MontySession:
    """One interpreter's variables. Nothing runs and nothing is held between two pieces of code: the state is a snapshot."""

    def __init__(
        self, limits: SandboxLimits | None = None, *, folder: str = "", write: bool = False, seed: str = ""
    ) -> None:
        """With a `folder`, the code sees it as /work: to read, or also to `write`."""
        self.limits = limits or SandboxLimits()
        self._folder, self._write, self._seed = folder, write, seed
        self._state = b""
        self._deferred: dict[str, frozenset[int]] = {}
        self._fed = 0

    async def run(self, code: str, functions: Mapping[str, Function] | None = None) -> CodeResult:
        """Run the code with what earlier code left behind. Only what a function raises beside `ToolError` gets out."""
        if len(code) > self.limits.code_chars:
            return CodeResult(error=f"the code is too long: more than {self.limits.code_chars} characters")
        tree = parse(code)
        if tree is not None:
            if refusal := refused_import(tree, ALLOWED):
                return CodeResult(error=refusal)
            self._deferred[f"<python-input-{self._fed}>"] = deferred_calls(tree, code)
        monty = _monty()
        pool = await _pool()
        printed = monty.CollectString(self.limits.output_chars)
        try:
            async with pool.checkout(**self._options()) as session:
                if self._state:
                    await session.load_session(self._state)
                return await self._feed(session, code, functions or {}, printed)
        except monty.MontyError as error:
            return CodeResult(printed.output, error=self._explain(error, printed))
        except TimeoutError:
            return CodeResult(error="the sandbox is busy: too much code runs at the same time")

    async def _feed(
        self, session: AsyncMontySession, code: str, functions: Mapping[str, Function], printed: CollectString
    ) -> CodeResult:
        monty = _monty()
        work = _Work(functions, self._deferred, self.limits.seconds)
        mount = self._mount()
        try:
            snapshot: Any = await session.feed_start(code, print_callback=printed, mount=mount)
            while not isinstance(snapshot, monty.MontyComplete):
                snapshot = await work.answer(snapshot)
            result = CodeResult(printed.output, snapshot.output)
        except monty.MontyRuntimeError as error:
            if isinstance(error.exception(), (TimeoutError, MemoryError)):
                raise  # what is left of its memory cannot be relied on: the variables stay what they were before
            result = CodeResult(printed.output, error=self._explain(error, printed))
        except asyncio.CancelledError:
            work.cancel()
            raise
        finally:
            if mount is not None:
                mount.close()
            await work.finish()
        self._state = await session.dump()
        self._fed += 1
        return result

    def _options(self) -> dict[str, Any]:
        limits = self.limits
        return {
            "limits": {
                "max_feed_duration_secs": limits.seconds,
                "max_memory": limits.memory,
            },
            "os_policy": {"random_start": {"seed": self._seed}} if self._seed else None,
        }

    def _mount(self) -> MountDir | None:
        if not self._folder:
            return None
        mode = "read-write" if self._write else "read-only"
        return _monty().MountDir(
            host_path=self._folder, virtual_path="/work", mode=mode, write_bytes_limit=self.limits.memory
        )

    def _explain(self, error: Any, printed: CollectString) -> str:
        if f"> {self.limits.output_chars} bytes" in str(error):
            return f"the code was stopped: it printed more than {self.limits.output_chars} characters"
        display = getattr(error, "display", None)
        text = str(display() if callable(display) else error)
        text = re.sub(r'File "<python-input-\d+>", line', "line", text).replace(", in <module>", "")
        return cut(text.removeprefix("Traceback (most recent call last):\n"), _MAX_TRACE)


class _Work:
    """The calls one piece of code makes, and those of them that are still under way."""

    def __init__(
        self, functions: Mapping[str, Function], deferred: Mapping[str, frozenset[int]], may_sleep: float
    ) -> None:
        self._functions, self._deferred, self._may_sleep = functions, deferred, may_sleep
        self._slept = 0.0
        self._running: dict[int, asyncio.Task[Any]] = {}

    async def answer(self, snapshot: Any) -> AsyncSnapshot:
        monty = _monty()
        if isinstance(snapshot, monty.AsyncNameLookupSnapshot):
            name = snapshot.variable_name
            return await (snapshot.resume(value=_named(name)) if name in self._functions else snapshot.resume())
        if isinstance(snapshot, monty.AsyncFutureSnapshot):
            return await self._settle(snapshot)
        name = str(snapshot.function_name)
        if snapshot.is_os_function:
            if name == "import":
                return await snapshot.resume(
                    {"exc_type": "ImportError", "message": import_refusal(str(snapshot.args[0]), 0, ALLOWED)}
                )
            if name not in _SLEEPS:
                return await snapshot.resume_auto()
        function = self._sleep if name in _SLEEPS else self._functions.get(name)
        if function is None:
            known = ", ".join(self._functions) or "none"
            return await snapshot.resume(
                {"exc_type": "NameError", "message": f"name {name!r} is not defined (functions here: {known})"}
            )
        task = asyncio.ensure_future(function(snapshot.args, snapshot.kwargs))
        self._running[snapshot.call_id] = task
        if name == "system.async_sleep" or snapshot.position.start in self._deferred.get(
            snapshot.position.filename, ()
        ):
            return await snapshot.resume({"future": ...})
        await asyncio.wait([task])
        return await snapshot.resume(self._outcome(snapshot.call_id))

    async def _settle(self, snapshot: Any) -> AsyncSnapshot:
        waiting = {call_id: self._running[call_id] for call_id in snapshot.pending_call_ids}
        await asyncio.wait(waiting.values(), return_when=asyncio.FIRST_COMPLETED)
        return await snapshot.resume(
            {call_id: self._outcome(call_id) for call_id, task in waiting.items() if task.done()}
        )

    def _outcome(self, call_id: int) -> dict[str, Any]:
        try:
            return {"return_value": self._running.pop(call_id).result()}
        except ToolError as error:
            return {"exc_type": "RuntimeError", "message": str(error)}

    async def _sleep(self, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._slept += float(args[0])
        if self._slept > self._may_sleep:
            raise ToolError(f"the code may sleep for {self._may_sleep:g} seconds at most")
        await asyncio.sleep(float(args[0]))

    async def finish(self) -> None:
        """A call that was started is seen through, whatever became of the code."""
        tasks = list(self._running.values())
        if tasks:
            await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.exception()

    def cancel(self) -> None:
        for task in self._running.values():
            task.cancel()


def _named(name: str) -> Callable[..., None]:
    """What a function looks like when the code takes it by its name; it is called by that name."""

    def function() -> None: ...

    function.__name__ = function.__qualname__ = name
    return function


def _monty() -> Any:
    try:
        import pydantic_monty
    except ImportError:
        raise MissingExtraError("running code", "sandbox") from None
    return pydantic_monty


async def _pool() -> AsyncMonty:
    """One pool of workers per event loop; they are started when needed and end with the process."""
    loop = asyncio.get_running_loop()
    pool = _pools.get(loop)
    if pool is None:
        pool = _pools[loop] = _monty().AsyncMonty(min_processes=0, max_processes=_MAX_WORKERS, checkout_timeout=60.0)
        await pool.__aenter__()
    return pool
