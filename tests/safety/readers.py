"""Every reader that is written by hand and gets text from outside, each with texts that its kind of reader is slow
for. A pattern needs no entry: all of them are found in the source (`growth.patterns_in`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from treadle._cli.display.text import clean, wrapped
from treadle._config.scope import parsed, references_in
from treadle._dialects.reading.extract import extract_json
from treadle._dialects.reading.thinking import split_thinking
from treadle._dialects.registry import get_dialect
from treadle._dialects.watching.answers import answer_watcher
from treadle._engine.acting.user_words import UserWords
from treadle._engine.answering.partial import closed
from treadle._engine.core.answer_stream import AnswerStream
from treadle._engine.core.log import Log
from treadle._engine.receipts.admission import denies, hidden
from treadle._engine.receipts.values import values_in
from treadle._inspect.why.pieces import pieces
from treadle._journal.texts import storable
from treadle._local.guards.numbers_and_ids import ids, numbers, unsourced_operand
from treadle._local.runtime.endless import is_endless
from treadle._models.transport.failures import Origin, error_for_status
from treadle._models.transport.sse import SSEParser
from treadle._plugins.evidence.support import support_of
from treadle._plugins.evidence.words import sentences, words_of
from treadle._plugins.memory.citations import chunks_in, repair_citations
from treadle._record.framing import Head
from treadle._safety.data import decode_json, decode_toml, decode_yaml
from treadle._safety.hidden import hidden_text
from treadle._safety.logs import process_redactor
from treadle._safety.personal.kinds import Finder
from treadle._safety.redact import Redactor
from treadle._safety.stream import StreamRedactor
from treadle._server.protocols.endings import without_addresses
from treadle._tools.builtin.knowledge.documents import split
from treadle._tools.builtin.reading.html import read_html
from treadle._tools.docstring import parse_docstring
from treadle._tools.results import render
from treadle._tools.skills.front_matter import parse
from treadle._types.acts import LedgerEntry
from treadle._types.errors import TreadleError
from treadle._types.ledger import says_failed
from treadle._types.request import Reply, ToolSchema

DIALECTS = ("native", "json", "action", "array", "code")
"""The others read with the same readers."""
UNITS = ("\n", " ", "a", "{", "[", '"', "<", "```\n", "a(", "<think>", "</think>", "\\", "- ", '{"a":', "Action:", "[[",
         "search(", "<m>{}</m>")  # fmt: skip
"""What replies are made of, again and again."""
WORDS = ("a", "7 ", "1,", "a. ", "not ", "[ID:1] ", "2024-01-01 ", "a@b.c ", "$1 ", "\n")
"""What answers, questions and results are made of."""
MARKUP = ("<a>", "<", "&#", "<a ", "</a>", "<!--")
TOOLS = (ToolSchema("search", "Find it.", {"type": "object", "properties": {"q": {"type": "string"}}}),)

FAILED = LedgerEntry("c", "pay", "failed", {"to": "bob"}, declared=True)


def repeated(unit: str, before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda size: before + unit * (size // len(unit)) + after


def texts(*units: str) -> list[Callable[[int], str]]:
    return [repeated(unit) for unit in units]


def refusing(read: Callable[[Any], object]) -> Callable[[Any], object]:
    """The reader, which may also refuse what it gets."""

    def one(text: Any) -> None:
        with suppress(TreadleError, ValueError):
            read(text)

    return one


def decode(name: str, text: str) -> object:
    return get_dialect(name).decode(Reply(text), TOOLS)


def watch(name: str, text: str) -> None:
    watcher = answer_watcher(get_dialect(name))
    for begin in range(0, len(text), 20):
        watcher.feed(text[begin : begin + 20])


def shown(text: str) -> None:
    log = Log("run")
    log.subscribe(lambda record: None)
    stream = AnswerStream(log)
    for begin in range(0, len(text), 20):
        stream.add(text[begin : begin + 20])


def without_secrets(text: str) -> None:
    stream = StreamRedactor(Redactor())
    for begin in range(0, len(text), 20):
        stream.feed(text[begin : begin + 20])


def skill(text: str) -> object:
    return parse(f'---\nname: a\ndescription: b\nallowed-tools: "{text}"\n---\nbody\n')


def headers(count: int) -> Head:
    return Head(b"HTTP/1.1 200 OK", tuple(b"x-%d: y" % number for number in range(count // 10)))


def provider_error(text: str) -> object:
    body = json.dumps({"error": {"message": text}}).encode()
    return error_for_status(Origin("x", "http://x"), 429, {"retry-after": text, "x-ratelimit-reset-tokens": text}, body)


def call_of(text: str) -> bool:
    words = UserWords([text])
    return words.name_act("pay_now") and words.contain_call({"to": "abc def", "amount": 7, "on": "2024-01-01"}, {})


READERS: dict[str, tuple[Callable[[Any], object], list[Callable[[int], Any]]]] = {
    **{
        f"a reply in the dialect {name}": (partial(decode, name), [
            *texts(*UNITS), repeated("\n", "```python\nprint(1)\n```\n", "```python\nprint(2)\n```\n"),
        ])
        for name in DIALECTS
    },
    **{
        f"a reply that is shown while it comes, {name}": (partial(watch, name), [
            *texts("**", " ", "`", "- ", "observation x"), repeated("\\n", '{"type":"final_answer","answer":"'),
        ])
        for name in ("native", "json", "action", "code")
    },
    "an answer that is shown while it comes": (shown, [*texts("\n", "a "), repeated("\n", "a")]),
    "a reply without its thoughts": (split_thinking, texts(*UNITS)),
    "a typed answer that is shown while it comes": (closed, [
        repeated(unit, '{"a":') for unit in ("[", '{"a":', '"', "1,", "\\")
    ]),
    "JSON anywhere in a text": (refusing(extract_json), texts(*UNITS)),
    "files and bodies in JSON": (refusing(decode_json), texts("[", '{"a":', '"', "1", " ")),
    "documents in YAML": (refusing(decode_yaml), texts("a: ", "- ", "[", "&a ", "\n", '"')),
    "settings in TOML": (refusing(decode_toml), texts("[", "a=1\n", '"')),
    "the front matter of a skill": (refusing(skill), texts("a(", "a ", "(", "-")),
    "the headers of a recorded response": (lambda head: head.headers(), [headers]),
    "an event stream": (lambda data: SSEParser().feed(data), [
        lambda size: b"data: x\n" * (size // 8), lambda size: b"\n" * size, lambda size: b"data:" * (size // 5),
    ]),
    "the error of a provider": (provider_error, texts("0", "1m", "try again in 0", " ", "a")),
    "the result of a tool": (lambda text: render(text, (), 1_000), texts("é", "a", "\ud83d")),
    "whether a result says that it failed": (says_failed, [*texts("Error", " "), repeated('{"a":', "{")]),
    "a web page": (lambda text: read_html(text, "http://x/"), texts(*MARKUP)),
    "a document of a knowledge base": (lambda text: split(text, 500, 50), texts("\n", "a ", ". ", "a", "#")),
    "chunks of a retrieval": (chunks_in, texts("[", '{"a":', "\n")),
    "citations of an answer": (lambda text: repair_citations(text, {1}, 4), texts("[ID:1] ", "[ID:9]", "[ID:", "a. ")),
    "sentences of an answer": (sentences, texts(*WORDS)),
    "words of an answer": (words_of, texts(*WORDS)),
    "whether a passage has a sentence": (lambda text: support_of("It is long.", [("it", text)]), texts("7 ", "a. ")),
    "whether an answer denies": (denies, texts("not ", "could not ", "a")),
    "whether an answer admits": (lambda text: hidden([FAILED], text), texts("not ", "could not pay. ", "a", "\n", ",")),
    "values of a result": (values_in, texts("1,", "2024-01-01 ", "a", "[1,")),
    "words of a user, for a call": (call_of, texts("1,", "a ", "pay 7 ", "10:00 ")),
    "numbers and ids, for a small model": (lambda text: (ids(text), numbers(text), unsourced_operand(text, ["5"])),
                                           texts("a1-", "1.", "7+", "A ")),
    "a reply without an end": (is_endless, texts("a", "ab ", "\n")),
    "secrets in a text": (process_redactor.text, texts("a", "sk-", "=", "://", "key=", "@", "eyJ", "-----BEGIN ")),
    "secrets in a stream": (without_secrets, texts("a", "\\n", "sk-a ")),
    "personal data in a text": (Finder().find, texts("7", "7 ", "a@b", "a.b@c.d ", "+4", "DE")),
    "characters that nobody sees": (hidden_text, texts("\u200b", "a", "\U000e0041")),
    "a text that a database cannot hold": (storable, texts("\0", "é\0", "\ufdd0")),
    "a docstring": (parse_docstring, texts("a:\n", "\n", " ", ":param a", "a(", "*")),
    "references in a document": (lambda text: list(references_in(text)), texts("{", "{a@", "{{", "a@b")),
    "a value of a component": (parsed, texts("[", '{"a":', "1,")),
    "addresses in an error": (without_addresses, texts("http://", "/a", "a.", "a-", "1.2.3.4 ", "a:")),
    "pieces of a prompt": (lambda text: pieces(text, 50, clauses=True), texts("a. ", "\n", "a, ", "a")),
    "a text for the terminal": (lambda text: (clean(text), wrapped(text)), texts("\x1b[", "a ", "\n", "a")),
}  # fmt: skip
