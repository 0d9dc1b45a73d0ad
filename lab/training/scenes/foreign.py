"""Scenarios in German, French and Spanish beyond a single lookup, and sums in six more languages."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple

from training.scenario import Leave, Say, Scenario, Step, act
from training.worlds import words as w
from training.worlds.devices import Calculator, Converter, Messenger, compute
from training.worlds.domains import KINDS
from training.worlds.languages import FRENCH, GERMAN, SPANISH, Language
from training.worlds.questions import arithmetic
from training.worlds.tools import Facts, Lookup, lookup, shown

RELATIONS: dict[str, tuple[str, str, str]] = {
    "supplier": ("Lieferant", "fournisseur", "proveedor"),
    "manager": ("Vorgesetzte", "responsable", "responsable"),
    "leader": ("Leitung", "chef", "jefe"),
    "customer": ("Kunde", "client", "cliente"),
    "destination": ("Ziel", "destination", "destino"),
    "captain": ("Kapitän", "capitaine", "capitán"),
    "author": ("Autor", "auteur", "autor"),
    "owner": ("Eigentümer", "propriétaire", "propietario"),
    "driver": ("Fahrer", "conducteur", "conductor"),
    "teacher": ("Lehrkraft", "professeur", "profesor"),
    "city": ("Stadt", "ville", "ciudad"),
    "publisher": ("Verlag", "éditeur", "editorial"),
    "director": ("Direktor", "directeur", "director"),
    "keeper": ("Pfleger", "soigneur", "cuidador"),
    "product": ("Artikel", "article", "artículo"),
    "carrier": ("Spediteur", "transporteur", "transportista"),
}


class Forms(NamedTuple):
    chain: tuple[str, ...]
    """With {what}, {link} and {key}."""
    found: str
    """With {link}, {key}, {other}, {what} and {value}."""
    percent: tuple[str, ...]
    """With {p}, {what} and {key}."""
    share: str
    """With {p}, {what}, {key} and {value}."""
    compare: tuple[str, ...]
    """With {what}, {one} and {two}."""
    higher: str
    """With {best}, {what} and {value}."""
    send: tuple[str, ...]
    """With {who}, {what} and {key}."""
    sent: str
    """With {who} and {text}."""


FORMS: tuple[tuple[Language, Forms], ...] = (
    (
        GERMAN,
        Forms(
            (
                "{what} von {link} von {key}?",
                "Suche bei {key}: {link}. Und davon: {what}.",
                "Ich brauche {what} für {link} von {key}.",
            ),
            "{link} von {key}: {other}. {what}: {value}.",
            ("Wie viel sind {p} Prozent von {what} von {key}?", "{p} % von {what} bei {key}?"),
            "{p} Prozent von {what} von {key} sind {value}.",
            ("Wo ist {what} höher, bei {one} oder bei {two}?", "Vergleiche {one} und {two}: {what}."),
            "Höher ist {what} bei {best}: {value}.",
            ("Schicke {who} {what} von {key}.", "Finde {what} von {key} heraus und schreibe es an {who}."),
            "Ich habe {who} geschrieben: {text}",
        ),
    ),
    (
        FRENCH,
        Forms(
            (
                "{what} de {link} de {key} ?",
                "Trouve pour {key} : {link}, puis {what}.",
                "Il me faut {what} pour {link} de {key}.",
            ),
            "{link} de {key} : {other}. {what} : {value}.",
            ("Combien font {p} pour cent de {what} de {key} ?", "{p} % de {what} pour {key} ?"),
            "{p} pour cent de {what} de {key} : {value}.",
            ("Qui a le plus grand {what}, {one} ou {two} ?", "Compare {one} et {two} : {what}."),
            "Le plus grand {what} est chez {best} : {value}.",
            ("Envoie à {who} {what} de {key}.", "Cherche {what} de {key} et écris-le à {who}."),
            "J'ai écrit à {who} : {text}",
        ),
    ),
    (
        SPANISH,
        Forms(
            (
                "¿{what} de {link} de {key}?",
                "Busca para {key}: {link}, y luego {what}.",
                "Necesito {what} para {link} de {key}.",
            ),
            "{link} de {key}: {other}. {what}: {value}.",
            ("¿Cuánto es el {p} por ciento de {what} de {key}?", "¿{p} % de {what} de {key}?"),
            "El {p} por ciento de {what} de {key} es {value}.",
            ("¿Quién tiene más {what}, {one} o {two}?", "Compara {one} y {two}: {what}."),
            "Más {what} tiene {best}: {value}.",
            ("Envía a {who} {what} de {key}.", "Busca {what} de {key} y escríbelo a {who}."),
            "He escrito a {who}: {text}",
        ),
    ),
)
_TEXTS = json.loads((Path(__file__).parent / "foreign.json").read_text())
SUMS: dict[str, tuple[str, str]] = {language: (ask, tell) for language, (ask, tell) in _TEXTS["sums"].items()}
GREETINGS: list[str] = _TEXTS["talk"]


def _translated(facts: Facts, language: Language, kind: str = "", numeric: bool = False) -> tuple[Lookup, str] | None:
    for _ in range(40):
        tool = lookup(facts, numeric=numeric, kind=kind)
        if tool.attribute and tool.attribute.names:
            return tool, tool.attribute.names[language.index]
    return None


def _value(tool: Lookup, key: str) -> str:
    """Units are English words; symbols are the same everywhere."""
    return shown(tool.answer(key), tool.unit if len(tool.unit) <= 3 else "")


def foreign_chain(r: random.Random, facts: Facts) -> Scenario:
    language, forms = r.choice(FORMS)
    choices = [(kind, rel) for kind in KINDS.values() for rel in kind.relations if rel[0] in RELATIONS]
    kind, relation = r.choice(choices)
    made = _translated(facts, language, relation[1])
    if made is None:
        return foreign_chain(r, facts)
    last, what = made
    link = Lookup(facts, kind, relation=relation)
    if link.name == last.name:
        return foreign_chain(r, facts)
    key = facts.thing(kind.name)
    other, said = str(link.answer(key)), RELATIONS[relation[0]][language.index]
    question = r.choice(forms.chain).format(what=what, link=said, key=key)
    text = forms.found.format(
        link=w.capital(said), key=key, other=other, what=w.capital(what), value=_value(last, other)
    )
    steps: list[Step] = [act(link, link.args(key)), act(last, last.args(other)), Say(text)]
    return Scenario("foreign_chain", [link, last], w.capital(question), steps)


def foreign_sum(r: random.Random, facts: Facts) -> Scenario:
    language, forms = r.choice(FORMS)
    made = _translated(facts, language, numeric=True)
    if made is None:
        return foreign_sum(r, facts)
    (tool, what), calculator = made, Calculator(r)
    key, p = facts.thing(tool.kind.name), r.choice((5, 8, 12, 15, 20, 30))
    expression = f"{shown(tool.answer(key))} * {p} / 100"
    text = forms.share.format(p=p, what=what, key=key, value=w.number(compute(expression)))
    steps: list[Step] = [act(tool, tool.args(key)), act(calculator, calculator.args(expression)), Say(text)]
    question = r.choice(forms.percent).format(p=p, what=what, key=key)
    return Scenario("foreign_sum", [tool, calculator], question, steps)


def foreign_compare(r: random.Random, facts: Facts) -> Scenario:
    language, forms = r.choice(FORMS)
    made = _translated(facts, language, numeric=True)
    if made is None:
        return foreign_compare(r, facts)
    tool, what = made
    one, two = facts.things(tool.kind.name, 4)[:2]
    if tool.answer(one) == tool.answer(two):
        return foreign_compare(r, facts)
    best = max((one, two), key=lambda key: float(tool.answer(key)))
    text = forms.higher.format(best=best, what=what, value=_value(tool, best))
    steps: list[Step] = [act(tool, tool.args(one)), act(tool, tool.args(two)), Say(text)]
    return Scenario("foreign_compare", [tool], r.choice(forms.compare).format(what=what, one=one, two=two), steps)


def foreign_message(r: random.Random, facts: Facts) -> Scenario:
    language, forms = r.choice(FORMS)
    made = _translated(facts, language)
    if made is None:
        return foreign_message(r, facts)
    (tool, what), messenger = made, Messenger(r)
    key, who = facts.thing(tool.kind.name), messenger.receivers(r)
    text = w.capital(r.choice(language.tell).format(what=what, key=key, value=_value(tool, key)))
    steps: list[Step] = [
        act(tool, tool.args(key)),
        act(messenger, messenger.args(who, text, w.capital(what))),
        Say(forms.sent.format(who=who, text=text)),
    ]
    return Scenario(
        "foreign_message", [tool, messenger], r.choice(forms.send).format(who=who, what=what, key=key), steps
    )


def foreign_misspelt(r: random.Random, facts: Facts) -> Scenario:
    """A slip in the name, in another language."""
    language, _ = r.choice(FORMS)
    made = _translated(facts, language)
    if made is None:
        return foreign_misspelt(r, facts)
    tool, what = made
    key = facts.thing(tool.kind.name)
    wrong = w.misspelt(r, key)
    if facts.find(tool.kind.name, wrong):
        return foreign_misspelt(r, facts)
    question = r.choice(language.ask).format(what=what, key=wrong)
    text = w.capital(r.choice(language.tell).format(what=what, key=key, value=_value(tool, key)))
    steps: list[Step] = [act(tool, tool.args(wrong)), act(tool, tool.args(key)), Say(text)]
    return Scenario("foreign_misspelt", [tool], question, steps, no_tool_for=(tool.kind.name,))


def world_sum(r: random.Random, facts: Facts) -> Scenario:
    """A sum in one of ten more languages; or a conversion, or no need of a tool at all."""
    if r.random() < 0.35:
        return Scenario("world_talk", [], r.choice(GREETINGS), [Leave("...")])
    ask, tell = r.choice(list(SUMS.values()))
    task, calculator = arithmetic(r), Calculator(r)
    steps: list[Step] = [
        act(calculator, calculator.args(task.expression)),
        Say(tell.format(v=w.number(compute(task.expression)))),
    ]
    tools = [calculator] if r.random() < 0.6 else [calculator, Converter(r)]
    return Scenario("world_sum", tools, ask.format(e=task.expression), steps)
