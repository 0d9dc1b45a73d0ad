"""Runs as the engine sees them, for tests of its parts: put together, not driven."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from treadle import ScriptedModel
from treadle._engine.context import RunContext, execution_of
from treadle._engine.core.blueprint import Blueprint, Origin
from treadle._engine.core.execution import Execution
from treadle._engine.run import Run, new_run
from treadle._engine.settings import Settings
from treadle._tools.toolkit import Toolkit
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall


def prepared(
    model: Any = None,
    tools: Iterable[Any] = (),
    *,
    plugins: Iterable[Any] = (),
    fallbacks: Sequence[Any] = (),
    records: Sequence[ev.Record] = (),
    journal: Any = None,
    parent: RunContext | None = None,
    run_id: str = "run",
    question: str = "q",
    prompts: dict[str, str] | None = None,
    output_type: Any = None,
    **settings: Any,
) -> Run:
    """A run that has not begun, of a model that has nothing to say unless one is given."""
    blueprint = Blueprint(
        models=(model or ScriptedModel([]), *fallbacks),
        toolkit=Toolkit(tools),
        settings=Settings().with_changes(settings),
        plugins=tuple(plugins),
        prompts=prompts or {},
        output_type=output_type,
    )
    origin = Origin(run_id=run_id, question=question)
    return new_run(blueprint, origin, journal=journal, records=records, parent=parent)


def execution(*args: Any, **options: Any) -> Execution:
    """The engine's own side of such a run."""
    return execution_of(prepared(*args, **options).context)


async def started(*args: Any, calls: Sequence[ToolCall] = (), **options: Any) -> Execution:
    """One whose log has begun; with `calls`, one whose model has just asked for them."""
    run = execution(*args, **options)
    model = run.current.model
    await run.emit(
        ev.RunStarted(
            "q",
            "agent",
            model.name,
            run.current.dialect.name,
            tools=tuple(run.tools.toolkit.schemas),
            profile=model.profile,
        )
    )
    if calls:
        await run.emit(ev.ThinkDone("loop", 1, AssistantMessage("", tuple(calls))))
    return run


def recorded(run: Execution, *kinds: type[Any]) -> list[Any]:
    """The events in its log, of these kinds only if any are named."""
    return [record.event for record in run.log.records if not kinds or isinstance(record.event, kinds)]


def finished(run: Execution | Run) -> ev.RunFinished:
    """The end of a run that has one."""
    assert run.state.finished is not None
    return run.state.finished
