"""Which shell commands only read, and which a person's rule allows: decided by syntax, with what is known by name.

A command is split by its grammar into programs with literal words. Whatever is not of that form acts: a variable, a
substitution, a function, an assignment, a redirection into a file. Of the programs that read, options that write or
start others are refused by name, abbreviation and cluster. What syntax cannot see (a repository's configuration, an
`ls` that is a function) is why such a command runs in a clean shell where the folder cannot be written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_CHARS = 4_000
_LISTS = frozenset({"program", "list", "pipeline", "redirected_statement", "comment", "command", "file_redirect"})
_BETWEEN = frozenset({"&&", "||", "|", "|&", ";", "\n"})
_PLAIN = re.compile(r"[\w@%+=:,./^-][\w@%+=:,./^~#-]*", re.ASCII)
_FIRST = re.compile(r"[\w./+-]+", re.ASCII)


class Rule(Struct, frozen=True):
    """The options with which a program that reads does something else."""

    long: tuple[str, ...] = ()
    short: str = ""
    """Letters, also within a cluster like `-ro`."""
    words: frozenset[str] = frozenset()
    """Exact arguments."""
    most: int = 1_000
    """Arguments that are no options: one more is a file to write to."""


_NONE = Rule()
_PROGRAMS: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "pwd", "ls", "cat", "head", "wc", "nl", "cut", "tr", "stat", "du", "df", "basename", "dirname", "realpath",
            "readlink", "cmp", "comm", "diff", "echo", "true", "false", "seq", "sha256sum", "md5sum", "cksum", "fold",
            "fmt", "paste", "join", "expand", "unexpand", "od", "id", "whoami", "uname", "tac", "rev", "column",
        ),
        _NONE,
    ),
    "tail": Rule(("--follow", "--retry"), "fF"),
    "grep": _NONE,
    "egrep": _NONE,
    "fgrep": _NONE,
    "rg": Rule(("--pre", "--pre-glob", "--search-zip", "--hostname-bin"), "z"),
    "sort": Rule(("--output", "--compress-program", "--temporary-directory"), "oT"),
    "uniq": Rule(most=1),
    "date": Rule(("--set",), "s"),
    "file": Rule(("--compile", "--magic-file", "--uncompress", "--uncompress-noreport", "--no-sandbox"), "CmzZS"),
    "find": Rule(
        words=frozenset(
            {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from"}
        )
    ),
    "tree": Rule(("--output",), "oR"),
    "jq": Rule(("--from-file",), "f"),
}  # fmt: skip
_GIT_WRITES = (
    "--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--upload-pack", "--exec", "--show-signature",
    "--filters", "--batch-command", "--edit-description",
)  # fmt: skip
_GIT: dict[str, Rule] = {
    **dict.fromkeys(("status", "log", "diff", "show", "blame", "shortlog", "describe"), Rule(_GIT_WRITES)),
    **dict.fromkeys(("ls-files", "ls-tree", "rev-parse", "rev-list", "merge-base", "cat-file"), Rule(_GIT_WRITES)),
    "grep": Rule(_GIT_WRITES, "O"),
    "branch": Rule((*_GIT_WRITES, "--set-upstream-to", "--unset-upstream"), "dDmMcCfut", most=0),
    "tag": Rule((*_GIT_WRITES, "--sign", "--delete", "--message", "--file"), "adsfumFe", most=0),
    "remote": Rule(most=0),
}


class Command(Struct, frozen=True):
    """One program of a command line."""

    words: tuple[str, ...]
    """Empty where one of them is not known before it runs."""


@cache
def _parser() -> Any:
    try:
        import tree_sitter_bash
        from tree_sitter import Language, Parser
    except ImportError:
        return None
    return Parser(Language(tree_sitter_bash.language()))


def commands_in(text: str) -> list[Command] | None:
    """Return the programs that a command line starts, in order; None where it does more than that, or cannot be read
    (also where the extra `workspace` is not installed)."""
    parser = _parser()
    # What bash reads otherwise than the grammar: a line that goes on, and characters that are not seen.
    strange = "\\\n" in text or any(char not in "\n\t" and not char.isprintable() for char in text)
    if parser is None or strange or len(text) > _MOST_CHARS or not text.strip() or "!" in text:
        return None
    data = text.encode("utf-8", "surrogatepass")
    root: Node = parser.parse(data).root_node
    if root.has_error:
        return None
    commands: list[Command] = []
    return commands if all(_take(node, data, commands) for node in root.children) and commands else None


def _take(node: Node, data: bytes, commands: list[Command]) -> bool:
    """Collect the programs below a node; False where there is anything else."""
    if not node.is_named:
        return node.type in _BETWEEN
    if node.is_missing or node.type not in _LISTS or node.type == "program":
        return False
    if node.type == "command":
        words = tuple(_words(node, data))
        commands.append(Command(words if None not in words else ()))  # type: ignore[arg-type]
        return None not in words
    if node.type == "file_redirect":
        return _goes_nowhere(node, data)
    return node.type == "comment" or all(_take(child, data, commands) for child in node.children)


def _words(node: Node, data: bytes) -> Iterator[str | None]:
    """Give the words of a program as bash passes them on; None for one that is not known before it runs."""
    for number, child in enumerate(node.children):
        if child.type == "command_name":
            inner = child.children
            word = _text(inner[0], data) if len(inner) == 1 and inner[0].type == "word" else ""
            yield word if number == 0 and _FIRST.fullmatch(word) and "=" not in word else None
        else:
            yield _literal(child, data)


def _literal(node: Node, data: bytes) -> str | None:
    text = _text(node, data)
    if node.type in ("word", "number"):
        return text if _PLAIN.fullmatch(text) or (text and not text.isascii() and text.isalnum()) else _pattern(text)
    if node.type == "raw_string":
        return text[1:-1]
    if node.type == "string" and all(child.type in ("string_content", '"') for child in node.children):
        return text[1:-1] if not set(text[1:-1]) & set('\\$`"') else None
    if node.type == "concatenation":
        parts = [_literal(child, data) for child in node.children]
        return None if None in parts else "".join(filter(None, parts))
    return None


def _pattern(text: str) -> str | None:
    """Return a word with patterns of file names: what it becomes is a path, never an option, if it begins like one."""
    return text if re.fullmatch(r"[\w./][\w./*?-]*", text, re.ASCII) else None


def _text(node: Node, data: bytes) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _goes_nowhere(node: Node, data: bytes) -> bool:
    """Return whether a redirection leads to another descriptor or to nowhere, and has exactly one target."""
    named = [child for child in node.named_children if child.type != "file_descriptor"]
    operators = [child.type for child in node.children if not child.is_named]
    if len(named) != 1 or len(operators) != 1:
        return False
    target = _text(named[0], data)
    if operators[0] == ">&":
        return named[0].type == "number" and target in ("1", "2")
    return operators[0] in (">", ">>", "&>", "<") and named[0].type == "word" and target == "/dev/null"


def only_reads(text: str) -> bool:
    """Return whether syntax shows that a command changes nothing and sends nothing."""
    commands = commands_in(text)
    return commands is not None and all(_reads(command.words) for command in commands)


def _reads(words: tuple[str, ...]) -> bool:
    if not words:
        return False
    if words[0] == "git":
        return len(words) > 1 and words[1] in _GIT and _within(_GIT[words[1]], words[2:])
    return words[0] in _PROGRAMS and _within(_PROGRAMS[words[0]], words[1:])


def _within(rule: Rule, words: tuple[str, ...]) -> bool:
    others = 0
    for number, word in enumerate(words):
        if word == "--":
            others += len(words) - number - 1
            break
        if word in rule.words:
            return False
        if word.startswith("--"):
            name = word.partition("=")[0]
            if any(long.startswith(name) for long in rule.long):
                return False
        elif word.startswith("-") and len(word) > 1:
            if not rule.words and set(word[1:]) & set(rule.short):
                return False
        else:
            others += 1
    return others <= rule.most


def allowed_by(rules: str, text: str) -> bool:
    """Return whether each program of a command fits one of the rules (`git status|pytest *`) or only reads."""
    patterns = [tuple(rule.split()) for rule in rules.split("|") if rule.strip()]
    commands = commands_in(text) if patterns else None
    return commands is not None and all(
        _reads(command.words) or any(_fits(command.words, pattern) for pattern in patterns) for command in commands
    )


def _fits(words: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Word by word; a `*` at the end stands for any more words, also none."""
    if pattern[-1] == "*":
        pattern = pattern[:-1]
        words = words[: len(pattern)]
    return len(words) == len(pattern) and all(map(fnmatchcase, words, pattern))
