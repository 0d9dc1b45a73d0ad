"""The default sandbox: `pydantic-monty`, a Python interpreter written in Rust, in a process of its own.

Code has no files (except a mounted folder), no network, no processes and no access to the interpreter that runs it;
beyond computing it can only call the functions it is given. Class inheritance, generators and most of the standard
library are missing.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from treadle._tools.results import cut
from treadle._tools.sandbox.base import CodeResult, SandboxLimits
from treadle._tools.sandbox.monty_workers import Worker, checkout, load_monty
from treadle._tools.sandbox.static_analysis import ALLOWED, deferred_calls, import_refusal, parse, refused_import
from treadle._types.errors import ToolError

if TYPE_CHECKING:
    from pydantic_monty import CollectString, MountDir, SyncSnapshot

Function = Callable[[tuple[Any, ...], dict[str, Any]], Awaitable[Any]]
"""A function that the code may call; takes positional and named arguments. The code can catch its `ToolError`."""


class EndProgram(Exception):
    """Raised by a function of the code: the program ends there, successfully. Its variables stay."""


_MAX_TRACE = 2_000
_SLEEP_FUNCTIONS = ("system.sleep", "system.async_sleep")


class MontySession:
    """An interpreter's variables, kept as a snapshot between two pieces of code: nothing runs in the meantime."""

    def __init__(
        self,
        limits: SandboxLimits | None = None,
        *,
        folder: str = "",
        write: bool = False,
        seed: str = "",
        imports: tuple[str, ...] = ALLOWED,
    ) -> None:
        """With a `folder`, the code sees it as /work: read-only unless `write` is true. `imports` are the modules it
        may import."""
        self._imports = imports
        self.limits = limits or SandboxLimits()
        self._folder, self._write, self._seed = folder, write, seed
        self._state = b""
        self._deferred: dict[str, frozenset[int]] = {}
        self._run_count = 0

    async def run(self, code: str, functions: Mapping[str, Function] | None = None) -> CodeResult:
        """Run the code with the variables of earlier code. Raises what a function raises, except `ToolError`."""
        if len(code) > self.limits.code_chars:
            return CodeResult(error=f"the code is too long: more than {self.limits.code_chars} characters")
        tree = parse(code)
        if tree is not None:
            if refusal := refused_import(tree, self._imports):
                return CodeResult(error=refusal)
            self._deferred[f"<python-input-{self._run_count}>"] = deferred_calls(tree, code)
        monty = load_monty()
        printed = monty.CollectString(self.limits.output_chars)
        try:
            async with checkout(**self._options()) as worker:
                if self._state:
                    await worker.turn(worker.session.load_session, self._state)
                return await self._feed(worker, code, functions or {}, printed)
        except monty.MontyError as error:
            return CodeResult(printed.output, error=self._explain(error))
        except TimeoutError:
            return CodeResult(error="the sandbox is busy: too much code runs at the same time")

    async def _feed(
        self, worker: Worker, code: str, functions: Mapping[str, Function], printed: CollectString
    ) -> CodeResult:
        monty = load_monty()
        calls = _Calls(functions, self._deferred, self.limits.seconds, worker)
        mount = self._mount()
        try:
            snapshot: Any = await worker.turn(worker.session.feed_start, code, print_callback=printed, mount=mount)
            while not isinstance(snapshot, monty.MontyComplete):
                snapshot = await calls.answer(snapshot)
            result = CodeResult(printed.output, snapshot.output)
        except monty.MontyRuntimeError as error:
            if isinstance(error.exception(), (TimeoutError, MemoryError)):
                raise  # its memory may be inconsistent: the variables stay what they were before
            result = CodeResult(printed.output, error="" if calls.ended else self._explain(error))
        except EndProgram:  # once more, from code that caught the first: it is left where it stands
            return CodeResult(printed.output)
        except asyncio.CancelledError:
            calls.cancel()
            raise
        finally:
            if mount is not None:
                mount.close()
            await calls.finish()
        self._state = await worker.turn(worker.session.dump)
        self._run_count += 1
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
        return load_monty().MountDir(
            host_path=self._folder, virtual_path="/work", mode=mode, write_bytes_limit=self.limits.memory
        )

    def _explain(self, error: Any) -> str:
        if f"> {self.limits.output_chars} bytes" in str(error):
            return f"the code was stopped: it printed more than {self.limits.output_chars} characters"
        display = getattr(error, "display", None)
        text = str(display() if callable(display) else error)
        text = re.sub(r'File "<python-input-\d+>", line', "line", text).replace(", in <module>", "")
        return cut(text.removeprefix("Traceback (most recent call last):\n"), _MAX_TRACE)


class _Calls:
    """The function calls of one piece of code; those that are not finished are in `_running`."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        deferred: Mapping[str, frozenset[int]],
        max_sleep: float,
        worker: Worker,
    ) -> None:
        self._functions, self._deferred, self._max_sleep = functions, deferred, max_sleep
        self._turn = worker.turn
        self._slept = 0.0
        self._running: dict[int, asyncio.Task[Any]] = {}
        self.ended = False
        """Whether a function has ended the program."""

    async def answer(self, snapshot: Any) -> SyncSnapshot:
        monty = load_monty()
        if isinstance(snapshot, monty.NameLookupSnapshot):
            name = snapshot.variable_name
            value = {"value": _placeholder(name)} if name in self._functions else {}
            return await self._turn(snapshot.resume, **value)
        if isinstance(snapshot, monty.FutureSnapshot):
            return await self._settle(snapshot)
        if self.ended:
            raise EndProgram
        name = str(snapshot.function_name)
        if snapshot.is_os_function:
            if name == "import":
                return await self._turn(
                    snapshot.resume,
                    {"exc_type": "ImportError", "message": import_refusal(str(snapshot.args[0]), 0, ALLOWED)},
                )
            if name not in _SLEEP_FUNCTIONS:
                return await self._turn(snapshot.resume_auto)
        function = self._sleep if name in _SLEEP_FUNCTIONS else self._functions.get(name)
        if function is None:
            available = ", ".join(self._functions) or "none"
            return await self._turn(
                snapshot.resume,
                {
                    "exc_type": "NameError",
                    "message": f"name {name!r} is not defined (available functions: {available})",
                },
            )
        task = asyncio.ensure_future(function(snapshot.args, snapshot.kwargs))
        self._running[snapshot.call_id] = task
        if name == "system.async_sleep" or snapshot.position.start in self._deferred.get(
            snapshot.position.filename, ()
        ):
            return await self._turn(snapshot.resume, {"future": ...})
        await asyncio.wait([task])
        return await self._turn(snapshot.resume, self._outcome(snapshot.call_id))

    async def _settle(self, snapshot: Any) -> SyncSnapshot:
        pending = {call_id: self._running[call_id] for call_id in snapshot.pending_call_ids}
        await asyncio.wait(pending.values(), return_when=asyncio.FIRST_COMPLETED)
        return await self._turn(
            snapshot.resume, {call_id: self._outcome(call_id) for call_id, task in pending.items() if task.done()}
        )

    def _outcome(self, call_id: int) -> dict[str, Any]:
        try:
            return {"return_value": self._running.pop(call_id).result()}
        except ToolError as error:
            return {"exc_type": "RuntimeError", "message": str(error)}
        except EndProgram:
            self.ended = True
            return {"exc_type": "SystemExit", "message": ""}  # `except Exception` does not catch it

    async def _sleep(self, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._slept += float(args[0])
        if self._slept > self._max_sleep:
            raise ToolError(f"the code may sleep for {self._max_sleep:g} seconds at most")
        await asyncio.sleep(float(args[0]))

    async def finish(self) -> None:
        """Wait for the calls that were started, even when the code has failed."""
        tasks = list(self._running.values())
        if tasks:
            await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.exception()

    def cancel(self) -> None:
        for task in self._running.values():
            task.cancel()


def _placeholder(name: str) -> Callable[..., None]:
    """A placeholder for a function that the code uses as a value; calling it calls the function of that name."""

    def function() -> None: ...

    function.__name__ = function.__qualname__ = name
    return function
