"""One conversation at the terminal: its agent, its history and what it has cost."""

from __future__ import annotations

import argparse
import sys

from treadle._cli.chat.input import Reader
from treadle._cli.display.factory import open_display
from treadle._cli.driving.conductor import Conductor
from treadle._cli.driving.lifecycle import close, load_model, print_outcome
from treadle._cli.runs.resume import fork_of
from treadle._cli.setup.launch import Launch, build_agent, journal_from
from treadle._engine.run import Run
from treadle._flows.agent import Agent
from treadle._journal import Journal, open_journal
from treadle._models.base import Model
from treadle._types.ids import fresh_id
from treadle._types.messages import Message
from treadle._types.usage import NO_USAGE


class Chat:
    def __init__(self, args: argparse.Namespace, launch: Launch) -> None:
        self.reader = Reader()
        self.quiet: bool = args.quiet
        self.yes: bool = args.yes
        self.conductor = Conductor(talk=self.reader.terminal)
        self.journal: Journal = journal_from(args) or open_journal("memory:")
        self.launch = launch
        self.agent: Agent = self._agent(launch)
        self.conversation = fresh_id()
        self.history: list[Message] = []
        self.last_run = ""
        self.turns = 0
        self.usage = NO_USAGE

    def next_input(self) -> str | None:
        """The next question or command: one that was typed while a run worked, else what is typed now."""
        if self.conductor.commands:
            return self.conductor.commands.pop(0)
        typed, self.conductor.left_over = self.conductor.left_over, ""
        return self.reader.read(typed)

    async def ask(self, text: str) -> None:
        """Answer a question, then messages that came too late for the run to read."""
        waiting = [text]
        while waiting:
            question = "\n".join(waiting)
            waiting = await self._drive(
                self.agent.prepare(question, history=self.history, conversation=self.conversation)
            )

    async def fork(self, at: int, message: str) -> None:
        """Run the last question again from before step `at`; the new answer replaces the old one."""
        run = await self.agent.load(await fork_of(self.journal, self.last_run, at))
        if unread := await self._drive(run, say=message):
            await self.ask("\n".join(unread))

    async def _drive(self, run: Run, say: str = "") -> list[str]:
        await load_model(self.agent, quiet=self.quiet)
        display = open_display(run.id, quiet=self.quiet, prompt=self.reader.terminal, past=run.records)
        result = await self.conductor.drive(self.agent, run, display, say=say)
        print_outcome(result)
        self.history, self.last_run = list(result.messages), run.id
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

    def start_over(self) -> None:
        self.conversation, self.history, self.last_run = fresh_id(), [], ""

    def _agent(self, launch: Launch, model: Model | None = None) -> Agent:
        streaming, approval = sys.stdout.isatty(), self.conductor.approval()
        return build_agent(
            launch, journal=self.journal, approval=approval, yes=self.yes, streaming=streaming, model=model
        )

    async def close(self) -> None:
        self.reader.close()
        await close(self.agent, self.journal)
