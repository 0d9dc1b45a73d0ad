"""`treadle chat`: a conversation at the terminal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle._cli.setup import exit_codes
from treadle._cli.setup.options import add_agent_options, add_command, add_journal_option, flag

if TYPE_CHECKING:
    import asyncio

    from treadle._cli.chat.conversation import Chat
    from treadle._cli.driving.interrupts import HoldBack
    from treadle._journal import Journal


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        "chat",
        "A conversation. A line typed while it works is sent to it; Ctrl-C stops the answer, twice the "
        "chat. /help lists the commands.",
    )
    earlier = parser.add_mutually_exclusive_group()
    earlier.add_argument("-c", "--continue", dest="go_on", action="store_true", help="continue the newest conversation")
    earlier.add_argument("--resume", metavar="ID", help="continue this conversation, or the one after this run")
    add_agent_options(parser)
    flag(parser, "-q", "--quiet", help="show only the answers")
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from treadle._cli.driving.interrupts import HoldBack, run_async
    from treadle._cli.setup.launch import journal_from
    from treadle._cli.workspace.consent import settle
    from treadle._journal import open_journal

    settle(args)
    journal = journal_from(args) or open_journal("memory:")
    # One event loop for the whole conversation: connections and the loaded model stay open between questions.
    with HoldBack() as interrupts, asyncio.Runner() as runner:
        try:
            chat = run_async(_open(args, journal), runner)
        except BaseException:
            run_async(journal.aclose(), runner)
            raise
        try:
            if question := getattr(args, "question", ""):
                chat.conductor.commands.append(question)
            return talk(chat, runner, interrupts)
        finally:
            run_async(chat.close(), runner)


async def _open(args: argparse.Namespace, journal: Journal) -> Chat:
    from treadle._cli.chat.conversation import Chat
    from treadle._cli.chat.earlier import earlier_chat
    from treadle._cli.display.text import one_line
    from treadle._cli.runs.resume import relaunch
    from treadle._cli.setup.launch import launch_from, launch_of, print_choice
    from treadle._models.catalog.default import Choice

    folder = str(Path.cwd()) if getattr(args, "workspace", "") else ""
    earlier = await earlier_chat(journal, args.resume or "", folder=folder) if args.go_on or args.resume else None
    if earlier is not None and launch_of(earlier.records) is not None:
        launch = relaunch(args, earlier.records)
        choice = Choice(launch.model, "named with --model" if args.model else "as before") if launch.model else None
    else:
        launch, choice = launch_from(args)
    chat = Chat(args, launch, journal, earlier)
    print_choice(choice, launch, quiet=args.quiet)
    if earlier is not None and not args.quiet:
        answer = one_line(earlier.answer, 70) if earlier.ended else "(it had not ended: it goes on)"
        print(f"> {one_line(earlier.question, 70)}\n{answer}", file=sys.stderr)
    return chat


def talk(chat: Chat, runner: asyncio.Runner, interrupts: HoldBack) -> int:
    """Answer questions and run commands until the input ends or the user ends the chat."""
    from treadle._cli.chat.slash_commands import run_command
    from treadle._cli.display.text import clean, wrapped
    from treadle._cli.driving.interrupts import run_async
    from treadle._types.errors import TreadleError

    if chat.reader.terminal and not chat.quiet:
        print(wrapped("/help lists the commands, Ctrl-D ends the chat", to=sys.stderr), file=sys.stderr)
    interrupted = False
    while True:
        try:
            if chat.unended:
                run_async(chat.take_up(), runner)
            with interrupts.allowed():
                text = chat.next_input()
            interrupted = False
            if text is None:
                return exit_codes.OK
            if text.strip().startswith("/") and "\n" not in text.strip():
                if not run_async(run_command(chat, text.strip()), runner):
                    return exit_codes.OK
            elif text.strip():
                run_async(chat.ask(text), runner)
        except KeyboardInterrupt:
            if interrupted:
                return exit_codes.CANCELLED
            interrupted = True
            print("\n(Ctrl-C again ends the chat)", file=sys.stderr)
        except TreadleError as error:
            print(f"treadle: {clean(str(error))}", file=sys.stderr)
