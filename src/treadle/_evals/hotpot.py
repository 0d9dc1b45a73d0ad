"""HotpotQA questions over a small Wikipedia, with the two tools of the ReAct paper: `search` and `lookup`.

A folder holds `tasks.json` (a list of objects with id, question, answer and type) and `wiki.json` (title to sentences).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from treadle._evals.checks import Check
from treadle._evals.tasks import Task, TaskSet
from treadle._tools.base import Tool
from treadle._tools.function import tool
from treadle._types.errors import ConfigError, ToolError

T = TypeVar("T")
SHOWN = 5
"""Sentences that `search` shows, and titles that it proposes."""
HELD_EVERY = 3
INSTRUCTIONS = (
    "Answer the question from the encyclopedia, which you reach with search and lookup. "
    "The final answer is as short as can be: a name, a date, a number, yes or no; no sentence."
)


class Question(Struct, frozen=True):
    id: str
    question: str
    answer: str
    type: str = "hotpot"


Wiki = dict[str, list[str]]


def load_hotpot(folder: Path) -> TaskSet:
    """The questions of a folder as tasks; an answer passes on exact match, and its F1 is reported beside it."""
    questions = _read(folder / "tasks.json", list[Question])
    shelf = Shelf(_read(folder / "wiki.json", Wiki))
    tasks = tuple(
        Task(
            id=question.id,
            kind=question.type,
            question=question.question,
            check=Check(answer_equals=question.answer),
            tools=("search", "lookup"),
            split="held" if place % HELD_EVERY == HELD_EVERY - 1 else "dev",
        )
        for place, question in enumerate(questions)
    )
    if not tasks:
        raise ConfigError(f"{folder / 'tasks.json'} holds no question")
    return TaskSet(folder.resolve().name, tasks, lambda _: wiki_tools(shelf), INSTRUCTIONS)


def _read(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}): a folder with HotpotQA has tasks.json and wiki.json"
        ) from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ConfigError(f"{path} cannot be used: {error}") from None


class Shelf:
    """The pages, found by title."""

    def __init__(self, wiki: Wiki) -> None:
        self._pages = wiki
        self._by_name = {_name(title): title for title in wiki}
        self._words = {title: Counter(_name(title).split()) for title in wiki}

    def page(self, entity: str) -> tuple[str, Sequence[str]] | None:
        title = self._by_name.get(_name(entity))
        return (title, self._pages[title]) if title is not None else None

    def similar(self, entity: str) -> list[str]:
        """Titles that share most words with what was looked for; short ones first among equals."""
        wanted = Counter(_name(entity).split())
        scores = {title: sum((words & wanted).values()) for title, words in self._words.items()}
        near = sorted(
            (title for title, score in scores.items() if score), key=lambda title: (-scores[title], len(title), title)
        )
        return near[:SHOWN]


def _name(title: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", title).casefold()))


def wiki_tools(shelf: Shelf) -> list[Tool]:
    """`search` opens a page, `lookup` goes through it like the find key of a browser. The open page belongs to one run."""
    reader = _Reader(shelf)
    # One call at a time: what lookup means depends on what search has opened.
    return [
        tool(reader.search, effect="idempotent", concurrent=False),
        tool(reader.lookup, effect="unsafe", concurrent=False),
    ]


class _Reader:
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._sentences: Sequence[str] = ()
        self._looked_for = ""
        self._next = 0

    def search(self, entity: str) -> str:
        """Open the encyclopedia's page about an entity and read its first sentences; similar titles if there is no such page.

        Args:
            entity: exact name of a person, place, work or thing
        """
        found = self._shelf.page(entity)
        if found is None:
            near = self._shelf.similar(entity)
            raise ToolError(f"Could not find {entity!r}." + (f" Similar: {near}" if near else " Try another name."))
        title, self._sentences = found
        self._looked_for, self._next = "", 0
        return f"{title}: {' '.join(sentence.strip() for sentence in self._sentences[:SHOWN])}"

    def lookup(self, keyword: str) -> str:
        """Find the next sentence with a keyword on the page that was opened last.

        Args:
            keyword: word or phrase to find on the page
        """
        if not self._sentences:
            raise ToolError("no page is open: search for an entity first")
        hits = [sentence.strip() for sentence in self._sentences if keyword.casefold() in sentence.casefold()]
        if keyword != self._looked_for:
            self._looked_for, self._next = keyword, 0
        if self._next >= len(hits):
            return "No more results." if hits else f"The page does not mention {keyword!r}."
        self._next += 1
        return f"(Result {self._next} / {len(hits)}) {hits[self._next - 1]}"
