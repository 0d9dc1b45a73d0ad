"""Questions over a set of pages, as in HotpotQA, with the two tools of the ReAct paper: `search` and `lookup`.

Any folder will do that holds `tasks.json` (a list of objects with id, question, answer and type) and `wiki.json` (an
object with the sentences of each page by its title).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from treadle._inspect.evals.checks import Check
from treadle._inspect.evals.tasks import Task, TaskSet
from treadle._safety.data import DataError, decode_json, read_text
from treadle._tools.base import Tool
from treadle._tools.function import tool
from treadle._types.errors import ConfigError, ToolError

MAX_FILE = 1024 * 1024 * 1024
T = TypeVar("T")
SHOWN = 5
"""Sentences that `search` shows, and titles that it proposes."""
HELD_EVERY = 3
SEARCH = (
    "Open the encyclopedia's page about an entity and read its first sentences; "
    "similar titles if there is no such page."
)
INSTRUCTIONS = (
    "Answer the question from the encyclopedia, which you reach with search and lookup. "
    "The final answer is as short as can be: a name, a date, a number, yes or no; no sentence."
)


class Question(Struct, frozen=True):
    id: str
    question: str
    answer: str
    type: str = "hotpot"


Pages = dict[str, list[str]]
"""The sentences of each page, by its title."""


def load_hotpot(folder: Path) -> TaskSet:
    """The questions of a folder as tasks; an answer passes on exact match, and its F1 is reported beside it."""
    questions = _read(folder / "tasks.json", list[Question])
    index = PageIndex(_read(folder / "wiki.json", Pages))
    tasks = tuple(
        Task(
            id=question.id,
            kind=question.type,
            question=question.question,
            check=Check(answer_equals=question.answer),
            tools=("search", "lookup"),
            split="held" if number % HELD_EVERY == 0 else "dev",
        )
        for number, question in enumerate(questions, 1)
    )
    if not tasks:
        raise ConfigError(f"{folder / 'tasks.json'} holds no question")
    return TaskSet(folder.resolve().name, tasks, lambda _: page_tools(index), INSTRUCTIONS)


def _read(path: Path, kind: type[T]) -> T:
    try:
        return decode_json(read_text(path, MAX_FILE), kind)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}): a folder with questions needs tasks.json and wiki.json"
        ) from None
    except DataError as error:
        raise ConfigError(f"{path} cannot be used: {error}") from None


class PageIndex:
    """Finds pages by their titles."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._titles = {_normalized(title): title for title in pages}
        self._words = {title: Counter(_normalized(title).split()) for title in pages}

    def page(self, entity: str) -> tuple[str, Sequence[str]] | None:
        title = self._titles.get(_normalized(entity))
        return (title, self._pages[title]) if title is not None else None

    def similar(self, entity: str) -> list[str]:
        """The titles that share most words with the entity; short ones first among equals."""
        words = Counter(_normalized(entity).split())
        scores = {title: sum((own & words).values()) for title, own in self._words.items()}
        matches = [title for title, score in scores.items() if score]
        return sorted(matches, key=lambda title: (-scores[title], len(title), title))[:SHOWN]


def _normalized(title: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", title).casefold()))


def page_tools(index: PageIndex) -> list[Tool]:
    """`search` opens a page, `lookup` finds text in it, like the find function of a browser. Make them for each run."""
    reader = _Reader(index)
    # One call at a time: what lookup finds depends on what search has opened.
    return [
        tool(reader.search, description=SEARCH, effect="idempotent", acts=False, concurrent=False),
        tool(reader.lookup, effect="unsafe", acts=False, concurrent=False),
    ]


class _Reader:
    def __init__(self, index: PageIndex) -> None:
        self._index = index
        self._sentences: Sequence[str] = ()
        self._keyword = ""
        self._next = 0

    def search(self, entity: str) -> str:
        """Open a page.

        Args:
            entity: exact name of a person, place, work or thing
        """
        page = self._index.page(entity)
        if page is None:
            similar = self._index.similar(entity)
            hint = f" Similar: {similar}" if similar else " Try another name."
            raise ToolError(f"Could not find {entity!r}." + hint)
        title, self._sentences = page
        self._keyword, self._next = "", 0
        return f"{title}: {' '.join(sentence.strip() for sentence in self._sentences[:SHOWN])}"

    def lookup(self, keyword: str) -> str:
        """Find the next sentence with a keyword on the page that was opened last.

        Args:
            keyword: word or phrase to find on the page
        """
        if not self._sentences:
            raise ToolError("no page is open: search for an entity first")
        hits = [sentence.strip() for sentence in self._sentences if keyword.casefold() in sentence.casefold()]
        if keyword != self._keyword:
            self._keyword, self._next = keyword, 0
        if self._next >= len(hits):
            return "No more results." if hits else f"The page does not mention {keyword!r}."
        self._next += 1
        return f"(Result {self._next} / {len(hits)}) {hits[self._next - 1]}"
