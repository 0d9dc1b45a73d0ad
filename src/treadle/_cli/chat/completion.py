"""Completes words in a chat with the Tab key: commands, their arguments, and files after `@`."""

from __future__ import annotations

import os

from treadle._agent.agent import Agent
from treadle._cli.chat.mentions import paths

USAGES = {
    "help": ("", "show this list"),
    "model": ("[NAME]", "show the model, or switch to another"),
    "tools": ("", "list the tools, and which ask first"),
    "approve": ("[TOOL|all|off]", "do not ask about this tool in this chat; off: ask again"),
    "fork": ("[N [TEXT]]", "answer the last question again from before step N"),
    "undo": ("[step|N]", "forget the last question and its answer, or the last step that changed files, or step N"),
    "diff": ("[N]", "show what was changed in the files since the beginning, or in step N of the last run"),
    "apply": ("", "bring the changes into your folder, after showing them"),
    "file": ("[PATH|off]", "put a file into the next question (or write @PATH in it)"),
    "save": ("[FILE]", "write the conversation to a file (.md or .json)"),
    "plan": ("[on|off]", "show the plan, or switch planning on or off"),
    "memory": ("[show|edit|forget N]", "show what is remembered, and about whom; change or forget it"),
    "status": ("", "show the model, the cost, the instructions and the skills"),
    "cost": ("", "show what this chat has cost"),
    "new": ("", "start a new conversation"),
    "quit": ("", "end the chat (or press Ctrl-D)"),
}
"""Every command: its arguments, and one line about it."""


def completions(line: str, word: str, agent: Agent) -> list[str]:
    """List what can stand in place of `word`, the last one of `line`."""
    if word.startswith("@"):
        return [f"@{path}" for path in paths(word[1:])]
    if not line.startswith("/"):
        return []
    if line == word:
        return [f"/{name}" for name in USAGES if name.startswith(word[1:])]
    return [value for value in _values(line.split(maxsplit=1)[0][1:], word, agent) if value.startswith(word)]


def _values(command: str, word: str, agent: Agent) -> list[str]:
    match command:
        case "file":
            return [*paths(word), "off"] if word else paths("")
        case "save":
            return paths(word)
        case "plan":
            return ["on", "off"]
        case "memory":
            return ["list", "show", "edit", "forget"]
        case "approve":
            return [*sorted(agent.toolkit.names), "all", "off"]
        case "model":
            return _models()
        case _:
            return []


def _models() -> list[str]:
    """List names without asking a server: of the providers whose key is set, and of local models."""
    from treadle._local.weights import weights
    from treadle._models.catalog.default import BY_KEY
    from treadle._models.catalog.providers import provider_named

    named = [f"{name}:{model}" for name, model in BY_KEY.items() if os.environ.get(provider_named(name).key_env)]
    return [*named, *(f"local:{name}" for name in weights.CATALOGUE)]
