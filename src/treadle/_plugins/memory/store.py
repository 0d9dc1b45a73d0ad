"""MemoryStore: one SQLite file with a full-text index, and vectors if any, each memory under its user."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import time
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from treadle._models.embeddings import Embedder, embedded, fused, nearest, packed
from treadle._types.paths import state_folder

_SCHEMA = """
CREATE TABLE IF NOT EXISTS memories(
    id INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT UNIQUE, user TEXT NOT NULL, agent TEXT NOT NULL,
    question TEXT NOT NULL, answer TEXT NOT NULL, summary TEXT NOT NULL, created REAL NOT NULL,
    outside TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS memories_of ON memories(user, id);
CREATE VIRTUAL TABLE IF NOT EXISTS memory_words USING fts5(
    summary, question, tokenize = "porter unicode61 remove_diacritics 2");
CREATE TABLE IF NOT EXISTS memory_vectors(
    memory INTEGER NOT NULL REFERENCES memories(id), model TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (memory, model));
"""
_FIELDS = "m.id, m.user, m.agent, m.question, m.answer, m.summary, m.created, m.source, m.outside"
_WITH_OUTSIDE = "ALTER TABLE memories ADD COLUMN outside TEXT NOT NULL DEFAULT 'an earlier memory'"
"""Where those that were kept before come from is not known: they count as read from outside."""
MAX_SUMMARY = 1_000
"""Characters that one memory may have."""
_MAX_WORDS = 40
_CANDIDATES = 50
_MAX_EMBEDDED = 2_000
"""Of one user: older memories than these are found by their words alone."""
_IDEOGRAPH = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff])")


class Memo(Struct, frozen=True):
    id: int
    user: str
    agent: str
    question: str
    answer: str
    summary: str
    created: float = 0.0
    source: str = ""
    """Where it comes from: the run and its call, `RUN/CALL`."""
    outside: str = ""
    """What the run had read from outside ("example.org"): whoever recalls it has read it, too."""

    @property
    def run(self) -> str:
        """The run it comes from."""
        return self.source.partition("/")[0]


class MemoryStore:
    """Every call opens the file anew, so threads and processes may share it."""

    def __init__(self, path: str | Path | None = None) -> None:
        """Without a path: `memory.db` in the folder where Treadle keeps its state."""
        self.path = Path(path) if path is not None else state_folder() / "memory.db"

    def add(self, memos: Mapping[str, Memo]) -> None:
        """Store memos by the name of their source, each once."""
        if not memos:
            return
        with self._connected() as db:
            for source, memo in memos.items():
                done = db.execute(
                    "INSERT OR IGNORE INTO memories(source, user, agent, question, answer, summary, created, outside) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        source,
                        memo.user,
                        memo.agent,
                        memo.question,
                        memo.answer,
                        memo.summary,
                        memo.created or time.time(),
                        memo.outside,
                    ),
                )
                if done.rowcount > 0:
                    row = (done.lastrowid, _spaced(memo.summary), _spaced(memo.question))
                    db.execute("INSERT INTO memory_words(rowid, summary, question) VALUES (?, ?, ?)", row)

    def search(self, user: str, query: str, limit: int = 3) -> list[Memo]:
        """This user's memories that share words with the query, best first."""
        words = list(dict.fromkeys(re.findall(r"\w+", _spaced(query.lower()))))[:_MAX_WORDS]
        if not words or not self.path.exists():
            return []
        with self._connected() as db:
            rows = db.execute(
                f"SELECT {_FIELDS} FROM memory_words w JOIN memories m ON m.id = w.rowid "
                "WHERE memory_words MATCH ? AND m.user = ? ORDER BY bm25(memory_words), m.id DESC LIMIT ?",
                (" OR ".join(f'"{word}"' for word in words), user, limit),
            )
            return [Memo(*row) for row in rows]

    async def search_by_meaning(self, user: str, query: str, embedder: Embedder, limit: int = 3) -> list[Memo]:
        """This user's memories by words and by meaning together, best first. Those without a vector get one first."""
        if not query.strip() or not self.path.exists():
            return []
        model = str(getattr(embedder, "model", ""))
        todo = await asyncio.to_thread(self._without_vector, user, model)
        vectors = await embedded(embedder, [*todo.values(), query])
        rows = [(id, model, packed(vector)) for id, vector in zip(todo, vectors, strict=False)]
        return await asyncio.to_thread(self._by_both, user, query, (model, packed(vectors[-1])), rows, limit)

    def _without_vector(self, user: str, model: str) -> dict[int, str]:
        with self._connected() as db:
            rows = db.execute(
                "SELECT m.id, m.summary FROM memories m WHERE m.user = ? AND NOT EXISTS "
                "(SELECT 1 FROM memory_vectors v WHERE v.memory = m.id AND v.model = ?) ORDER BY m.id DESC LIMIT ?",
                (user, model, _MAX_EMBEDDED),
            )
            return dict(rows)

    def _by_both(
        self, user: str, query: str, wanted: tuple[str, bytes], rows: list[tuple[int, str, bytes]], limit: int
    ) -> list[Memo]:
        by_words = [(memo.id, 0.0) for memo in self.search(user, query, _CANDIDATES)]
        model, vector = wanted
        with self._connected() as db:
            db.executemany(  # unless the user was forgotten meanwhile
                "INSERT OR IGNORE INTO memory_vectors SELECT ?1, ?2, ?3 WHERE EXISTS "
                "(SELECT 1 FROM memories WHERE id = ?1)",
                rows,
            )
            others = db.execute(
                "SELECT v.memory, v.vector FROM memory_vectors v JOIN memories m ON m.id = v.memory "
                "WHERE m.user = ? AND v.model = ? ORDER BY m.id DESC LIMIT ?",
                (user, model, _MAX_EMBEDDED),
            )
            ranked = fused([by_words, nearest(vector, others)[:_CANDIDATES]])[:limit]
            found = {
                row[0]: Memo(*row)
                for id, _ in ranked
                for row in db.execute(f"SELECT {_FIELDS} FROM memories m WHERE m.id = ?", (id,))
            }
        return [found[id] for id, _ in ranked if id in found]

    def all(self, user: str, limit: int = 100, *, before: int = 0) -> list[Memo]:
        """This user's memories, newest first; with `before` those that are older than that one."""
        if not self.path.exists():
            return []
        with self._connected() as db:
            rows = db.execute(
                f"SELECT {_FIELDS} FROM memories m WHERE m.user = ? AND (? = 0 OR m.id < ?) ORDER BY m.id DESC LIMIT ?",
                (user, before, before, limit),
            )
            return [Memo(*row) for row in rows]

    def users(self) -> dict[str, int]:
        """Everybody something is remembered about, with how many memories it is."""
        if not self.path.exists():
            return {}
        with self._connected() as db:
            return dict(db.execute("SELECT user, count(*) FROM memories GROUP BY user ORDER BY user"))

    def get(self, memory: int) -> Memo | None:
        """One memory by its number."""
        if not self.path.exists():
            return None
        with self._connected() as db:
            row = db.execute(f"SELECT {_FIELDS} FROM memories m WHERE m.id = ?", (memory,)).fetchone()
            return Memo(*row) if row else None

    def edit(self, memory: int, summary: str) -> bool:
        """Let a memory say something else; whether there is such a memory."""
        if self.get(memory) is None:
            return False
        with self._erasing() as db:
            db.execute("UPDATE memories SET summary = ? WHERE id = ?", (summary, memory))
            db.execute("UPDATE memory_words SET summary = ? WHERE rowid = ?", (_spaced(summary), memory))
            db.execute("DELETE FROM memory_vectors WHERE memory = ?", (memory,))
        return True

    def forget_one(self, memory: int) -> bool:
        """Remove a memory; whether there was one."""
        return bool(self._forget("id = ?", memory)) if self.path.exists() else False

    def forget(self, user: str) -> int:
        """Remove everything about a user; returns how many memories it was."""
        return self._forget("user = ?", user) if self.path.exists() else 0

    def _forget(self, which: str, value: str | int) -> int:
        with self._erasing() as db:
            db.execute(f"DELETE FROM memory_words WHERE rowid IN (SELECT id FROM memories WHERE {which})", (value,))
            db.execute(f"DELETE FROM memory_vectors WHERE memory IN (SELECT id FROM memories WHERE {which})", (value,))
            return db.execute(f"DELETE FROM memories WHERE {which}", (value,)).rowcount

    @contextmanager
    def _erasing(self) -> Generator[sqlite3.Connection]:
        """Return what is removed is gone from the file, too: overwritten, and not left in the index of words."""
        with self._connected() as db:
            db.execute("PRAGMA secure_delete = ON")
            yield db
            db.execute("INSERT INTO memory_words(memory_words) VALUES ('optimize')")

    @contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():  # what is remembered about people is for its owner only
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600))
        with closing(sqlite3.connect(self.path, timeout=10.0)) as db:
            db.executescript(_SCHEMA)
            if not any(row[1] == "outside" for row in db.execute("PRAGMA table_info(memories)")):
                with suppress(sqlite3.OperationalError):  # another process has just done it
                    db.execute(_WITH_OUTSIDE)
            with db:
                yield db


def _spaced(text: str) -> str:
    """The text with each ideograph as a word of its own: the index splits words at blanks."""
    return _IDEOGRAPH.sub(r" \1 ", text)
