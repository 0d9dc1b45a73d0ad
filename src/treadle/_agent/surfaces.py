"""The ways to ask an agent: for the result, for its events while they happen, for text, with or without `await`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, Self, cast

from treadle._engine.generics import NO_DEPS, DepsT, OutputT, OutputT_co
from treadle._engine.settings import GROUPS, Settings
from treadle._engine.surfaces.bridge import bridge, drain_queue
from treadle._lazy import lazy_module
from treadle._types.errors import RunError
from treadle._types.events import AnswerDone, Event, Record, ThinkDone

if TYPE_CHECKING:  # what a run is made of is imported by the first one
    import asyncio
    import queue
    from pathlib import Path

    from typing_extensions import Unpack

    from treadle._agent.agent_tool import Delegate
    from treadle._agent.batch import BatchAnswer, BatchState
    from treadle._engine.core.decisions import Answer
    from treadle._engine.core.log import Sink
    from treadle._engine.options import RunOptions, SettingOptions
    from treadle._engine.result import RunResult
    from treadle._engine.run import Run
    from treadle._models.base import Model
    from treadle._tools.base import Tool
else:
    asyncio, queue = lazy_module("asyncio"), lazy_module("queue")


async def all_ended(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Wait for tasks, those of other event loops that run included."""
    here = asyncio.get_running_loop()
    for task in tasks:
        loop = task.get_loop()
        if loop is here:
            await asyncio.wait([task])
        else:
            # That loop may end at any instant, and with it whatever waits inside it: so it is looked at from here.
            while loop.is_running() and not task.done():
                await asyncio.sleep(0.01)


def raised(result: RunResult[OutputT], on_error: str) -> RunResult[OutputT]:
    """The result of a run for whoever only awaits it: one that ended in an error with nothing to answer is raised."""
    if on_error == "raise" and result.stop_reason == "error" and (not result.answer or result.output is None):
        error = result.error
        raise RunError(f"the run failed: {type(error).__name__}: {error}", result) from error
    return result


class Surfaces(Generic[OutputT_co, DepsT]):
    """Everything an agent offers beyond starting and loading a run."""

    settings: Settings
    prompts: dict[str, str]
    plugins: tuple[Any, ...] = ()

    @property
    def model(self) -> Model:
        """The model that is asked first."""
        raise NotImplementedError

    def _rewriting(self, result: RunResult[Any], user: str) -> Run[Any]:
        """A run that writes the answer of a finished one."""
        raise NotImplementedError

    def start(self, question: Any, **options: Unpack[RunOptions[DepsT]]) -> Run[OutputT_co]:
        """A run that works in the background of the running event loop. Await it, or talk to it while it works."""
        raise NotImplementedError

    async def load(self, run: str | Run[Any] | RunResult[Any], **options: Any) -> Run[OutputT_co]:
        """A stored run, ready to be launched."""
        raise NotImplementedError

    def launch(self, run: Run[Any]) -> Run[OutputT_co]:
        """Drive a prepared or loaded run in the background."""
        raise NotImplementedError

    def as_tool(self, name: str = "", description: str = "", **options: Any) -> Tool:
        """This agent as a tool for another one."""
        from treadle._agent.agent_tool import agent_tool

        return agent_tool(cast("Delegate", self), name=name, description=description, **options)

    def as_handoff(self, name: str = "", description: str = "") -> Tool:
        """A tool with which another agent passes the whole conversation to this one."""
        from treadle._agent.handoff import handoff_tool

        return handoff_tool(cast("Delegate", self), name=name, description=description)

    def as_langchain(
        self, name: str = "", description: str = "", *, watch: Sink | None = None, **options: Unpack[RunOptions[DepsT]]
    ) -> Any:
        """This agent as a tool of LangChain and LangGraph. `watch` is shown each record of its runs."""
        return self._as_guest("langchain", name, description, watch, options)

    def as_pydantic_ai(
        self, name: str = "", description: str = "", *, watch: Sink | None = None, **options: Unpack[RunOptions[DepsT]]
    ) -> Any:
        """This agent as a tool of pydantic-ai."""
        return self._as_guest("pydantic_ai", name, description, watch, options)

    def as_openai_agents(
        self, name: str = "", description: str = "", *, watch: Sink | None = None, **options: Unpack[RunOptions[DepsT]]
    ) -> Any:
        """This agent as a tool of openai-agents."""
        return self._as_guest("openai_agents", name, description, watch, options)

    def _as_guest(self, engine: str, name: str, description: str, watch: Sink | None, options: Any) -> Any:
        from treadle._agent.guest import made_for

        return made_for(engine, self, name, description, watch, options)

    async def run(self, question: Any, **options: Unpack[RunOptions[DepsT]]) -> RunResult[OutputT_co]:
        """Answer a question. `history=` gives the conversation so far; any setting can be overridden for this run.
        A run that ends in an error with nothing to answer raises `RunError`, unless `on_error="result"`."""
        run = self.start(question, **options)
        return raised(await run, run.settings.on_error)

    def run_sync(self, question: Any, **options: Unpack[RunOptions[DepsT]]) -> RunResult[OutputT_co]:
        """The same for scripts and notebooks; works inside a running event loop too."""
        return bridge.run(self.run(question, **options))

    async def stream(self, question: Any, **options: Unpack[RunOptions[DepsT]]) -> AsyncGenerator[Event, None]:
        """The events of a run as they happen. Leaving the loop early cancels the run.

        What happens in runs inside it (agents as tools, steps of a plan) is left out: `stream_records` has it.
        """
        async with aclosing(self.stream_records(question, **options)) as records:
            async for record in records:
                if not record.depth:
                    yield record.event

    async def stream_records(self, question: Any, **options: Unpack[RunOptions[DepsT]]) -> AsyncGenerator[Record, None]:
        """Like `stream`, as records, with those of runs inside the run."""
        async with aclosing(self._records_of(self.start(question, **options))) as records:
            async for record in records:
                yield record

    async def _records_of(self, run: Run[Any]) -> AsyncGenerator[Record, None]:
        """The records of a run and what streams between them; leaving them early cancels it."""
        records: asyncio.Queue[Record | None] = asyncio.Queue()
        run.subscribe(records.put_nowait)
        run.task.add_done_callback(lambda _: records.put_nowait(None))
        try:
            while (record := await records.get()) is not None:
                yield record
            await run
        finally:
            if not run.done:
                run.cancel()
                await asyncio.wait([run.task])

    async def deltas(
        self, question: Any, *, provisional: bool = True, **options: Unpack[RunOptions[DepsT]]
    ) -> AsyncGenerator[tuple[str, int], None]:
        """The answer in pieces, each with the tokens the run has used so far.

        Words that the model says before it calls a tool may come first, each time followed by an empty line. With
        `provisional=False` nothing is given before it is known to be the answer. Where a plug-in may take it back (a
        guardrail, research), the answer comes whole, at its end.
        """
        from treadle._agent.presets import takes_back
        from treadle._engine.surfaces.answer_pieces import AnswerPieces

        tokens, pieces = 0, AnswerPieces(provisional=provisional, whole=takes_back(self))
        async with aclosing(self.stream_records(question, **options)) as records:
            async for record in records:
                if isinstance(record.event, ThinkDone):
                    tokens += record.event.usage.total_tokens
                if record.depth:
                    continue
                for text in pieces.feed(record):
                    yield text, tokens
                if isinstance(record.event, AnswerDone):
                    yield "", tokens

    async def stream_text(self, question: Any, **options: Unpack[RunOptions[DepsT]]) -> AsyncGenerator[str, None]:
        """The answer as it is written, in strings and nothing else: `StreamingResponse(agent.stream_text(question))`.
        Words that the model says before it calls a tool may come first, each time followed by an empty line."""
        from treadle._agent.presets import takes_back
        from treadle._engine.surfaces.answer_pieces import AnswerPieces

        pieces = AnswerPieces(whole=takes_back(self))
        run = self.start(question, **options)
        async with aclosing(self._records_of(run)) as records:
            async for record in records:
                for text in () if record.depth else pieces.feed(record):
                    yield text
        raised(await run, run.settings.on_error)

    def text(
        self, question: Any, *, skip_special_tokens: bool | None = None, **options: Unpack[RunOptions[DepsT]]
    ) -> Generator[str, None, str]:
        """A plain generator of text: thoughts, tool input and output, answer. Its return value is the answer."""
        from treadle._engine.surfaces.text_view import TextView  # only whoever watches pays for the view

        settings = self.settings.with_changes(
            {name: value for name, value in options.items() if name in GROUPS or name in Settings.__struct_fields__}
        )
        view = TextView(markers=settings.markers if skip_special_tokens is None else not skip_special_tokens)
        pieces: queue.Queue[str | None] = queue.Queue()

        def show(record: Record) -> None:
            for piece in view.feed(record):
                pieces.put(piece)

        async def work() -> RunResult[OutputT_co]:
            try:
                run = self.start(question, **options)
                run.subscribe(show)
                return await run
            finally:
                pieces.put(None)

        future = bridge.submit(work())
        yield from drain_queue(pieces, future)
        return future.result().answer

    async def batch(
        self,
        questions: Iterable[Any],
        *,
        path: str | Path | None = None,
        concurrency: int | None = None,
        interface: bool | None = None,
        on_progress: Callable[[BatchState], None] | None = None,
        poll_seconds: float = 30.0,
        together: int | None = None,
    ) -> list[BatchAnswer[OutputT_co]]:
        """The answers to many questions, in their order. A question is text, or `{"id": ..., "question": ...}`.

        OpenAI, Anthropic and Gemini answer through their batch interfaces: at half the price and within a day, one
        batch for each round of all runs. `interface=False` asks at once instead, and `True` insists on it. Elsewhere
        `concurrency` questions (its old name is `together`) are worked on at a time. `path` is a file that keeps what
        is finished: the same call continues a batch that was interrupted; with a journal, its runs are resumed.
        """
        from treadle._agent.batch import Batch

        batch = Batch(
            cast("Any", self),
            questions,
            path=path,
            concurrency=concurrency or together,
            interface=interface,
            on_progress=on_progress,
            poll_seconds=poll_seconds,
        )
        return await batch.run()

    async def resume(
        self,
        run: str | Run[Any] | RunResult[Any],
        *,
        approve: bool | Mapping[str, Answer] | None = None,
        results: Mapping[str, Any] | None = None,
        deps: DepsT = NO_DEPS,
        **overrides: Unpack[SettingOptions],
    ) -> RunResult[OutputT_co]:
        """Resume a run that was interrupted, killed or paused. A finished run gives its result again.

        `approve` decides about calls that wait for a person; `results` are those of calls of external tools: text, any
        JSON value, content parts, or an exception when the call failed, by the id of the call (see `result.pending`).
        `deps` were not stored: they are given again.
        """
        loaded = await self.load(run, approve=approve, results=results, deps=deps, **overrides)
        return raised(await self.launch(loaded), loaded.settings.on_error)

    def resume_sync(
        self,
        run: str | Run[Any] | RunResult[Any],
        *,
        approve: bool | Mapping[str, Answer] | None = None,
        results: Mapping[str, Any] | None = None,
        deps: DepsT = NO_DEPS,
        **overrides: Unpack[SettingOptions],
    ) -> RunResult[OutputT_co]:
        """The same for scripts and notebooks."""
        return bridge.run(self.resume(run, approve=approve, results=results, deps=deps, **overrides))

    async def aclose(self) -> None:
        """Stop the runs that are under way, and close what this agent has opened."""
        raise NotImplementedError

    def close(self) -> None:
        """`aclose` without `await`, for programs that use `run_sync`. `with Agent(...) as agent:` does it at its
        end."""
        bridge.run(self.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def stream_answer(self, result: RunResult[Any], *, user: str = "") -> AsyncGenerator[str, None]:
        """Write an answer from a finished run's trace, in pieces; the loop's own answer if that fails. `user`: whose
        run it was, for data that are masked in it."""
        from treadle._engine.surfaces.answer_pieces import AnswerPieces

        pieces = AnswerPieces()
        async with aclosing(self._records_of(self._rewriting(result, user))) as records:
            async for record in records:
                for text in pieces.feed(record):
                    yield text
