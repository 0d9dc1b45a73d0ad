"""CodeMode: a tool `python` that runs code the model writes, with the run's other tools as functions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from treadle._dialects.code import FINAL_ANSWER, PYTHON, function_name
from treadle._engine.acting.nested import NestedCalls
from treadle._engine.context import RunContext
from treadle._engine.plugin import Pause, Plugin
from treadle._engine.result import RunResult
from treadle._plugins.run_files import RunFiles
from treadle._tools.base import Tool, ToolContext, ToolOutcome, ToolResponse
from treadle._tools.results import to_text
from treadle._tools.sandbox.base import SandboxLimits
from treadle._tools.sandbox.monty import Function, MontySession
from treadle._tools.sandbox.static_analysis import ALLOWED
from treadle._types.errors import ConfigError, ToolError
from treadle._types.events import Artifact, MessageAdded, ToolDone, ToolStarted
from treadle._types.messages import UserMessage, text_of
from treadle._types.request import ToolSchema

MAX_SECONDS = 600.0
"""For one piece of code, with all the tools it waits for."""


class CodeMode(Plugin):
    """Variables stay from step to step. After a restart the earlier code is run again to restore them, with the results
    its calls had then: no tool is called for it. The code sees `folder` as /work."""

    name = "code"
    loop_only = True

    def __init__(
        self,
        limits: SandboxLimits | None = None,
        *,
        folder: str = "",
        write: bool = False,
        imports: Iterable[str] | None = None,
    ) -> None:
        self.limits = limits or SandboxLimits()
        self.imports = _checked_imports(imports)
        self._folder, self._write = folder, write
        self._files: WeakKeyDictionary[RunContext, RunFiles] = WeakKeyDictionary()
        self._sessions: WeakKeyDictionary[RunContext, MontySession] = WeakKeyDictionary()
        self.tools = (
            Tool(
                PYTHON,
                "Run Python code in a sandbox. The other tools are functions in it. "
                "Variables stay for the next call; what is printed and the value of the last line come back. "
                "final_answer(x) ends the work with x as the answer.",
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

    async def on_start(self, run: RunContext) -> None:
        offered = [tool.name for tool in run.state.tools]
        if PYTHON not in offered:
            await run.offer_tools([*offered, PYTHON], "tools are called from code")
        if run.settings.files and not self._folder:
            names = ", ".join(Path(given).name for given in run.settings.files)
            told = f"Files for this task are in /work: {names}. What your code writes to /work is given to the user."
            await run.emit(MessageAdded(UserMessage(told, kind="note"), self.name))

    async def on_end(self, run: RunContext, result: RunResult[Any]) -> None:
        if (files := self._files.pop(run, None)) is not None:
            await asyncio.to_thread(files.close)

    async def _execute(self, context: ToolContext, code: str) -> ToolResponse:
        run: RunContext = context.run
        session = self._sessions.get(run)
        if session is None:
            session = self._sessions[run] = await self._restored(run, context.call_id)
        calls = run.nested_calls(context.call_id)
        answers: list[Any] = []
        artifacts: list[Artifact] = []
        try:
            result = await session.run(code, self._functions(run, calls, answers, artifacts))
        except Pause:
            return ToolResponse("", waiting=calls.waiting, why=calls.why)
        if answers:
            text, error = to_text(answers[0]), False
        else:
            text, error = result.text(run.limits.max_chars), bool(result.error)
        if (files := self._files.get(run)) is not None:
            artifacts += await asyncio.to_thread(files.changed)
        # Variables stay: whatever the run has read so far may be in what the code says now.
        source = run.state.provenance.first
        final = bool(answers)
        return ToolResponse(text, final, artifacts=tuple(artifacts), error=error, usage=calls.usage, source=source)

    def _functions(
        self, run: RunContext, calls: NestedCalls, answers: list[Any], artifacts: list[Artifact]
    ) -> dict[str, Function]:
        async def final_answer(args: tuple[Any, ...], named: dict[str, Any]) -> None:
            answers.extend([*args, *named.values()][:1] or [""])

        functions: dict[str, Function] = {
            function_name(schema.name): partial(_call, schema, calls, answers, artifacts)
            for schema in run.state.tools
            if schema.name != PYTHON
        }
        return {**functions, FINAL_ANSWER: final_answer}

    async def _restored(self, run: RunContext, until: str) -> MontySession:
        """A session with the variables of the code that ran before, which is in the log."""
        folder, write, files = self._folder, self._write, None
        if run.settings.files and not folder:
            files = self._files[run] = await asyncio.to_thread(RunFiles, run.settings.files)
            folder, write = str(files.path), True
        session = MontySession(self.limits, folder=folder, write=write, seed=run.id, imports=self.imports)
        codes = {
            e.call.id: e.call.args.get("code")
            for r in run.records
            if isinstance(e := r.event, ToolStarted) and e.call.name == PYTHON
        }
        done = {r.event.call_id for r in run.records if isinstance(r.event, ToolDone) and r.event.executed}
        for call_id, code in codes.items():
            if call_id != until and call_id in done and isinstance(code, str):
                await session.run(code, self._functions(run, run.nested_calls(call_id, replay_only=True), [], []))
        if files is not None:
            await asyncio.to_thread(files.changed)  # what the earlier code wrote came back then
        return session


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
    answers: list[Any],
    artifacts: list[Artifact],
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:
    outcome = await calls.call(schema.name, _arguments(schema, args, named))
    artifacts.extend(outcome.artifacts)
    if outcome.error:
        raise ToolError(text_of(outcome.content))
    if outcome.final:  # whoever calls such a tool has nothing to add
        answers.append(text_of(outcome.content))
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
