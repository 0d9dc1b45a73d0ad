"""Which call did what a sentence says was done: by the values they share, not by verbs.

All ids, amounts and dates of a sentence must belong to one successful call of the run. The user's request, a model's
words and failed calls are no receipts. Without a value nothing is said about a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from treadle._engine.receipts.admission import admits, denies, hedges, names_deed, regrets
from treadle._engine.receipts.values import Values, is_file, is_path, small, texts_in, values_in, values_of
from treadle._engine.receipts.work import TEST_PROGRAMS, Work, work_of
from treadle._types.acts import LedgerEntry
from treadle._types.events import MessageAdded, Record, RunStarted, ToolDone, ToolsChanged, ToolStarted
from treadle._types.ledger import Ledger
from treadle._types.messages import Content, UserMessage, text_of

_WORD = re.compile(r"[\w-]+")
_MAX_TEXT = 2_000


class Receipt(Struct, frozen=True, omit_defaults=True):
    """The verdict of the record on a sentence with ids, amounts or dates in it."""

    outcome: Literal["receipted", "contradicted", "unclear"]
    calls: tuple[str, ...] = ()
    """The ids of the calls that did it; of a contradiction, those that speak against it."""
    why: str = ""


class _Deed(Struct, frozen=True):
    entry: LedgerEntry
    values: Values
    arguments: Values
    """The values of its arguments alone, and the files it changed."""
    fields: Mapping[str, frozenset[str]]
    """What each argument says, casefolded; of lists and of JSON inside a text under the name where it stands."""
    options: Mapping[str, frozenset[str]]
    """Of each argument with a declared choice: what could have been chosen."""

    @property
    def texts(self) -> frozenset[str]:
        return frozenset[str]().union(*self.fields.values())


class Deeds:
    """The calls of a run and of those inside it, as what sentences are held against."""

    def __init__(self, logs: Mapping[str, Sequence[Record]]) -> None:
        self.deeds: list[_Deed] = []
        self._read: list[Values] = []
        self._known: set[str] = set()
        """The ids in what was read so far: a result that has them too does not say that they were acted on."""
        self._heard: set[str] = set()
        """The ids in what the user said: no receipt, but not made up by the model either."""
        self._works: list[Work] = []
        self._verbs: dict[str, tuple[str, ...]] = {}
        """The tools that act, with the words they declare for what they do."""
        for records in logs.values():
            self._add(records, logs)

    def _add(self, records: Sequence[Record], logs: Mapping[str, Sequence[Record]]) -> None:
        ledger = Ledger()
        args: dict[str, dict[str, Any]] = {}
        schemas: dict[str, Mapping[str, Any]] = {}
        work = work_of(records)
        self._works += [work] if work.opened else []
        for record in records:
            event = record.event
            for message in _said(event):
                self._heard |= values_of(text_of(message)).ids
            if isinstance(event, RunStarted | ToolsChanged):
                schemas |= {tool.name: tool.parameters for tool in event.tools}
            if isinstance(event, RunStarted):
                self._verbs |= event.acting
            elif isinstance(event, ToolStarted):
                args[event.call.id] = event.call.args
            elif isinstance(event, ToolDone):
                ledger.on_tool_done(event, record)
                made = args.get(event.call_id, event.act.args if event.act is not None else {})
                text = event.full if event.full is not None else text_of(event.content)
                entry = ledger.calls.get(event.call_id)
                if entry is not None:
                    fields = {name: frozenset(map(_plain, texts)) for name, texts in texts_in(made).items()}
                    result = values_in(text)
                    result = msgspec.structs.replace(result, ids=result.ids - self._known)
                    paths = frozenset(path for path, call in work.paths.items() if call == event.call_id)
                    arguments = _joined(values_in(made), Values(paths))
                    options = _options(schemas.get(event.name, {}))
                    self.deeds.append(_Deed(entry, _joined(arguments, result), arguments, fields, options))
                elif not event.error and f"{record.run}.{event.call_id}" not in logs:
                    self._read.append(_joined(values_in(made), values_in(text)))
                    self._known |= self._read[-1].ids

    @property
    def lines(self) -> set[str]:
        """The lines of the ledger that an answer may have been given."""
        return {deed.entry.line for deed in self.deeds if deed.entry.state != "done"}

    def receipt(self, sentence: str) -> Receipt | None:
        """The receipt of a sentence; None when it says nothing was done, or names nothing that could be looked up."""
        if not (self.deeds or self._verbs) or sentence.rstrip().endswith("?"):
            return None
        denied = denies(sentence)
        for work in () if denied else self._works:
            if (receipt := _of_tests(work, sentence)) is not None:
                return receipt
        values = self._values_of(sentence)
        receipt = self._of_values(sentence, values) if values else None
        if receipt is not None and self._works:
            receipt = self._of_files(values, receipt)
        if receipt is None or not denied:
            return receipt
        if not self._denies_a_deed(sentence, values):
            return None
        return Receipt("unclear", receipt.calls, receipt.why or "it denies something")

    def _denies_a_deed(self, sentence: str, values: Values) -> bool:
        """Return whether a sentence that denies something is about a call, and does not admit that it was not done."""
        touched = [deed for deed in self.deeds if self._touches(deed, values)]
        return bool(touched) and not any(admits(sentence, one.entry, alone=False) for one in self._undone(touched))

    def _of_files(self, values: Values, receipt: Receipt) -> Receipt:
        """The receipt of a sentence on files of a folder whose trees are in the log: these say what has changed."""
        changed = {path: call for work in self._works for path, call in work.paths.items()}
        files = {
            one: [call for path, call in changed.items() if is_path(one, path)] for one in values.ids if is_file(one)
        }
        loose = [one for one, calls in files.items() if not calls]
        if loose and receipt.outcome == "receipted" and all(work.complete for work in self._works):
            return Receipt("unclear", receipt.calls, f"{min(loose)} was not changed")
        if files and not loose and values.ids <= files.keys() and not values.dates and all(map(small, values.spoken)):
            return Receipt("receipted", tuple(dict.fromkeys(calls[-1] for calls in files.values())))
        return receipt

    def _of_values(self, sentence: str, values: Values) -> Receipt | None:
        plain = f" {_plain(sentence)} "
        done = [deed for deed in self.deeds if deed.entry.state == "done"]
        undone = [deed for deed in self._undone(self.deeds) if self._touches(deed, values)]
        if undone and regrets(sentence):
            return Receipt("unclear", (undone[-1].entry.call_id,), undone[-1].entry.line[1:-1])
        whole = [deed for deed in done if self._holds(deed, deed.values, values)]
        if whole:
            receipts = [self._judged(deed, sentence, values) for deed in whole]
            receipt = next((one for one in receipts if one.outcome == "receipted"), receipts[0])
            named = frozenset(_named(whole[0].texts, plain))
            rivals = [one for one in undone if self._holds(one, one.arguments, values) and named <= one.texts]
            if rivals and receipt.outcome == "receipted":
                return Receipt(
                    "unclear", receipt.calls, f"it may speak of what was not done: {rivals[-1].entry.line[1:-1]}"
                )
            return receipt
        touched = [deed for deed in done if self._touches(deed, values)]
        if undone and not touched:
            outcome = "contradicted" if self._says_more(undone[-1], sentence, values) else "unclear"
            return Receipt(outcome, (undone[-1].entry.call_id,), undone[-1].entry.line[1:-1])
        return self._of_several(values, touched) if touched else self._of_none(sentence, values)

    def _undone(self, among: Sequence[_Deed]) -> list[_Deed]:
        """The calls among these that were not done, and for which no other call of the same makes up."""
        same = {(deed.entry.tool, deed.entry.key) for deed in self.deeds if deed.entry.state == "done"}
        return [d for d in among if d.entry.state != "done" and (d.entry.tool, d.entry.key) not in same]

    def _says_more(self, deed: _Deed, sentence: str, values: Values) -> bool:
        """Return whether a sentence says something of a call beside what it was about: another value or text of it, or
        a word for what it does. "4711 stays open" does not."""
        own = deed.values
        count = sum(map(own.has_id, values.ids)) + sum(map(own.has_date, values.dates))
        count += sum(not small(one) and not {f"{n:f}" for n in one} & values.ids for one in values.spoken)
        plain = f" {_plain(sentence)} "
        for one in values.ids:
            plain = plain.replace(f" {_plain(one)} ", " ")
        named = _named(deed.texts, plain)
        verbs = self._verbs.get(deed.entry.tool, ())
        return count > 1 or bool(named) or names_deed(sentence, deed.entry) or any(_says(plain, verb) for verb in verbs)

    def confirms(self, sentence: str, call_id: str) -> bool:
        """Return whether a call was done, and has every id, date and amount of a sentence; a small count may be of
        something else ("within 5 days")."""
        values = self._values_of(sentence)
        for deed in self.deeds:
            if deed.entry.call_id == call_id and deed.entry.state == "done":
                own = deed.values
                return (
                    all(map(own.has_id, values.ids))
                    and all(map(own.has_date, values.dates))
                    and all(small(one) or own.has_number(one) for one in values.spoken)
                )
        return False

    def _values_of(self, sentence: str) -> Values:
        """The values of a sentence. A small number is an id where a tool declares that such an argument identifies."""
        values = values_of(sentence)
        declared = {str(value) for deed in self.deeds if deed.entry.identified for value in deed.entry.args.values()}
        named = {f"{value:f}" for one in values.spoken if small(one) for value in one} & declared
        return msgspec.structs.replace(values, ids=values.ids | named) if named else values

    def _holds(self, deed: _Deed, own: Values, values: Values) -> bool:
        """Return whether a call has every value among these of its own."""
        return (
            self._touches(deed, values)
            and all(own.has_id(one) for one in values.ids)
            and all(own.has_date(one) for one in values.dates)
            and all(own.has_number(one) for one in values.spoken)
        )

    @staticmethod
    def _touches(deed: _Deed, values: Values) -> bool:
        """Return whether a call is about what a sentence names: one of its ids, or where it has none, another value."""
        own = deed.values
        if values.ids:
            return any(own.has_id(one) for one in values.ids)
        if values.dates:
            return any(own.has_date(one) for one in values.dates)
        return any(own.has_number(one) for one in values.spoken if not small(one))

    def _judged(self, deed: _Deed, sentence: str, values: Values) -> Receipt:
        """The receipt from a call with all ids, amounts and dates of a sentence; not where the sentence names
        another choice of an argument, what only other calls were made for, or a declared word for another deed."""
        plain = f" {_plain(sentence)} "
        calls = (deed.entry.call_id,)
        for name, options in deed.options.items():
            own, named = deed.fields.get(name, frozenset[str]()), _named(options, plain)
            if own and named and not own & named:
                return Receipt("contradicted", calls, f"{name} was {min(own)}, not {min(named)}")
        holders: dict[str, list[_Deed]] = {}
        for one in self.deeds:
            for text in one.texts:
                holders.setdefault(text, []).append(one)
        for text in _named(holders, plain):
            about = [one for one in holders[text] if self._touches(one, values)]
            if any(one.entry.state == "done" for one in about):
                continue
            if about:
                return Receipt("contradicted", (about[-1].entry.call_id,), about[-1].entry.line[1:-1])
            alike = any(one.entry.tool == deed.entry.tool for one in holders[text])
            return Receipt("contradicted" if alike else "unclear", calls, f"{text} is of another call")
        if unknown := _unknown_name(sentence, deed):
            return Receipt("unclear", calls, f"{unknown} is not of this call")
        named = [
            tool
            for tool, verbs in self._verbs.items()
            if any(_says(plain, verb) and not _says(f" {_plain(deed.entry.tool)} ", verb) for verb in verbs)
        ]
        if named and self._verbs.get(deed.entry.tool) and deed.entry.tool not in named:
            outcome = "unclear" if self._says_more(deed, sentence, values) else "contradicted"
            return Receipt(outcome, calls, f"what was done is {deed.entry.tool}, not {named[0]}")
        return Receipt("receipted", calls)

    def _of_several(self, values: Values, touched: Sequence[_Deed]) -> Receipt:
        """A sentence about several calls, or one that mixes them up."""
        calls = tuple(deed.entry.call_id for deed in touched)
        missing = [one for one in values.ids if not any(deed.values.has_id(one) for deed in touched)]
        failed = [deed for deed in self.deeds if deed.entry.state != "done" and any(map(deed.values.has_id, missing))]
        if failed:
            return Receipt("contradicted", (failed[-1].entry.call_id,), failed[-1].entry.line[1:-1])
        if missing:
            return Receipt("unclear", calls, f"{missing[0]} is in no call that was done")
        checks: list[tuple[str, Callable[[Values], bool]]] = [
            (str(min(one)), partial(Values.has_number, readings=one)) for one in values.spoken if not small(one)
        ]
        checks += [("-".join(map(str, one)), partial(Values.has_date, wanted=one)) for one in values.dates]
        for shown, has in checks:
            if any(has(deed.values) for deed in touched):
                continue
            elsewhere = any(has(deed.values) for deed in self.deeds)
            return Receipt("contradicted" if elsewhere else "unclear", calls, f"{shown} is not of this call")
        if not checks and _list_the_same(values.ids, touched):
            return Receipt("receipted", calls)
        counted = any(small(one) and not any(deed.values.has_number(one) for deed in touched) for one in values.spoken)
        return Receipt("unclear", calls, "a count is in no call" if counted else "its values are of several calls")

    def _of_none(self, sentence: str, values: Values) -> Receipt | None:
        if not values.ids:
            named = bool(values.dates) or not all(map(small, values.spoken))
            return Receipt("unclear", (), "no call that was done has its values") if named else None
        shown = min(values.ids)
        heard = values.ids <= self._heard and not any(names_deed(sentence, deed.entry) for deed in self.deeds)
        if not self.deeds or heard or any(read.has_id(one) for read in self._read for one in values.ids):
            return Receipt("unclear", (), f"no call that acts was made for {shown}")
        return Receipt("contradicted", (), f"no call of this run has {shown}")


def _list_the_same(ids: frozenset[str], touched: Sequence[_Deed]) -> bool:
    """Return whether ids are those of several calls for one argument ("orders 1 and 2"), and all others are of each of
    these: an order of one call with the card of another was not done."""
    for name in {name for deed in touched for name in deed.fields}:
        listed = {one for one in ids if any(_plain(one) in deed.fields.get(name, ()) for deed in touched)}
        calls = [deed for deed in touched if any(_plain(one) in deed.fields.get(name, ()) for one in listed)]
        if len(listed) > 1 and all(deed.values.has_id(one) for deed in calls for one in ids - listed):
            return True
    return False


def _said(event: object) -> list[Content]:
    """The words of the user in a record."""
    if isinstance(event, RunStarted):
        return [event.question, *(one.content for one in event.history if isinstance(one, UserMessage))]
    if isinstance(event, MessageAdded) and isinstance(event.message, UserMessage):
        return [event.message.content]
    return []


_TESTS = re.compile(
    r"\b(?:unit|smoke|regressions?|integrations?)?-?test(?!a|i[fm])\w*|\b(?:suite|specs?|pruebas?)\b", re.I
)
_PASSED = re.compile(
    r"\b(?:pass(?:e[sd]|ing)?|green|clean(?:ly)?|fine|ok|succe\w+|bestand\w*|besteh\w*|grün\w*|durch\w*|erfolg\w*"
    r"|fehlerfrei|pasa\w*|super\w+|verdes?|éxito\w*|correct\w+)\b",
    re.IGNORECASE,
)


def _of_tests(work: Work, sentence: str) -> Receipt | None:
    """The receipt of a sentence on tests: they must have run, and passed, after the last change."""
    plain = " ".join(word for word in sentence.split() if not is_file(word.strip("`'\".,:;()*_").casefold()))
    spoken = _TESTS.search(plain) or TEST_PROGRAMS.search(plain)
    passed = _PASSED.search(plain) and (spoken or _TESTS.search(sentence))
    calls, good = (work.test,) if work.test else (), work.passed and work.tested_after
    if passed and good:
        numbers = values_of(work.output)
        held = all(map(numbers.has_number, values_of(sentence).spoken))
        return Receipt("receipted", calls) if held else Receipt("unclear", calls, "the tests say another number")
    if good or not (passed or (spoken and plain == " ".join(sentence.split()))):
        return None
    against = passed and (work.changed or work.test) and not hedges(sentence)
    return Receipt("contradicted" if against else "unclear", calls, f"tests: {work.tests}")


_CAPITALS = re.compile(r"(?<=\w )[^\W\d_a-z][^\W\d_]*\b(?: [^\W\d_a-z][^\W\d_]*\b)+")
_PARTS = re.compile(r"[^\W_]+")
_ADDRESSES = re.compile(r"(?:I(?:['’]\w+)?|Sie|Ihr\w*|Usted(?:es)?)")  # noqa: RUF001
"""Words in capitals that name nothing."""


def _unknown_name(sentence: str, deed: _Deed) -> str:
    """A name of several words in a sentence, of which the call has none: "Green Account", "Mia Kim". Empty if none."""
    texts = (*deed.fields, *deed.texts, *deed.values.ids, deed.entry.result, deed.entry.tool)
    own = {word for text in texts for word in _PARTS.findall(text.casefold())}
    for name in _CAPITALS.findall(sentence):
        words = [word for word in _WORD.findall(name) if word[0].isupper() and not _ADDRESSES.fullmatch(word)]
        if len(words) > 1 and any(word.casefold() not in own for word in words):
            return " ".join(words)
    return ""


def _says(plain: str, verb: str) -> bool:
    """Return whether a text has a word that begins so."""
    return f" {_plain(verb)}" in plain


def _joined(one: Values, other: Values) -> Values:
    return Values(one.ids | other.ids, one.numbers | other.numbers, one.dates | other.dates)


def _options(schema: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    options: dict[str, frozenset[str]] = {}
    properties: Mapping[str, Any] = schema.get("properties") or {}
    for name, fields in properties.items():
        choices: Any = cast("Mapping[str, Any]", fields).get("enum") if isinstance(fields, Mapping) else None
        if isinstance(choices, list | tuple):
            options[name] = frozenset(_plain(str(one)) for one in cast("list[Any]", choices))
    return options


def _named(texts: Iterable[str], plain: str) -> set[str]:
    """Which of these a sentence names, each as whole words; of one inside another, the longer."""
    named = {one for one in texts if (len(one) > 3 or one.isupper()) and not one.isdigit() and f" {one} " in plain}
    return {one for one in named if not any(one in longer and one != longer for longer in named)}


def _plain(text: str) -> str:
    """The words of a text, as they are looked for in others; short ones in capitals are codes, and stay as they are."""
    words = _WORD.findall(text[:_MAX_TEXT].replace("_", " "))
    return " ".join(word if len(word) == 3 and word.isupper() else word.casefold() for word in words)
