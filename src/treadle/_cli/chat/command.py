"""`treadle chat`: a conversation. What is typed while it works reaches it; Ctrl-C stops it, twice leaves."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from treadle._cli.setup import exit_codes as exits
from treadle._cli.setup.options import add_agent_options, add_journal_option
from treadle._types.ids import fresh_id

if TYPE_CHECKING:
    import asyncio

    from treadle._cli.setup.launch import Launch
    from treadle._engine.run import Run
    from treadle._flows.agent import Agent
    from treadle._journal import Journal
    from treadle._models.base import Model
    from treadle._types.messages import Message


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "chat",
        description="Talk. A line typed while it works is sent to it; Ctrl-C stops it, twice leaves; /help lists the commands.",
        epilog=exits.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_agent_options(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="show answers only")
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from treadle._cli.setup.launch import launch_from, say_choice

    launch, choice = launch_from(args)
    chat = Chat(args, launch)
    say_choice(choice, quiet=args.quiet)
    # One event loop for the whole conversation: connections and the loaded model stay open between questions.
    with asyncio.Runner() as runner:
        try:
            return chat.talk(runner)
        finally:
            runner.run(chat.close())


class Chat:
    def __init__(self, args: argparse.Namespace, launch: Launch) -> None:

        from treadle._cli.chat.input import Reader
        from treadle._cli.setup.driving import Conductor
        from treadle._cli.setup.launch import journal_from
        from treadle._journal import open_journal
        from treadle._types.usage import NO_USAGE

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

    def talk(self, runner: asyncio.Runner) -> int:
        """Questions and commands, until the input ends or the user leaves."""
        from treadle._cli.chat.slash_commands import run_command
        from treadle._cli.display.text import clean
        from treadle._types.errors import TreadleError

        if self.reader.terminal and not self.quiet:
            print("/help lists the commands, Ctrl-D leaves", file=sys.stderr)
        interrupted = False
        while True:
            try:
                text = self._next()
                interrupted = False
                if text is None:
                    return exits.OK
                if text.strip().startswith("/"):
                    if not runner.run(run_command(self, text.strip())):
                        return exits.OK
                elif text.strip():
                    runner.run(self.ask(text))
            except KeyboardInterrupt:
                if interrupted:
                    return exits.CANCELLED
                interrupted = True
                print("\n(Ctrl-C again leaves)", file=sys.stderr)
            except TreadleError as error:
                print(f"treadle: {clean(str(error))}", file=sys.stderr)

    def _next(self) -> str | None:
        """What to do next: a command that was typed while a run worked, else what is typed now."""
        if self.conductor.commands:
            return self.conductor.commands.pop(0)
        begun, self.conductor.left_over = self.conductor.left_over, ""
        return self.reader.read(begun)

    async def ask(self, text: str) -> None:
        """One question, and whatever was said too late for the run to read."""
        waiting = [text]
        while waiting:
            question = "\n".join(waiting)
            waiting = await self._drive(
                self.agent.prepare(question, history=self.history, conversation=self.conversation)
            )

    async def fork(self, at: int, words: str) -> None:
        """The last answer again from before step `at`; it takes the place of the one there was."""
        from treadle._cli.runs.again import fork_of

        run = await self.agent.load(await fork_of(self.journal, self.last_run, at))
        if left := await self._drive(run, say=words):
            await self.ask("\n".join(left))

    async def _drive(self, run: Run, say: str = "") -> list[str]:
        from treadle._cli.commands.run import make_ready, tell_end
        from treadle._cli.display.sinks import open_display

        await make_ready(self.agent)
        display = open_display(run.id, quiet=self.quiet, prompt=self.reader.terminal, past=run.records)
        result = await self.conductor.drive(self.agent, run, display, say=say)
        tell_end(result, run)
        self.history, self.last_run = list(result.messages), run.id
        self.turns += 1
        self.usage += result.usage
        return list(result.leftovers) if result.stop_reason != "cancelled" else []

    async def rebuild(self, launch: Launch) -> None:
        """Another agent from the next question on; a launch that cannot be used changes nothing."""
        old = self.agent.model
        agent = self._agent(launch, old if launch.model == self.launch.model else None)
        if agent.model is not old:
            await old.aclose()
        self.agent, self.launch = agent, launch

    def forget(self) -> None:

        self.conversation, self.history, self.last_run = fresh_id(), [], ""

    def _agent(self, launch: Launch, model: Model | None = None) -> Agent:
        from treadle._cli.setup.launch import build_agent

        streaming, approval = sys.stdout.isatty(), self.conductor.approval()
        return build_agent(
            launch, journal=self.journal, approval=approval, yes=self.yes, streaming=streaming, model=model
        )

    async def close(self) -> None:
        from treadle._cli.commands.run import close

        self.reader.close()
        await close(self.agent, self.journal)
