"""CodeMode: a tool `python` that runs code the model writes, with the run's other tools as functions."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal, NoReturn
from weakref import WeakKeyDictionary

import msgspec

from treadle._dialects.code import FINAL_ANSWER, PYTHON, function_name
from treadle._engine.acting.nested import NestedCalls
from treadle._engine.answering.output import shape_of
from treadle._engine.context import RunContext, execution_of
from treadle._engine.plugin import Pause, Plugin
from treadle._engine.result import RunResult
from treadle._plugins.guards.tool_selection import offer_also
from treadle._plugins.run_files import FOLDER, RunFiles, given_files
from treadle._tools.base import Tool, ToolContext, ToolOutcome, ToolResponse
from treadle._tools.results import to_text
from treadle._tools.sandbox.base import SandboxLimits
from treadle._tools.sandbox.command import USER
from treadle._tools.sandbox.environments import checked_packages, python_with
from treadle._tools.sandbox.monty import EndProgram, Function, MontySession
from treadle._tools.sandbox.python_session import LIMITS, PythonSession, allow_access
from treadle._tools.sandbox.static_analysis import ALLOWED
from treadle._types.errors import ConfigError, ToolError
from treadle._types.events import Artifact, MessageAdded, ToolDone, ToolStarted
from treadle._types.messages import UserMessage, text_of
from treadle._types.request import ToolSchema

STOPPED = "the code was stopped"
"""Of code that was: it is not run again to restore variables, which it has left as they were."""
MAX_SECONDS = 600.0
"""For one piece of code, with all the tools it waits for."""


_DESCRIPTION = (
    "Run Python code in a sandbox. The other tools are functions in it. "
    "Variables stay for the next call; what is printed and the value of the last line come back. "
    "final_answer(x) ends the work with x as the answer."
)
_PYTHON = (
    "It is Python {version}{packages}, without a network. Plots that are open when the code ends are saved as "
    "pictures; what it writes to {folder} is given to the user."
)
_MONTY = "There are no network, no classes that inherit, no generators. Modules: {modules}."


class CodeMode(Plugin):
    """Variables stay from step to step, also over a restart. The code sees `folder` as /work."""

    name = "code"
    loop_only = True
    takes_files = True

    def __init__(
        self,
        limits: SandboxLimits | None = None,
        *,
        folder: str = "",
        write: bool = False,
        imports: Iterable[str] | None = None,
        executor: Literal["monty", "python"] = "monty",
        packages: Sequence[str] = (),
    ) -> None:
        self.limits = limits or (SandboxLimits() if executor == "monty" else LIMITS)
        self.imports = _checked_imports(imports)
        self.executor, self.packages = executor, checked_packages(packages)
        if executor == "monty" and self.packages:
            raise ConfigError(f"packages: {self.packages[0]!r} needs a real Python: write executor='python' beside it")
        if executor == "python" and folder:
            raise ConfigError("folder: with executor='python' the code has a folder of its own; give files= to the run")
        self._folder, self._write = folder, write
        self._files: WeakKeyDictionary[RunContext, RunFiles] = WeakKeyDictionary()
        self._sessions: WeakKeyDictionary[RunContext, MontySession | PythonSession] = WeakKeyDictionary()
        self.tools = (
            Tool(
                PYTHON,
                f"{_DESCRIPTION} {self._described()}",
                {
                    "type": "object",
                    "properties": {"code": {"type": "string"}},
                    "required": ["code"],
                    "additionalProperties": False,
                },
                self._execute,
                timeout=MAX_SECONDS,
                effect="idempotent",  # what is inside is recorded call by call
                acts=False,
                concurrent=False,
                pinned=True,
                takes_extras=frozenset(),
                context_param="context",
            ),
        )

    def _described(self) -> str:
        if self.executor == "monty":
            return _MONTY.format(modules=", ".join(self.imports))
        packages = f" with {', '.join(self.packages)}" if self.packages else ""
        return _PYTHON.format(version=".".join(map(str, sys.version_info[:2])), packages=packages, folder=FOLDER)

    async def on_start(self, run: RunContext) -> None:
        await offer_also(run, [PYTHON], "tools are called from code")
        started = run.state.started
        if started is None or not given_files(started.question, run.settings.files):
            return
        if (files := await self._open_files(run)) is not None:
            text = (
                f"Files for this task are in {FOLDER}:\n{files.listing()}\n"
                f"What your code writes to {FOLDER} is given to the user."
            )
            await run.emit(MessageAdded(UserMessage(text, kind="note"), self.name))

    async def _open_files(self, run: RunContext) -> RunFiles | None:
        """The folder of a run, with its files; None where the code has another folder."""
        if self._folder or run.state.started is None:
            return None
        if run not in self._files:
            files = given_files(run.state.started.question, run.settings.files)
            self._files[run] = await asyncio.to_thread(RunFiles, files)
        return self._files[run]

    async def on_end(self, run: RunContext, result: RunResult[Any]) -> None:
        if isinstance(session := self._sessions.pop(run, None), PythonSession):
            await session.close()
        if (files := self._files.pop(run, None)) is not None:
            await asyncio.to_thread(files.close)

    async def _execute(self, context: ToolContext, code: str) -> ToolResponse:
        run: RunContext = context.run
        session = self._sessions.get(run)
        if session is None:
            session = self._sessions[run] = await self._restored(run, context.call_id)
        calls = run.nested_calls(context.call_id)
        ending = _Ending()
        artifacts: list[Artifact] = []
        try:
            result = await session.run(code, self._functions(run, calls, ending, artifacts))
        except Pause:
            return ToolResponse("", waiting=calls.waiting, why=calls.why)
        if (files := self._files.get(run)) is not None:
            artifacts += await asyncio.to_thread(files.changed)
        return ToolResponse(
            ending.answer if ending.reached else result.text(run.limits.max_chars),
            ending.reached,
            artifacts=tuple(artifacts),
            error=bool(result.error) and not ending.reached,
            usage=calls.usage,
            # Variables stay: whatever the run has read so far may be in what the code says now.
            source=run.state.provenance.first,
            task_successful=ending.task_successful,
        )

    def _functions(
        self, run: RunContext, calls: NestedCalls, ending: _Ending, artifacts: list[Artifact]
    ) -> dict[str, Function]:
        async def final_answer(args: tuple[Any, ...], named: dict[str, Any]) -> None:
            ending.reach(_final_text(run, args, named), named.get("task_successful"))

        functions: dict[str, Function] = {
            function_name(schema.name): partial(_call, schema, calls, ending, artifacts)
            for schema in run.state.tools
            if schema.name != PYTHON
        }
        return {**functions, FINAL_ANSWER: final_answer}

    async def _restored(self, run: RunContext, until: str) -> MontySession | PythonSession:
        """A session with the variables of the code that ran before, which is in the log."""
        folder, write = self._folder, self._write
        if (files := await self._open_files(run)) is not None:
            folder, write = str(files.path), True
        session: MontySession | PythonSession
        if self.executor == "python":
            python = await asyncio.to_thread(python_with, self.packages)
            await asyncio.to_thread(allow_access, folder, USER)
            session = PythonSession(python, folder, self.limits)
        else:
            session = MontySession(self.limits, folder=folder, write=write, seed=run.id, imports=self.imports)
        codes = {
            e.call.id: e.call.args.get("code")
            for r in run.records
            if isinstance(e := r.event, ToolStarted) and e.call.name == PYTHON
        }
        done = {
            r.event.call_id
            for r in run.records
            if isinstance(r.event, ToolDone) and r.event.executed and STOPPED not in text_of(r.event.content)
        }
        for call_id, code in codes.items():
            if call_id != until and call_id in done and isinstance(code, str):
                await session.run(
                    code, self._functions(run, run.nested_calls(call_id, replay_only=True), _Ending(), [])
                )
        if files is not None:
            await asyncio.to_thread(files.changed)  # what the earlier code wrote came back then
        return session


class _Ending:
    """How a program ended the run, if it did."""

    def __init__(self) -> None:
        self.reached = False
        self.answer = ""
        self.task_successful: bool | None = None

    def reach(self, answer: str, task_successful: object = None) -> NoReturn:
        """End the program here: whoever has given the answer has nothing to add."""
        self.reached, self.answer = True, answer
        self.task_successful = task_successful if isinstance(task_successful, bool) else None
        raise EndProgram


def _final_text(run: RunContext, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """The answer that code gives. A typed one is written as the model is told to write it."""
    values = [*args, *(value for name, value in named.items() if name != "task_successful")]
    if not values or values[0] is None or (isinstance(values[0], str) and not values[0].strip()):
        raise ToolError("final_answer() needs the answer: final_answer(answer)")
    value, output_type = values[0], execution_of(run).blueprint.output_type
    if output_type is None or isinstance(value, str):
        return to_text(value)
    return to_text({"answer": value} if shape_of(output_type).wrapped else value)


def _checked_imports(names: Iterable[str] | None) -> tuple[str, ...]:
    """The modules that code may import: those named, which the sandbox must have; all of its own when none are."""
    if names is None:
        return ALLOWED
    chosen = (names,) if isinstance(names, str) else tuple(names)
    if unknown := [name for name in chosen if name not in ALLOWED]:
        raise ConfigError(f"imports: the sandbox has no module {unknown[0]!r}; expected some of: {', '.join(ALLOWED)}")
    return chosen


async def _call(
    schema: ToolSchema,
    calls: NestedCalls,
    ending: _Ending,
    artifacts: list[Artifact],
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:
    outcome = await calls.call(schema.name, _arguments(schema, args, named))
    artifacts.extend(outcome.artifacts)
    if outcome.error:
        raise ToolError(text_of(outcome.content))
    if outcome.final:
        ending.reach(text_of(outcome.content), outcome.task_successful)
    return _value(outcome)


def _arguments(schema: ToolSchema, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """All arguments by name: positional ones get the names of the schema, in its order."""
    names = list(schema.parameters.get("properties", {}))
    if len(args) > len(names):
        raise ToolError(
            f"{function_name(schema.name)}() takes {len(names)} arguments ({', '.join(names)}), not {len(args)}"
        )
    positional = dict(zip(names, args, strict=False))
    if twice := positional.keys() & named.keys():
        raise ToolError(f"{function_name(schema.name)}() got {', '.join(sorted(twice))} twice")
    try:
        return msgspec.json.decode(msgspec.json.encode({**positional, **named}, enc_hook=str))
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"{function_name(schema.name)}(): the arguments cannot be written as JSON: {error}") from None


def _value(outcome: ToolOutcome) -> Any:
    """The result of the tool, uncut; JSON as the value it encodes."""
    text = outcome.full if outcome.full is not None else text_of(outcome.content)
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return text if isinstance(value, str) else value
