"""The commands of a chat: lines that begin with a slash."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from difflib import get_close_matches
from pathlib import Path

import msgspec

from treadle._agent.presets import memory_stores, takes_files
from treadle._cli.chat.completion import USAGES
from treadle._cli.chat.conversation import Chat
from treadle._cli.display.table import table
from treadle._cli.display.text import arguments, clean, one_line, plural, spent, wrapped
from treadle._cli.runs.files import merged_into
from treadle._cli.setup.attachments import part_of_file
from treadle._cli.workspace.instructions import instruction_files
from treadle._cli.workspace.launch_inputs import shown_path
from treadle._cli.workspace.memory import act, chat_arguments
from treadle._plugins.memory.store import MemoryStore
from treadle._tools.base import Tool
from treadle._types.errors import ConfigError
from treadle._types.events import Record
from treadle._types.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage, text_of
from treadle._types.state import fold
from treadle._workspace.differences import unified
from treadle._workspace.history import begun_with, merge, span_of
from treadle._workspace.objects import Objects
from treadle._workspace.places import stored


async def run_command(chat: Chat, line: str) -> bool:
    """Run the command in a line; False when it ends the chat."""
    name, _, rest = line[1:].strip().partition(" ")
    if name in ("quit", "exit", "q"):
        return False
    command = COMMANDS.get(name)
    if command is None:
        near = get_close_matches(name, USAGES, n=1)
        hint = f"did you mean /{near[0]}?" if near else "/help lists the commands"
        print(f"there is no command /{clean(name)}; {hint}")
    else:
        await command(chat, rest.strip())
    return True


async def _help(chat: Chat, rest: str) -> None:
    rows = [[f"/{name} {usage}".rstrip(), line] for name, (usage, line) in USAGES.items()]
    print(table((), rows))
    print(wrapped("Tab completes commands and files. @PATH in a question puts that file into it."))
    print(wrapped("A line that ends with \\ is continued in the next one; pasted lines stay together."))
    print(wrapped("While it works, each line you type is sent to it, and Ctrl-C stops it."))


async def _tools(chat: Chat, rest: str) -> None:
    for tool in chat.agent.toolkit:
        asks = " (asks first)" if _asks(chat, tool) else ""
        print(wrapped(f"{tool.name}: {one_line(tool.description, 70)}{asks}", "  ", "  "))
    if not len(chat.agent.toolkit):
        print("  no tools; start with --tools NAME")


def _asks(chat: Chat, tool: Tool) -> bool:
    if chat.yes or chat.conductor.allowed & {tool.name, "all"}:
        return False
    return tool.approval == "ask" or chat.agent.settings.asks_about(tool.all_names)


async def _approve(chat: Chat, rest: str) -> None:
    allowed = chat.conductor.allowed
    if rest == "off":
        allowed.clear()
        print("you are asked again")
    elif rest == "all":
        allowed.add("all")
        print("nothing is asked about in this chat, whatever the run has read; /approve off asks again")
    elif rest:
        chat.agent.toolkit.filtered([rest])  # an unknown name raises an error that suggests the right one
        allowed.add(rest)
        print(f"{rest} is not asked about in this chat, unless something read from outside led to the call")
    else:
        names = [tool.name for tool in chat.agent.toolkit if _asks(chat, tool)]
        print(f"asked about: {', '.join(names) or 'no tool'}")
        if allowed or chat.yes:
            print(f"allowed in this chat: {', '.join(sorted(allowed)) or 'all (--yes)'}")


async def _undo(chat: Chat, rest: str) -> None:
    step = int(rest) if rest.isdigit() else 0
    if (step or rest == "step") and (step := await chat.undo_step(step)):
        print(f"step {step} and what came after it are undone, in the files and in the conversation")
        return
    print("the last question and its answer are forgotten" if await chat.undo() else "there is nothing to undo")


async def _changed(chat: Chat) -> tuple[Objects, list[Record]] | None:
    """Return the files and the log of the last run, if this chat works on files."""
    objects = stored(chat.journal)
    if not chat.last_run or objects is None or not chat.launch.workspace:
        return None
    return objects, await chat.journal.load(chat.last_run)


async def _diff(chat: Chat, rest: str) -> None:
    """Print what was changed in the conversation so far, or in one step of its last run."""
    if (changed := await _changed(chat)) is None:
        print("no files were changed")
        return
    objects, records = changed
    step = int(rest) if rest.isdigit() else None
    last = span_of(records, step)
    old = last.old if step is not None else begun_with(objects, records, last.old)
    new = merge(objects, old, old, last.new).tree  # what /apply would bring
    print(await asyncio.to_thread(unified, objects, old, new, most=200_000) or "no files were changed")


async def _apply(chat: Chat, rest: str) -> None:
    """Bring what was changed into the person's folder, beside what has changed there meanwhile."""
    if (changed := await _changed(chat)) is None or chat.launch.workspace == "host":
        print("there is nothing to bring into your folder")
        return
    objects, records = changed
    last = span_of(records)
    old = begun_with(objects, records, last.old)
    args = argparse.Namespace(yes=chat.yes)
    sys.stdout.flush()
    await asyncio.to_thread(merged_into, args, objects, Path(chat.launch.folder), old, last.new)


async def _file(chat: Chat, rest: str) -> None:
    if rest == "off":
        chat.attached.clear()
    elif rest:
        chat.attached.append((rest, part_of_file(rest, as_files=takes_files(chat.agent))))
    names = ", ".join(clean(name) for name, _ in chat.attached)
    print(f"with the next question: {names}" if names else "no file goes with the next question; /file PATH adds one")


async def _save(chat: Chat, rest: str) -> None:
    if not (messages := await chat.transcript()):
        print("there is nothing to save yet")
        return
    print(f"saved as {save(messages, rest or f'chat-{chat.conversation[:8]}.md')}")


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
    print(f"model: {clean(chat.launch.model or chat.agent.model.name)}")


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


async def _status(chat: Chat, rest: str) -> None:
    print(chat.status())
    launch = chat.launch
    for path in launch.instructions:
        print(f"  instructions: {clean(shown_path(path))}")
    for path in launch.skills:
        print(f"  skill: {clean(shown_path(path))}")
    for file in instruction_files():
        if not file.trusted:
            print(f"  not read, because its folder is not trusted: {clean(shown_path(file.path))}")


async def _memory(chat: Chat, rest: str) -> None:
    """Show the memory of this chat's agent; where it has none, the store that agents with the plug-in Memory share."""
    agent = chat.agent
    stores = memory_stores(agent)
    act(chat_arguments(rest), stores[0] if stores else MemoryStore())


async def _cost(chat: Chat, rest: str) -> None:
    print(f"{plural(chat.turns, 'question')}, {spent(chat.usage)}")


COMMANDS: dict[str, Callable[[Chat, str], Awaitable[None]]] = {
    "help": _help,
    "model": _model,
    "tools": _tools,
    "approve": _approve,
    "fork": _fork,
    "undo": _undo,
    "diff": _diff,
    "apply": _apply,
    "file": _file,
    "save": _save,
    "plan": _plan,
    "memory": _memory,
    "status": _status,
    "cost": _cost,
    "new": _new,
}


def save(messages: Sequence[Message], name: str) -> Path:
    """Write the conversation to a new file; an existing one is never overwritten."""
    path = Path(name).expanduser()
    shown = [message for message in messages if not isinstance(message, SystemMessage)]
    data = msgspec.json.format(msgspec.json.encode(shown)).decode() if path.suffix == ".json" else markdown(shown)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(data)
    except FileExistsError:
        raise ConfigError(f"{name} exists: choose another name") from None
    except OSError as error:
        raise ConfigError(f"{name} cannot be written: {error.strerror}") from None
    return path


def markdown(messages: Sequence[Message]) -> str:
    parts: list[str] = []
    for message in messages:
        if isinstance(message, UserMessage):
            parts.append(f"## You\n\n{text_of(message.content)}")
        elif isinstance(message, AssistantMessage):
            parts += [f"`{call.name}` {arguments(call.args, 400)}" for call in message.calls]
            if message.text and not message.calls:
                parts.append(f"## Answer\n\n{message.text}")
        elif isinstance(message, ToolMessage):
            parts.append("\n".join(f"> {line}" for line in text_of(message.content).split("\n")))
    return "\n\n".join(parts) + "\n"
