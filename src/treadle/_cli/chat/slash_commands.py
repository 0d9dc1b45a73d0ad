"""The commands of a chat: lines that begin with a slash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from treadle._cli.chat.conversation import Chat
from treadle._cli.display.text import arguments, clean, one_line, plural, spent
from treadle._tools.base import Tool
from treadle._types.state import fold


async def run_command(chat: Chat, line: str) -> bool:
    """Run the command in a line; False when it ends the chat."""
    name, _, rest = line[1:].strip().partition(" ")
    if name in ("quit", "exit", "q"):
        return False
    command = COMMANDS.get(name)
    if command is None:
        print(f"there is no command /{clean(name)}; /help lists the commands")
    else:
        await command[0](chat, rest.strip())
    return True


async def _help(chat: Chat, rest: str) -> None:
    for name, (_, usage, line) in COMMANDS.items():
        print(f"  /{(name + ' ' + usage).strip():17} {line}")
    print("  /quit              end the chat (or press Ctrl-D)")
    print("A line that ends with \\ is continued in the next one.")
    print("While it works, each line you type is sent to it, and Ctrl-C stops it.")


async def _tools(chat: Chat, rest: str) -> None:
    for tool in chat.agent.toolkit:
        asks = " (asks first)" if _asks(chat, tool) else ""
        print(f"  {tool.name}: {one_line(tool.description, 70)}{asks}")
    if not len(chat.agent.toolkit):
        print("  no tools; start with --tools NAME")


def _asks(chat: Chat, tool: Tool) -> bool:
    return not chat.yes and (tool.approval == "ask" or chat.agent.settings.asks_about(tool.name))


async def _plan(chat: Chat, rest: str) -> None:
    if rest in ("on", "off"):
        await chat.rebuild(msgspec.structs.replace(chat.launch, plan=rest == "on"))
        print(f"planning is {rest} from the next question on")
        return
    steps = fold(await chat.journal.load(chat.last_run)).plan if chat.last_run else ()
    for step in steps:
        print(f"  [{'x' if step.done else ' '}] {clean(step.text)}")
    if not steps:
        print("there is no plan" + ("" if chat.launch.plan else "; /plan on makes one for each question"))


async def _model(chat: Chat, rest: str) -> None:
    if rest:
        await chat.rebuild(msgspec.structs.replace(chat.launch, model=rest))
    print(f"model: {chat.launch.model or chat.agent.model.name}")


async def _fork(chat: Chat, rest: str) -> None:
    if not chat.last_run:
        print("there is nothing to fork yet")
        return
    number, _, message = rest.partition(" ")
    if number.isdigit():
        await chat.fork(int(number), message.strip())
        return
    state = fold(await chat.journal.load(chat.last_run))
    for step in state.steps:
        print(f"  {step.iteration}  {step.tool} {arguments(step.args, 60)} -> {one_line(step.observation, 60)}")
    print(f"  {state.iteration}  the answer" if state.finished else "")
    print("/fork N continues from before step N; text after N is sent to it first")


async def _new(chat: Chat, rest: str) -> None:
    chat.start_over()
    print("started a new conversation")


async def _cost(chat: Chat, rest: str) -> None:
    print(f"{plural(chat.turns, 'question')}, {spent(chat.usage)}")


Command = tuple[Callable[[Chat, str], Awaitable[None]], str, str]
COMMANDS: dict[str, Command] = {
    "help": (_help, "", "show this list"),
    "tools": (_tools, "", "list the tools"),
    "plan": (_plan, "[on|off]", "show the plan, or switch planning on or off"),
    "fork": (_fork, "[N [TEXT]]", "answer the last question again from before step N"),
    "model": (_model, "[NAME]", "show the model, or switch to another"),
    "new": (_new, "", "start a new conversation"),
    "cost": (_cost, "", "show what this chat has cost"),
}
