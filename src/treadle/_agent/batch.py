"""Many questions for one agent: through the provider's batch interface where there is one, else some at a time.

With a file (`path`), what is finished is kept there, and a program that was killed continues where it was: finished
questions are not asked again, batches that were handed in are waited for, and runs in a journal are resumed.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Generic, Protocol, cast

import msgspec
from msgspec import Struct

from treadle._engine.answering.output import shape_of
from treadle._engine.generics import OutputT_co
from treadle._engine.result import RunResult
from treadle._engine.run import Run
from treadle._engine.surfaces.inputs import to_content
from treadle._journal.base import Journal
from treadle._models.base import Model
from treadle._models.batching.apis import BatchApi, Progress, batch_api_for, no_batch_reason
from treadle._models.batching.model import BatchedModel, Batcher
from treadle._models.http_model import HttpModel
from treadle._types.errors import ConfigError, JournalError, RunNotFoundError, TreadleError
from treadle._types.ids import fresh_id
from treadle._types.value import Value

CONCURRENCY = 8
"""How many questions are worked on at a time, without a batch interface."""
IN_BATCH = 1_000
"""How many runs wait for batches at a time."""


class BatchAnswer(Value, Generic[OutputT_co], frozen=True, omit_defaults=True):
    """What came of one question of a batch."""

    id: str
    answer: str
    stop_reason: str
    success: bool = False
    error: str = ""
    cost: float | None = None
    """US dollars, at the price of the interface that was used."""
    input_tokens: int = 0
    output_tokens: int = 0
    run_id: str = ""
    output: OutputT_co | None = None
    """The typed answer of an agent with an `output_type`, else the answer; None where there is none."""
    question: str = ""
    """The digest of the question: under the same id another one is asked anew."""


class BatchState(Struct):
    """How far a batch is, for whoever shows it."""

    total: int
    done: int = 0
    failed: int = 0
    cost: float = 0.0
    half_price: bool = False
    """The provider's batch interface is used."""
    rounds: int = 0
    provider: Progress | None = None
    """How far the provider is with the requests of this round."""


class Asked(Protocol):
    """What a batch needs of an agent."""

    journal: Journal | None
    output_type: Any

    @property
    def model(self) -> Model: ...

    def override(self, *, model: Model) -> AbstractContextManager[Any]: ...

    def start(self, question: Any, *, run_id: str) -> Run[Any]: ...

    async def load(self, run: str) -> Run[Any]: ...

    def launch(self, run: Run[Any]) -> Run[Any]: ...


class Files:
    """The finished answers in `path`, one a line, and beside it what was handed in."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._handed_in = path.with_name(path.name + ".batches") if path is not None else None
        _close_last_line(self._path)
        _close_last_line(self._handed_in)
        self.name = ""
        self._keys: dict[str, str] = {}
        for line in _lines(self._handed_in):
            self.name = self.name or str(line.get("name", ""))
            self._keys |= dict.fromkeys(map(str, line.get("keys") or ()), str(line.get("batch", "")))
        if not self.name:
            self.name = fresh_id()[:12]
            _append(self._handed_in, {"name": self.name})

    def finished(self, output_type: Any = None) -> dict[str, BatchAnswer[Any]]:
        """Return what is in the file, typed answers as values of their type again."""
        shape = shape_of(output_type) if output_type is not None else None
        found: dict[str, BatchAnswer[Any]] = {}
        for line in _lines(self._path):
            with suppress(msgspec.ValidationError, ValueError):  # one that does not fit any more is asked again
                answer = msgspec.convert(line, BatchAnswer[Any])
                if shape is not None and answer.output is not None:
                    answer = msgspec.structs.replace(answer, output=shape.value_of(answer.output))
                found[answer.id] = answer
        return found

    def finish(self, answer: BatchAnswer[Any]) -> None:
        _append(self._path, answer)

    def run_of(self, key: str, digest: str) -> str:
        """The run of a question; another question under the same key has another."""
        return f"{self.name}-{digest}-{key}"[:64]

    def batches(self) -> dict[str, str]:
        return dict(self._keys)

    def add(self, batch: str, keys: Sequence[str]) -> None:
        _append(self._handed_in, {"batch": batch, "keys": list(keys)})


def _lines(path: Path | None) -> list[dict[str, Any]]:
    """The lines of a file that can be read: the last one may be cut off where a program was killed."""
    found: list[dict[str, Any]] = []
    if path is not None and path.exists():
        for line in path.read_bytes().split(b"\n"):
            with suppress(msgspec.MsgspecError, UnicodeError):
                found.append(msgspec.json.decode(line, type=dict[str, Any]))
    return found


def _append(path: Path | None, value: Any) -> None:
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(msgspec.json.encode(value, enc_hook=_plain) + b"\n")


def _plain(value: Any) -> Any:
    """Return what JSON has no form for: a pydantic model is its fields, all else its words."""
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else str(value)


def _close_last_line(path: Path | None) -> None:
    """A line that was cut off must not swallow the next one."""
    if path is not None and path.exists() and path.read_bytes()[-1:] not in (b"", b"\n"):
        with path.open("ab") as file:
            file.write(b"\n")


def tasks_of(questions: Iterable[Any]) -> dict[str, Any]:
    """The questions under their ids: `{"id": ..., "question": ...}`, or the question alone, which is numbered."""
    tasks: dict[str, Any] = {}
    for number, task in enumerate(questions, 1):
        fields = cast("dict[str, Any]", task) if isinstance(task, dict) and "question" in task else None
        task_id = str(number) if fields is None else str(fields.get("id") or number)
        if task_id in tasks:
            raise ConfigError(f"two questions of the batch have the id {task_id!r}")
        question = cast("Any", task) if fields is None else fields["question"]
        try:
            to_content(question)  # before anything is asked, and paid
        except ConfigError as error:
            raise ConfigError(f"the question with the id {task_id!r}: {error}") from None
        tasks[task_id] = question
    return tasks


def digest_of(question: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(to_content(question), enc_hook=repr)).hexdigest()[:16]


class Batch:
    """One batch of an agent."""

    def __init__(
        self,
        agent: Asked,
        questions: Iterable[Any],
        *,
        path: str | Path | None = None,
        concurrency: int | None = None,
        interface: bool | None = None,
        on_progress: Callable[[BatchState], None] | None = None,
        poll_seconds: float = 30.0,
    ) -> None:
        self._agent = agent
        self._tasks = tasks_of(questions)
        self._files = Files(Path(path).expanduser() if path is not None else None)
        self._api = self._interface(interface)
        self._concurrency = concurrency or (IN_BATCH if self._api else CONCURRENCY)
        self._poll_seconds = poll_seconds
        self._on_progress = on_progress
        self.state = BatchState(len(self._tasks), half_price=self._api is not None)
        self._left = 0
        self._batcher: Batcher | None = None

    def _interface(self, wanted: bool | None) -> BatchApi | None:
        if wanted is False:
            return None
        api = batch_api_for(self._agent.model, anywhere=bool(wanted))
        if wanted and api is None:
            reason = no_batch_reason(self._agent.model)
            raise ConfigError(
                f"{self._agent.model.name} has no batch interface here ({reason}): leave out "
                f"interface=True, and {CONCURRENCY} questions are worked on at a time, at the full price"
            )
        return api

    @property
    def manner(self) -> str:
        """How the questions are asked, in words."""
        if self._api is not None:
            return "through the provider's batch interface, at half the price"
        reason = no_batch_reason(self._agent.model)
        return f"{self._concurrency} at a time, at the full price: no batch interface ({reason})"

    async def run(self) -> list[BatchAnswer[Any]]:
        """The answers, in the order of the questions."""
        answers = {
            key: one
            for key, one in self._files.finished(self._agent.output_type).items()
            if self._is_answered_by(key, one)
        }
        for answer in answers.values():
            self._count(answer)
        left = [(key, question) for key, question in self._tasks.items() if key not in answers]
        self._left = len(left)
        serving: asyncio.Task[None] | None = None
        model = self._agent.model
        if self._api is not None and left:
            model, serving = self._batched(model)
        limit = asyncio.Semaphore(self._concurrency)

        async def one(key: str, question: Any) -> None:
            async with limit:
                answer = await self._answer(key, question)
            if answer.stop_reason != "paused":  # that one goes on when somebody has decided
                self._files.finish(answer)
            answers[key] = answer
            self._left -= 1
            self._count(answer)
            if self._batcher is not None:
                self._batcher.look()

        with self._agent.override(model=model):
            try:
                async with asyncio.TaskGroup() as group:
                    for key, question in left:
                        group.create_task(one(key, question))
            except ExceptionGroup as errors:
                raise next((error for error in errors.exceptions if isinstance(error, TreadleError)), errors) from None
            finally:
                if serving is not None:
                    serving.cancel()
                    await asyncio.gather(serving, return_exceptions=True)
        return [answers[key] for key in self._tasks]

    def _is_answered_by(self, key: str, answer: BatchAnswer[Any]) -> bool:
        # Answers of earlier versions do not say what the question was.
        return key in self._tasks and answer.question in ("", digest_of(self._tasks[key]))

    def _batched(self, model: Model) -> tuple[Model, asyncio.Task[None]]:
        assert self._api is not None
        assert isinstance(model, HttpModel)
        batcher = self._batcher = Batcher(
            self._api,
            self._files,
            everybody_waits=lambda waiting: waiting >= min(self._concurrency, self._left),
            on_progress=self._provider_progress,
            poll_seconds=self._poll_seconds,
        )
        return BatchedModel(model, batcher), asyncio.ensure_future(batcher.serve())

    async def _answer(self, key: str, question: Any) -> BatchAnswer[Any]:
        digest = digest_of(question)
        run_id = self._files.run_of(key, digest)
        try:
            result = await self._result(run_id, question)
        except (ConfigError, JournalError):
            raise  # it would be the same for all of them
        except TreadleError as error:
            return BatchAnswer(key, "", "error", error=str(error), run_id=run_id, question=digest)
        usage = result.usage
        return BatchAnswer(
            key,
            result.answer,
            result.stop_reason,
            result.success,
            str(result.error or ""),
            usage.cost,
            usage.input_tokens,
            usage.output_tokens,
            result.run_id,
            result.output,
            digest,
        )

    async def _result(self, run_id: str, question: Any) -> RunResult[Any]:
        agent = self._agent
        if agent.journal is None:
            return await agent.start(question, run_id=run_id)
        try:
            run = agent.launch(await agent.load(run_id))
        except RunNotFoundError:
            run = agent.start(question, run_id=run_id)
        try:
            return await asyncio.shield(run.task)
        except asyncio.CancelledError:
            await run.abandon()  # not its end: the same batch goes on later
            raise

    def _count(self, answer: BatchAnswer[Any]) -> None:
        self.state.done += 1
        self.state.failed += not answer.success
        self.state.cost += answer.cost or 0.0
        self._show()

    def _provider_progress(self, batch: str, progress: Progress) -> None:
        if self.state.provider is None or self.state.provider.ended:
            self.state.rounds += 1
        self.state.provider = progress
        self._show()

    def _show(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.state)
