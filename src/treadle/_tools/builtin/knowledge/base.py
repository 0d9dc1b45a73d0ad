"""A knowledge base in one SQLite file: documents, their chunks, a full-text index, and embedding vectors if any."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from treadle._models.embeddings import Embedder, VectorTable, embedded, fused, packed
from treadle._safety.bounds import Amount, Count, bounded
from treadle._tools.builtin.knowledge.documents import SUFFIXES, Text, load, split
from treadle._types.errors import MissingExtraError, ToolError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents(
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL, title TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS chunks(
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents(id), position INTEGER NOT NULL,
    "start" INTEGER NOT NULL, "end" INTEGER NOT NULL, page INTEGER NOT NULL, heading TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS chunks_of ON chunks(document, position);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(heading, text, tokenize = "porter unicode61 remove_diacritics 2");
CREATE TABLE IF NOT EXISTS vectors(chunk INTEGER PRIMARY KEY, vector BLOB NOT NULL);
"""
_CHUNK = (
    'SELECT c.id, d.name, c.position, c.text, c.heading, c.page, c."start", c."end" '
    "FROM chunks c JOIN documents d ON d.id = c.document"
)
_CANDIDATES = 50
_BATCH = 50
"""How many files are stored in one transaction."""

_IDEOGRAPH = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff])")


class Document(Struct, frozen=True):
    id: int
    name: str
    title: str
    chunks: int
    changed: bool = False
    """Whether it is new or its text has changed."""
    problem: str = ""
    """Why a file of a folder could not be added."""


class Chunk(Struct, frozen=True, omit_defaults=True):
    """A passage of a document. `id` is never reused; `position` is its index among the document's chunks."""

    id: int
    document: str
    position: int
    text: str
    score: float = 0.0
    heading: str = ""
    page: int = 0
    """Counted from 1; 0 for documents without pages."""
    start: int = 0
    end: int = 0


class KnowledgeBase:
    """A searchable set of documents, which threads and processes may share."""

    @bounded
    def __init__(self, path: str | Path, *, chunk_chars: Count = 1_200, overlap: Amount = 200) -> None:
        self.path = Path(path)
        self._chunk_chars = chunk_chars
        self._overlap = overlap
        self._vectors: tuple[tuple[int, ...], VectorTable[int]] | None = None
        """What the file held when the vectors were read."""

    def add(self, source: Path | str | Mapping[str, str], *, name: str = "") -> list[Document]:
        """Add a `Path` (a file or a folder), a text, or many texts by their names at once, which is much faster.

        A document that is stored under the same name already is replaced if its text has changed.
        """
        if isinstance(source, Mapping):
            if name:
                raise ToolError("texts that are given by their names have no other: leave `name` out")
            texts = [(each, Text(each, text)) for each, text in source.items()]
            return [
                document for at in range(0, len(texts), _BATCH) for document in self._store(texts[at : at + _BATCH])
            ]
        if isinstance(source, str):
            digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
            title = name or source.strip().partition("\n")[0].lstrip("# ")[:100]
            return self._store([(name or f"text-{digest[:12]}", Text(title, source))])
        if not source.exists():
            raise ToolError(f"there is no file or folder {source}")
        paths = (
            sorted(path for path in source.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
            if source.is_dir()
            else [source]
        )
        if not paths:
            raise ToolError(f"{source} contains no {', '.join(sorted(SUFFIXES))} files")
        if paths == [source]:
            return self._store([(name or source.as_posix(), load(source))])
        documents: list[Document] = []
        for start in range(0, len(paths), _BATCH):
            documents += self._store([_try_load(path) for path in paths[start : start + _BATCH]])
        return documents

    def remove(self, name: str) -> bool:
        with self._connected() as db:
            return self._drop(db, name)

    def documents(self) -> list[Document]:
        with self._connected() as db:
            rows = db.execute(
                "SELECT d.id, d.name, d.title, (SELECT count(*) FROM chunks c WHERE c.document = d.id) "
                "FROM documents d ORDER BY d.name"
            )
            return [Document(*row) for row in rows]

    def chunk(self, id: int) -> Chunk | None:
        """The chunk with this id, or None. Citations refer to chunks by id."""
        with self._connected() as db:
            return next(iter(self._chunks(db, [(id, 0.0)])), None)

    def search(self, query: str, k: int = 5, *, vector: Sequence[float] | None = None) -> list[Chunk]:
        """The best `k` chunks by BM25, with `vector` also by similarity."""
        with self._connected() as db:
            ranked = self._by_words(db, query, k if vector is None else _CANDIDATES)
            if vector is not None:
                ranked = fused([ranked, self._by_vector(db, vector)])
            return self._chunks(db, ranked[:k])

    async def embed(self, embedder: Embedder, *, batch: int = 64) -> int:
        """Embed the chunks that have no vector yet; returns how many."""
        done = 0
        while True:
            with self._connected() as db:
                todo = db.execute(
                    "SELECT c.id, c.heading, c.text FROM chunks c LEFT JOIN vectors v ON v.chunk = c.id "
                    "WHERE v.chunk IS NULL LIMIT ?",
                    (batch,),
                ).fetchall()
            if not todo:
                return done
            vectors = await embedded(embedder, [f"{heading}\n{text}" if heading else text for _, heading, text in todo])
            with self._connected() as db:
                rows = ((chunk[0], packed(vector), chunk[0]) for chunk, vector in zip(todo, vectors, strict=True))
                db.executemany(
                    "INSERT OR REPLACE INTO vectors SELECT ?, ? WHERE EXISTS (SELECT 1 FROM chunks WHERE id = ?)", rows
                )
            done += len(todo)

    def _store(self, documents: Sequence[tuple[str, Text | str]]) -> list[Document]:
        """Store documents by name in one transaction; a string in place of a text says why it cannot be read."""
        with self._connected() as db:
            return [
                Document(0, name, "", 0, problem=document)
                if isinstance(document, str)
                else self._store_one(db, name, document)
                for name, document in documents
            ]

    def _store_one(self, db: sqlite3.Connection, name: str, document: Text) -> Document:
        digest = hashlib.sha256(
            f"{self._chunk_chars}/{self._overlap}\n{document.text}".encode("utf-8", "surrogatepass")
        ).hexdigest()
        pieces = split(document.text, self._chunk_chars, self._overlap)
        before = db.execute("SELECT id, title FROM documents WHERE name = ? AND digest = ?", (name, digest)).fetchone()
        if before:
            return Document(before[0], name, before[1], len(pieces))
        self._drop(db, name)
        key = db.execute(
            "INSERT INTO documents(name, title, digest) VALUES (?, ?, ?)", (name, document.title, digest)
        ).lastrowid
        for position, piece in enumerate(pieces):
            text = document.text[piece.start : piece.end]
            page = sum(offset <= piece.start for offset in document.pages)
            row = (key, position, piece.start, piece.end, page, piece.heading, text)
            chunk = db.execute(
                'INSERT INTO chunks(document, position, "start", "end", page, heading, text) VALUES (?,?,?,?,?,?,?)',
                row,
            ).lastrowid
            indexed = (chunk, _spaced(f"{document.title} {piece.heading}"), _spaced(text))
            db.execute("INSERT INTO words(rowid, heading, text) VALUES (?, ?, ?)", indexed)
        return Document(key or 0, name, document.title, len(pieces), changed=True)

    def _drop(self, db: sqlite3.Connection, name: str) -> bool:
        row = db.execute("SELECT id FROM documents WHERE name = ?", (name,)).fetchone()
        if not row:
            return False
        for statement in (
            "DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE document = ?)",
            "DELETE FROM vectors WHERE chunk IN (SELECT id FROM chunks WHERE document = ?)",
            "DELETE FROM chunks WHERE document = ?",
            "DELETE FROM documents WHERE id = ?",
        ):
            db.execute(statement, row)
        return True

    def _by_words(self, db: sqlite3.Connection, query: str, k: int) -> list[tuple[int, float]]:
        match = _match_expression(query)
        if not match:
            return []
        ranked = (
            "SELECT rowid, -bm25(words, 2.0, 1.0) AS score FROM words WHERE words MATCH ? ORDER BY score DESC LIMIT ?"
        )
        return db.execute(ranked, (match, k)).fetchall()

    def _by_vector(self, db: sqlite3.Connection, vector: Sequence[float]) -> list[tuple[int, float]]:
        db.execute("SELECT 1 FROM vectors LIMIT 1").fetchone()  # from here on nobody else can change the file
        state = self.path.stat()
        seen = (state.st_mtime_ns, state.st_size, state.st_ino)
        if self._vectors is None or self._vectors[0] != seen:
            self._vectors = seen, VectorTable(db.execute("SELECT chunk, vector FROM vectors"))
        return self._vectors[1].nearest(packed(vector), _CANDIDATES)

    def _chunks(self, db: sqlite3.Connection, ranked: Sequence[tuple[int, float]]) -> list[Chunk]:
        chunks: list[Chunk] = []
        for key, score in ranked:
            for id, name, position, text, heading, page, start, end in db.execute(f"{_CHUNK} WHERE c.id = ?", (key,)):
                chunks.append(Chunk(id, name, position, text, round(score, 4), heading, page, start, end))
        return chunks

    @contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        """A new connection with one transaction."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=10.0)) as db:
                if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'vectors'").fetchone():
                    db.executescript(_SCHEMA)
                with db:
                    yield db
        except (sqlite3.Error, OSError) as error:
            raise ToolError(f"the knowledge base {self.path.name} cannot be used: {error}") from None


def _try_load(path: Path) -> tuple[str, Text | str]:
    try:
        return path.as_posix(), load(path)
    except (ToolError, MissingExtraError, OSError) as error:
        return path.as_posix(), str(error)


def _spaced(text: str) -> str:
    """The text with spaces around ideographs, so that the index takes each for a word."""
    return _IDEOGRAPH.sub(r" \1 ", text)


def _match_expression(query: str) -> str:
    """An FTS5 expression for any of the query's words; ideographs in pairs, since most words have two."""
    terms: dict[str, None] = {}
    for word in re.findall(r"\w+", query)[:64]:
        parts = _spaced(word).split()
        pairs = [f"{a} {b}" for a, b in pairwise(parts) if _IDEOGRAPH.match(a) and _IDEOGRAPH.match(b)]
        single = [part for part in parts if not _IDEOGRAPH.match(part)]
        terms.update(dict.fromkeys(pairs + single or parts))
    return " OR ".join(f'"{term}"' for term in list(terms)[:64])
