"""Find what an answer does not admit, and write the lines that say it.

The ledger is right whatever the wording, so the words of an answer are only looked at to leave out a line that it does
not need. When in doubt the line is added: it is true, at worst said twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from treadle._engine.receipts.values import Values, small, texts_in, values_in, values_of
from treadle._types.acts import LedgerEntry
from treadle._types.dates import replace_dates

_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n+")
_CLAUSE = re.compile(
    r"[,;](?!\d)|(?=:)|\s[-–—]\s"  # noqa: RUF001
    r"|\b(?=(?:but|however|aber|jedoch|doch|pero|because|since|weil|denn|porque|pues|ya que|so|which|who|that|que)\b)"
    r"|\b(?:and|und|y)\b(?= (?:[^\W\d_A-ZÄÖÜ]|I\b|Sie\b|Ihnen\b|Ihr))",
)
_CONTRAST = re.compile(r"\s*(?:but|however|aber|jedoch|doch|pero)\b", re.IGNORECASE)
_CAUSE = re.compile(r"\s*(?::|(?:as|because|since|due to|da|weil|denn|porque|pues|ya que)\b)", re.IGNORECASE)
_RELATIVE = re.compile(
    r"\s*(?:(?:which|who|that|que)\b(?! (?:is why|means))"
    r"|(?:d(?:er|ie|as|en|em)|welche\w*) (?:Sie|Ihnen|ich|wir|nicht|leider|nie)\b)"
)
"""How a clause begins that says what sort of thing is spoken of: "the item, which did not fit, is on its way"."""
_STILL = re.compile(
    r"\b(?:still|remain\w*|stay\w*|keeps?|unchanged|noch|weiterhin|weiter|bleib\w*|blieb\w*|unverändert|sigue\w*"
    r"|permanece\w*|continúa\w*|todavía|aún)\b",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"\b(?:now|finally|eventually|in the end|jetzt|nun|schließlich|inzwischen|doch noch|ahora|finalmente|al final)\b",
    re.IGNORECASE,
)
_NOT = r"(?:\s?not|n[’']t)"  # noqa: RUF001 - the typographic apostrophe is meant
_NEIN = r"(?:nicht|nichts|kein\w*)"
_NOT_MEANT = re.compile(
    rf"\b(?:could|can?){_NOT} (?:be (?:more|\w+er)|agree more|wait|only|find|see|think)\b"
    rf"|\b(?:did|has|have){_NOT} fail\w*"
    r"|\b(?:no|without|ohne|keine?|sin|ning[uú]n|0|zero|none|nothing)(?: \w+)? (?:err|prob|issue|fail|fehl|fallo)\w*"
    r"|\bya no\b(?! (?:es |se |lo |la )?pud)|\bn(?:ot|icht) (?:only|nur)\b",
    re.IGNORECASE,
)
"""Denials that admit nothing: "I couldn't be happier", "without any problem"; "ya no": it ceased."""
_COULD_NOT = re.compile(
    rf"\bcould{_NOT}\b|\b(?:I|we)(?: \w+)? can?{_NOT}\b|\bunable\b|{_NOT} (?:able|allowed|permitted|authori[sz]ed)\b"
    rf"|\bw(?:as|ere){_NOT} possible\b|{_NOT} (?:allow|permit|let) (?:me|us)\b"
    rf"|\bdid{_NOT} (?:work|succeed|happen|go through|take place)\b"
    rf"|\b(?:konnte|durfte|ließ|gelang)\w*\b.*\b{_NEIN}\b|\b{_NEIN}\b.*\b(?:konnte|durfte|ließ)\w*\b"
    rf"|^(?=.*\b(?:ich|wir)\b)(?=.*\b(?:kann|können|darf|dürfen)\b)(?=.*\b{_NEIN}\b)"
    r"|\bnicht (?:geklappt|funktioniert|gelungen|zustande)\b|\bwar(?:en)?\b.*\bnicht(?: mehr)? (?:möglich|zu)\b"
    r"|\bno (?:(?:se|lo|la|me|nos|les?|he|ha|hemos|han) )*"
    r"(?:pud\w+|podido|logr[éóa]\w*|consegu\w+|(?:fue|sido) posible)\b"
    r"|\bno (?:puedo|podemos|est(?:oy|amos) autoriz\w+)\b"
    r"|\bno (?:me|nos) (?:es|fue|está|han?|permit\w+|dej\w+|autoriz\w+)\b",
    re.IGNORECASE,
)
"""That it was not possible, then or for who writes; "it can't be used" may be what was done to it."""
_FAILED = re.compile(
    r"(?<!\bthe )(?<!\ba )(?<!\byour )(?<!\bthis )(?<!\bthat )"
    r"\b(?:failed|errored|refused|declined|denied|rejected|unsuccessful)\b"
    r"|\b(?:had|have|must)(?: to)? (?:refuse|decline|deny|reject)\b|\b(?:into|in|due to) an (?:\w+ )?error\b"
    r"|\b(?:fehlgeschlagen|gescheitert|scheiterte\w*|misslungen|misslang|abgelehnt|abgewiesen|verweigert)\b"
    r"|\bschlug\w*\b.*\bfehl\b|\blehnte\w*\b.*\bab\b|\b(?:ablehnen|verweigern|abbrechen)\b"
    r"|\bauf einen (?:\w+ )?Fehler\b"
    r"|\b(?:fue|fueron|sido|quedó|resultó|está|es)(?: \w+)? (?:rechaz|deneg|fallid)\w+"
    r"|\b(?:rechaz(?:ó|a|aron)|deneg(?:ó|aron|ar)|deniega|rechazar|fall(?:ó|aron)|fracasó)\b"
    r"|\b(?:hubo un|dio|dando)(?: \w+)? (?:error|fallo)\b",
    re.IGNORECASE,
)
"""That it failed; "the declined payment" is a thing."""
_WAS_NOT = re.compile(
    rf"\b(?:was|were|is|are|has|have|had|did){_NOT}\b|\bnot been\b|\bnever (?:was|got|made|went)\b"
    r"|\bn(?:o(?: \w+){1,4}|othing(?: (?!left|else|more|further|to\b)\w+){0,3}) (?:was|were|has|have|had)\b"
    rf"|\b(?:wurden?|hat|haben?|war|waren)\b.*\b{_NEIN}\b|\b{_NEIN}\b.*\b(?:wurden?|hat|haben?|war|waren|worden)\b"
    r"|\b(?:ist|sind)\b.*\bnichts?\b|\bkein\w*\b.*\bgekommen\b"
    r"|\bno (?:(?:se|lo|la|me|nos) )*"
    r"(?:fue|fueron|ha|han|he|hemos|\w+(?:ó|aron|ieron|(?<!r)é)|est[áa]n? \w+[ai]d[oa]s?)\b",
    re.IGNORECASE,
)
"""That something did not happen, which may be something else: "you were not charged"."""
_ELSE = re.compile(
    r"\b(?:mehr|any ?more|any longer|again|twice|erneut|nochmals?|noch einmal|doppelt|otra vez|de nuevo|nötig"
    r"|notwendig|erforderlich|möglich|possible|necessary|needed|zu \w+en|weitere?|further|arriv\w*|angekommen|llegó)\b"
    r"|\b(?:fee|charg|cost|gebühr|kost|berechn|comisi|cobr|coste|cargo)\w*",
    re.IGNORECASE,
)
"""Of what else it is denied: a state that ended, a repetition, a need, a cost."""
_ADDRESSED = re.compile(r"\b[Yy]ou\b|\bSie\b|\bIhnen\b|\b[Uu]sted(?:es)?\b|(?i:\b(?:nobody|no one|niemand\w*|nadie)\b)")
_SPEAKER = re.compile(r"\b(?:I|we|me|us|ich|wir|mir|uns|me|nos)\b|\b(?:pude|puedo|logré|conseguí)\b", re.IGNORECASE)
_SADLY = re.compile(
    r"\b(?:unfortunately|sadly|regrettably|afraid|lamentablemente|desgraciadamente|por desgracia"
    r"|leider(?! \w+e[nrsm]?\b))\b,?",
    re.IGNORECASE,
)
_REGRET = re.compile(
    r"\b(?:unfortunately|sadly|regrettably|sorry|afraid|unchanged|problem|trouble|leider|unverändert|schwierigkeit"
    r"|lamentablemente|desgraciadamente|desgracia|problema|imposible|impossible|unable|unclear|unknown|unklar|unbekannt"
    r"|because|since|weil|denn|porque|pues|due to|too late|zu spät|tarde|pending|pendientes?|offen|awaiting)\b"
    r"|\b(?:apolog|regret|bedauer|lament|disculp|fail|err[oóe]|refus|declin|deni[ae]|deny|reject|unsuccess|bounce|block"
    r"|fehl|miss[gl]|scheiter|gescheitert|ablehn|abgelehn|abgewies|verweiger|geplatz|gestopp|stopp|häng|fall[oóa]"
    r"|rechaz|deneg|denieg|desconocid|bloque|devuelt|venci|agotad)\w*"
    r"|\btut mir leid\b|\blo siento\b|n[’']t\b|\b(?:turned|timed|fell) \w+",  # noqa: RUF001
    re.IGNORECASE,
)
"""What comes with bad news, whatever it is: regret, a word for failure, a reason."""
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
_MAX_CLAUSE = 500


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
    was not done, so that a sentence need not name it.

    What admits it stands in one clause: that it failed or was not possible, and a value of the call or the name of its
    deed. That something did not happen is less ("W1 did not arrive"): then nothing else may be said after it."""
    own, admitted, claimed, asserted = values_in(entry.args), "", False, False
    for sentence in _SENTENCE.split(_dates(answer)):
        if sentence.rstrip().endswith("?"):
            continue
        strength = _strength(sentence, own, entry)
        if strength == "nothing":
            admitted = "" if admitted == "weak" or _NOW.search(sentence) else admitted
            if _is_claim(sentence, own, entry):
                claimed, admitted = True, ""
            asserted = True
        elif strength == "strong" or (strength == "weak" and not claimed):
            admitted = strength
        elif strength == "unnamed" and alone and not claimed and not asserted:
            admitted = admitted or "strong"
    return bool(admitted)


def _strength(sentence: str, own: Values, entry: LedgerEntry) -> str:
    """How clearly a sentence admits that a call was not done: "strong", "weak", "nothing"; "unnamed": of something."""
    strength, unnamed, named, claims, still = "", _quotes(sentence, entry), False, False, False
    plain = _NOT_MEANT.sub(" ", _SADLY.sub(lambda match: match[0].replace(",", ""), sentence))
    for clause in _clauses(plain):
        if not clause.strip() or (named and _RELATIVE.match(clause)):
            continue
        deed = names_deed(clause, entry)
        named = deed or _names(clause, own, entry)
        kind = _denial(clause, entry)
        if kind == "strong" and named:
            strength = "strong"
        elif kind == "weak" and named:
            strength = strength or ("strong" if deed else "" if claims else "weak")
        elif kind == "strong":
            explains = still or (claims and (_CONTRAST.match(clause) or clause.startswith(":")))
            strength = strength or ("strong" if explains else "")
            unnamed = True
        elif kind:
            continue
        elif _NOW.search(clause) or deed or (named and not _STILL.search(clause) and len(clause.split()) > 2):
            mixed = strength == "strong" and not deed and not _DENYING.isdisjoint(_WORD.findall(clause.casefold()))
            claims, strength = True, strength if mixed and not _NOW.search(clause) else ""
        elif named:
            still = True
        elif strength == "weak" and not _CAUSE.match(clause):
            strength = ""
    if unnamed and not claims:
        strength = strength or ("strong" if still else "unnamed")
    return strength or "nothing"


def _clauses(plain: str) -> list[str]:
    """The clauses of a sentence, each as far as its words can be about one thing."""
    return [clause[:_MAX_CLAUSE] for clause in _CLAUSE.split(plain)]


def _denial(clause: str, entry: LedgerEntry) -> str:
    """How a clause says that something was not done, if it does. The words of the call itself say nothing of it."""
    of_person = _ADDRESSED.search(clause) and not _SPEAKER.search(clause)
    failed = _FAILED.search(clause)
    if (failed and not names_deed(failed[0], entry)) or (_COULD_NOT.search(clause) and not of_person):
        return "strong"
    if (_WAS_NOT.search(clause) and not of_person and not _ELSE.search(clause)) or _SADLY.search(clause):
        return "weak"
    return ""


def _quotes(sentence: str, entry: LedgerEntry) -> bool:
    """Return whether a sentence has the words of the failure, and denies as it does."""
    names = {word.casefold() for text in (entry.tool, *map(str, entry.args.values())) for word in _WORD.findall(text)}
    words = (
        {word for word in _WORD.findall(entry.result.casefold()) if len(word) > 3} - names - {"error", "tool", "failed"}
    )
    spoken = set(_WORD.findall(sentence.casefold()))
    alike = _DENYING.isdisjoint(spoken) == _DENYING.isdisjoint(_WORD.findall(entry.result.casefold()))
    return len(words) > 1 and alike and 2 * len(words & spoken) > len(words)


def _is_claim(sentence: str, own: Values, entry: LedgerEntry) -> bool:
    values = values_of(sentence)
    numbers = [one for one in values.spoken if not {f"{number:f}" for number in one} & values.ids]
    count = sum(map(own.has_id, values.ids)) + sum(map(own.has_date, values.dates)) + sum(map(own.has_number, numbers))
    return names_deed(sentence, entry) or count > 1


def denies(sentence: str) -> bool:
    """Return whether a sentence says that something was not done."""
    clauses = _clauses(_NOT_MEANT.sub(" ", sentence))
    return any(_COULD_NOT.search(one) or _FAILED.search(one) or _WAS_NOT.search(one) for one in clauses)


def regrets(sentence: str) -> bool:
    """Return whether a sentence may admit something in words of its own: it regrets, gives a reason, says that
    something goes on, or has a word that denies."""
    plain = _NOT_MEANT.sub(" ", sentence)
    words = _WORD.findall(plain.casefold())
    return bool(_REGRET.search(plain) or _STILL.search(plain)) or not _DENYING.isdisjoint(words)


def hedges(sentence: str) -> bool:
    """Return whether a sentence states a condition, a plan or a forecast."""
    return not _HEDGING.isdisjoint(_WORD.findall(sentence.casefold()))


def _names(clause: str, own: Values, entry: LedgerEntry) -> bool:
    """Return whether a clause has a value of the call."""
    values = values_of(clause)
    if any(map(own.has_id, values.ids)) or any(map(own.has_date, values.dates)):
        return True
    if any(own.has_number(one) and (entry.identified or not small(one)) for one in values.spoken):
        return True
    words = {word.casefold() for word in _WORD.findall(clause)}
    texts = (text for several in texts_in(entry.args).values() for text in several if text[:1].isupper())
    return any(words.issuperset(word.casefold() for word in _WORD.findall(text)) for text in texts)


def _dates(text: str) -> str:
    """A text whose dates have no point at which a sentence could end."""
    return replace_dates(text, lambda year, month, day: f"{year:04}-{month:02}-{day:02}" if year else None)


def names_deed(clause: str, entry: LedgerEntry) -> bool:
    """Return whether a clause has a word of the tool's name that is not one of what it is done to: `refund_order` is
    named by "refunded", and not by "order"."""
    objects = {word.casefold() for name in entry.args for word in re.findall(r"[^\W\d_]+", name)}
    names = (word.casefold() for word in _WORD.findall(entry.tool.replace("_", " ")))
    stems = [word[:6] for word in names if len(word) > 3 and word not in objects]
    return any(word.casefold().startswith(stem) for word in _WORD.findall(clause) for stem in stems)
