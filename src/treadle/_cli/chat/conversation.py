"""One conversation at the terminal: its agent, its history and what it has cost."""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

from treadle._agent.agent import Agent
from treadle._agent.conversation import history_of
from treadle._agent.presets import local_user, takes_files
from treadle._cli.chat.completion import completions
from treadle._cli.chat.earlier import Earlier
from treadle._cli.chat.input import Reader
from treadle._cli.chat.mentions import mentions_in
from treadle._cli.display.ansi import styled
from treadle._cli.display.base import Display
from treadle._cli.display.factory import open_display
from treadle._cli.display.made import show_files
from treadle._cli.display.text import clean, one_line, plural, spent
from treadle._cli.driving.conductor import Conductor
from treadle._cli.driving.forms import drive
from treadle._cli.driving.lifecycle import close, isolate, load_model, print_outcome
from treadle._cli.runs.resume import fork_of
from treadle._cli.setup.attachments import with_parts
from treadle._cli.setup.launch import Launch, build_agent
from treadle._engine.run import Run, beginning_of
from treadle._journal import Journal
from treadle._journal.base import UNDONE
from treadle._models.base import Model
from treadle._types.errors import RunNotFoundError
from treadle._types.ids import fresh_id
from treadle._types.messages import Content, Message, Part
from treadle._types.state import fold
from treadle._types.usage import NO_USAGE
from treadle._workspace.history import trees_of

_LOOK_SECONDS = 0.05
Work = Callable[[], Coroutine[Any, Any, None]]


class Ahead:
    """In a thread with an event loop of its own: that of the chat stands still while a line is read."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def start(self, agent: Agent) -> None:
        """Begin, for a model that can. One that would have to be downloaded waits for the first question: its progress
        would be written over what is being typed."""
        self.stop()
        model: Any = agent.model
        if not hasattr(model, "read_ahead") or model.needs_download:
            return
        isolate(model)
        request = beginning_of(agent.prepare("-"))
        work: Work = model.load if request is None else partial(model.read_ahead, request)
        self._stopping = threading.Event()
        # A daemon: the end of the chat does not wait for it.
        self._thread = threading.Thread(target=_run, args=(work, self._stopping), name="treadle-ahead", daemon=True)
        self._thread.start()

    async def done(self) -> None:
        """Wait until it is: a question that came earlier would read the same again, beside it."""
        if self._thread is not None:
            from treadle._local.runtime.job import in_thread

            await in_thread(self._thread.join, daemon=True)
            self._thread = None

    def stop(self) -> None:
        self._stopping.set()


def _run(work: Work, stopping: threading.Event) -> None:
    async def until_stopped() -> None:
        task: asyncio.Future[Any] = asyncio.ensure_future(work())
        while not task.done() and not stopping.is_set():
            await asyncio.wait([task], timeout=_LOOK_SECONDS)
        task.cancel()
        await asyncio.wait([task])
        with suppress(asyncio.CancelledError):
            task.exception()

    # Whatever failed fails again with the first question, and is reported there.
    with suppress(Exception):
        asyncio.run(until_stopped())


class Chat:
    def __init__(
        self, args: argparse.Namespace, launch: Launch, journal: Journal, earlier: Earlier | None = None
    ) -> None:
        self.reader = Reader(lambda line, word: completions(line, word, self.agent))
        if launch.workspace:
            self.reader.bind("\\C-_", "/undo step")  # Ctrl-/ at most terminals
        self.quiet: bool = args.quiet
        self.yes: bool = args.yes
        self.conductor = Conductor(talk=self.reader.terminal)
        self.journal = journal
        self.launch = launch
        self.agent: Agent = self._agent(launch)
        self.ahead = Ahead()
        if self.reader.terminal:
            self.ahead.start(self.agent)
        self.conversation = (earlier.conversation if earlier else "") or fresh_id()
        self.history: list[Message] = list(earlier.history) if earlier else []
        self.last_run = earlier.last_run if earlier else ""
        self.unended = earlier is not None and not earlier.ended
        self._shown = time.time()
        """Until when it is known what was asked in this conversation."""
        self.turns = 0
        self.usage = NO_USAGE
        self.attached: list[tuple[str, Part]] = []
        """Files that go with the next question."""
        self._before: list[tuple[list[Message], str]] = [earlier.before] if earlier else []
        """The history and the last run before each question."""
        self._runs: list[list[str]] = [[earlier.last_run]] if earlier else []
        """The runs that each of these questions has taken."""

    def next_input(self) -> str | None:
        """Return the next question or command: one that was typed while a run worked, else what is typed now."""
        if self.conductor.commands:
            return self.conductor.commands.pop(0)
        typed, self.conductor.left_over = self.conductor.left_over, ""
        if self.turns and self.reader.terminal and not self.quiet:
            print(styled(self.status(), "2", sys.stderr), file=sys.stderr)
        return self.reader.read(typed)

    def status(self) -> str:
        """Name the model, and what this chat has cost so far."""
        parts = [one_line(self.agent.model.name, 40), spent(self.usage)]
        inputs = {"instruction file": self.launch.instructions, "skill": self.launch.skills}
        parts += [plural(len(paths), what) for what, paths in inputs.items() if paths]
        parts += [f"with {clean(name)}" for name, _ in self.attached]
        return " · ".join(parts)

    async def ask(self, text: str) -> None:
        """Answer a question, then messages that came too late for the run to read."""
        question: Content = self._with_files(text)
        await self._say_elsewhere()
        self._before.append((self.history, self.last_run))
        self._runs.append([])
        while question:
            waiting = await self._drive(
                self.agent.prepare(
                    question,
                    history=self.history,
                    conversation=self.conversation,
                    follows=self.last_run,
                    user=local_user(self.agent),
                )
            )
            question = "\n".join(waiting)

    async def _say_elsewhere(self) -> None:
        """Say so if somebody else has asked in this conversation since it was shown here."""
        for newest in await self.journal.list(limit=1, conversation=self.conversation, parent=""):
            own = newest.run_id in chain.from_iterable(self._runs)
            if not own and not newest.undone and newest.created > self._shown:
                self._shown, run = newest.created, newest.run_id[:8]
                asked = one_line(clean(newest.question), 60)
                print(
                    f"(elsewhere this conversation has gone on with: {asked}\n the answer here does not know that; "
                    f"treadle chat --resume {run} goes on there)",
                    file=sys.stderr,
                )

    def _with_files(self, text: str) -> Content:
        mentions = mentions_in(text, as_files=takes_files(self.agent))
        for name in mentions.missing:
            print(f"(there is no file {clean(name)} here: it is sent as it is written)", file=sys.stderr)
        attached, self.attached = self.attached, []
        return with_parts(text, [*mentions.parts, *(part for _, part in attached)])

    async def transcript(self) -> list[Message]:
        """Return the whole conversation, also what has left the window of the model."""
        transcript, past, run_id = list[Message](), self.history, self.last_run
        while run_id:
            try:
                state = fold(await self.journal.load(run_id))
            except RunNotFoundError:  # deleted since: the run after it began with what is left of it
                break
            messages, started = state.messages(), state.started
            past = list(started.history) if started is not None else []
            transcript[:0] = messages[len(past) :]
            run_id = started.follows if started is not None else ""
        return [*past, *transcript]

    async def undo(self) -> bool:
        """Forget the last question and its answer, for later sessions too; the run stays recorded. False if none."""
        if not self._before:
            return False
        self.history, self.last_run = self._before.pop()
        if not self.last_run:  # its files are those of the beginning again
            self.conversation = fresh_id()
        for run_id in self._runs.pop():
            await self._undone(run_id)
        return True

    async def undo_step(self, step: int = 0) -> int:
        """Go on from before step `step` of the last run, or from before the last one that changed files, with the files
        and the messages of then. Return which one it was, 0 if there is none."""
        records = await self.journal.load(self.last_run) if self.last_run else []
        changed = (tree.step for tree in reversed(trees_of(records)) if tree.event.moment in ("after", "interrupted"))
        if not (step := step or next(changed, 0)):
            return 0
        run = await self.agent.load(await fork_of(self.journal, self.last_run, step))
        run.cancel()  # what it had done until then is all that is wanted
        await self.agent.launch(run)
        await self._undone(self.last_run)
        self.history, self.last_run = history_of(run.state), run.id
        if self._runs:
            self._runs[-1].append(run.id)
        return step

    async def _undone(self, run_id: str) -> None:
        await self.journal.annotate(run_id, tags=sorted({*(await self.journal.info(run_id)).tags, UNDONE}))

    async def fork(self, at: int, message: str) -> None:
        """Run the last question again from before step `at`; the new answer replaces the old one."""
        run = await self.agent.load(await fork_of(self.journal, self.last_run, at))
        if unread := await self._drive(run, say=message):
            await self.ask("\n".join(unread))

    async def take_up(self) -> None:
        """Go on with the last run: its process was killed, or it waits for a person."""
        self.unended = False
        if unread := await self._drive(await self.agent.load(self.last_run)):
            await self.ask("\n".join(unread))

    async def _drive(self, run: Run, say: str = "") -> list[str]:
        await load_model(self.agent, quiet=self.quiet, ahead=self.ahead.done)

        def display(run: Run) -> Display:
            return open_display(run.id, quiet=self.quiet, prompt=self.reader.terminal, past=run.records)

        result = await drive(self.conductor, self.agent, run, display, say=say)
        if result.stop_reason != "cancelled":  # the next line goes on
            print_outcome(result)
        if not self.quiet:
            show_files(result)
        self.history, self.last_run = history_of(run.state), run.id
        if self._runs:
            self._runs[-1].append(run.id)
        self.turns += 1
        self.usage += result.usage
        late, self.conductor.unsent = self.conductor.unsent, []
        return [*result.unread, *late] if result.stop_reason != "cancelled" else []

    async def rebuild(self, launch: Launch) -> None:
        """Use another agent from the next question on; a launch that is invalid changes nothing."""
        old = self.agent.model
        agent = self._agent(launch, old if launch.model == self.launch.model else None)
        if agent.model is not old:
            await old.aclose()
        self.agent, self.launch = agent, launch
        if agent.model is not old and self.reader.terminal:
            self.ahead.start(agent)

    def start_over(self) -> None:
        self.conversation, self.history, self.last_run = fresh_id(), [], ""
        self._before.clear()
        self._runs.clear()

    def _agent(self, launch: Launch, model: Model | None = None) -> Agent:
        return build_agent(
            launch,
            journal=self.journal,
            approval=self.conductor.approval(),
            yes=self.yes,
            streaming=sys.stdout.isatty(),
            model=model,
        )

    async def close(self) -> None:
        self.ahead.stop()
        self.reader.close()
        await close(self.agent, self.journal)
