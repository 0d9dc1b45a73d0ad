"""Find what an answer does not admit, and write the lines that say it.

The ledger is right whatever the wording, so the words of an answer are only looked at to leave out a line that it does
not need. When in doubt the line is added: it is true, at worst said twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from treadle._types.acts import LedgerEntry

_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n+")
_CLAUSE = re.compile(r"[,;]|\b(?:but|however|aber|jedoch|doch|pero)\b", re.IGNORECASE)
_NOT = r"(?:\s?not|n[’']t)"  # noqa: RUF001 - the typographic apostrophe is meant
_NOT_MEANT = re.compile(
    rf"\b(?:could|can?){_NOT} (?:be (?:more|\w+er)|agree more|wait|only)\b|\b(?:did|has|have){_NOT} fail\w*"
    r"|\b(?:no|without|ohne|keine?|sin|ning[uú]n|0|zero|none|nothing)(?: \w+)? (?:err|prob|issue|fail|fehl|fallo)\w*"
    r"|\bya no\b(?! (?:es |se |lo |la )?p(?:ud|ued|osible))",
    re.IGNORECASE,
)
"""Denials that admit nothing: "I couldn't be happier", "without any problem"; "ya no": it ceased."""
_FAILURE = re.compile(
    rf"\b(?:could|can?){_NOT}\b|{_NOT} (?:able|possible|allowed|done|work|go through|succeed|sure|certain)\b"
    r"|\b(?:unable|impossible|unknown|uncertain|unclear|gave up|no longer possible)\b"
    r"|\b(?:fail|error|unsuccess|refus|declin|deni[ae]|deny|reject)\w*"
    r"|\b(?:k[aoö]nn|lässt|ließ|geht|ging|darf|d[uü]rf|gel[aiu]ng|klapp|funktionier|hat|hab)\w*(?: \S+){0,8}? nicht\b"
    r"|\b(?:wurde|ist|sind|war)\w*(?: \S+){0,8}? nicht\b(?! mehr)|\bkeine (?:m[öo]glichkeit|erlaubnis|berechtigung)"
    r"|\bnicht(?: \S+){0,5} (?:k[oö]nn|m[öo]glich|erlaubt|geklappt|gelungen|w[oe]rden|wurde|durch)\w*"
    r"|\b(?:unklar|unbekannt|fehl|lehnte?n?)\b"
    r"|\b(?:fehl(?:ge)?schl[aä]g|scheiter|gescheitert|abgelehnt|abgewiesen|verweiger)\w*"
    r"|\bno (?:(?:se|lo|la|le|me|les|te) )*(?:fue|es|ha[ns]?|he|hemos|(?:pud|pued|est|logr|consegu)\w+)\b"
    r"|\bfall(?:o|ó|a|an|aron)\b|\b(?:rechaz|deneg|denieg|desconocid)\w+|\bimposible\b",
    re.IGNORECASE,
)  # fmt: skip
"""That something was not done, in English, German and Spanish."""
_NEGATION = re.compile(rf"\b(?:was|were|is|are|has|have|had|been|did|do|does){_NOT}\b|\bnot been\b", re.IGNORECASE)
"""The same only beside the name of the deed: "was not refunded", and not "was not charged again"."""
_REGRET = re.compile(
    r"\b(?:unfortunately|sadly|regrettably|sorry|afraid|unchanged|problem|trouble|leider|unverändert|schwierigkeit"
    r"|lamentablemente|desgraciadamente|desgracia|problema)\b|\b(?:apolog|regret|bedauer|lament|disculp)\w*"
    r"|\btut mir leid\b|\blo siento\b",
    re.IGNORECASE,
)
"""What comes with bad news, whatever it is."""
DENYING = """
no not never none neither nor without cannot nobody nothing nowhere
nicht kein keine keinen keinem keiner keines nie niemals niemand nichts weder ohne
nunca jamás nadie ningún ninguno ninguna tampoco nada sin ni
"""
HEDGING = """
if unless would could might may should will expect expected expects plan plans planned forecast forecasts
likely probably perhaps possibly alleged allegedly reportedly claims claimed hopes hoped
wenn falls sofern wird würde würden könnte könnten dürfte dürften soll sollen sollte vielleicht wahrscheinlich
voraussichtlich vermutlich angeblich erwartet erwarten hofft
si quizá quizás podría podrían debería probablemente posiblemente supuestamente espera esperan prevé prevén
"""
_DENYING, _HEDGING = frozenset(DENYING.split()), frozenset(HEDGING.split())
_WORD = re.compile(r"[^\W_]+")


def hidden(entries: Sequence[LedgerEntry], answer: str) -> list[LedgerEntry]:
    """Find the calls that were not done, were not made up for later, and are not admitted by the answer."""
    if all(entry.state == "done" for entry in entries):
        return []
    open_ones = [entry for number, entry in enumerate(entries) if _is_open(number, entries, answer)]
    return [entry for entry in open_ones if not admits(answer, entry, alone=len(open_ones) == 1)]


def with_lines(answer: str, entries: Iterable[LedgerEntry]) -> str:
    """The answer, and below it a line for each of these."""
    lines = [entry.line for entry in entries if entry.line not in answer]
    return "\n\n".join((answer.rstrip(), "\n".join(lines))).strip() if lines else answer


def told_in(answer: str, entries: Iterable[LedgerEntry]) -> bool:
    """Return whether a line of the ledger was added to the answer."""
    return any(entry.state != "done" and entry.line in answer for entry in entries)


def objection(entries: Iterable[LedgerEntry]) -> str:
    """Write the message to a model whose answer hides something."""
    lines = "\n".join(f"- {entry.line[1:-1]}" for entry in entries)
    return (
        f"Your answer does not say that this was not done, or that its outcome is unknown:\n{lines}\n\n"
        "Do it now if you can. Otherwise write the whole answer again, and say plainly what was not done and why."
    )


def _is_open(number: int, entries: Sequence[LedgerEntry], answer: str) -> bool:
    """Return whether a call did not succeed, and nothing made up for it."""
    entry = entries[number]
    if entry.state == "done":
        return False
    done = [(place, other) for place, other in enumerate(entries) if other.state == "done"]
    if any((other.tool, other.key) == (entry.tool, entry.key) for _, other in done):
        return False  # the same call, before or after it
    if entry.declared:
        return not any(_makes_up_for(entry, other) for place, other in done if place > number)
    # It may have been a mere question; but what the answer speaks of was not done.
    values = _identifiers(entry) - {value for _, other in done for value in _identifiers(other)}
    return not values.isdisjoint(word.casefold() for word in _WORD.findall(answer))


def _makes_up_for(entry: LedgerEntry, later: LedgerEntry) -> bool:
    if entry.tool != later.tool:
        return False
    return not entry.key or (entry.identified and entry.args == later.args)


def _identifiers(entry: LedgerEntry) -> set[str]:
    """The values with a digit in them: those that a sentence names on purpose."""
    words = (word for value in entry.args.values() for word in _WORD.findall(str(value)))
    return {word.casefold() for word in words if len(word) > 1 and any(char.isdigit() for char in word)}


def admits(answer: str, entry: LedgerEntry, *, alone: bool) -> bool:
    """Return whether a sentence says that this was not done, and none that it was. `alone`: it is the only thing that
    was not done, so that a sentence need not name it."""
    admitted = claimed = False
    for sentence in _SENTENCE.split(answer):
        clauses = _CLAUSE.split(_NOT_MEANT.sub(" ", sentence))
        doing = [place for place, clause in enumerate(clauses) if names_deed(clause, entry)]
        denying = [
            place
            for place, clause in enumerate(clauses)
            if _FAILURE.search(clause) or (place in doing and _NEGATION.search(clause))
        ]
        naming = any(_names(clause, entry) for clause in clauses)
        if not denying:
            claimed = claimed or bool(doing and not sentence.rstrip().endswith("?"))
            admitted = admitted and not (doing and naming)
        elif max((*doing, -1)) <= max(denying):
            admitted = admitted or bool(naming or doing or (alone and not claimed))
    return admitted


def denies(sentence: str) -> bool:
    """Return whether a sentence says that something was not done."""
    plain = _NOT_MEANT.sub(" ", sentence)
    return bool(_FAILURE.search(plain) or _NEGATION.search(plain))


def regrets(sentence: str) -> bool:
    """Return whether a sentence may admit something in words of its own: it regrets, or has a word that denies."""
    plain = _NOT_MEANT.sub(" ", sentence)
    return _REGRET.search(plain) is not None or not _DENYING.isdisjoint(_WORD.findall(plain.casefold()))


def hedges(sentence: str) -> bool:
    """Return whether a sentence states a condition, a plan or a forecast."""
    return not _HEDGING.isdisjoint(_WORD.findall(sentence.casefold()))


def _names(clause: str, entry: LedgerEntry) -> bool:
    """Return whether a clause has one of the identifying values."""
    words = {word.casefold() for word in _WORD.findall(clause)}
    values = (_WORD.findall(str(value)) for value in entry.args.values() if not isinstance(value, bool))
    return any(parts and all(part.casefold() in words for part in parts) for parts in values)


def names_deed(clause: str, entry: LedgerEntry) -> bool:
    """Return whether a clause has a word of the tool's name that is not one of what it is done to: `refund_order` is
    named by "refunded", and not by "order"."""
    objects = {word.casefold() for name in entry.args for word in _WORD.findall(name.replace("_", " "))}
    names = (word.casefold() for word in _WORD.findall(entry.tool.replace("_", " ")))
    stems = [word[:6] for word in names if len(word) > 3 and word not in objects]
    return any(word.casefold().startswith(stem) for word in _WORD.findall(clause) for stem in stems)
