"""The same questions in English, German, French and Spanish, in forms that need no article before a name."""

from __future__ import annotations

import random
from typing import NamedTuple


class Language(NamedTuple):
    index: int
    """Of an attribute's name in `Attribute.names`; -1 for English."""
    ask: tuple[str, ...]
    """With {what} and {key}."""
    tell: tuple[str, ...]
    """With {what}, {key} and {value}."""
    percent: tuple[str, ...]
    """With {p} and {n}."""
    times: tuple[str, ...]
    """With {a} and {b}."""
    result: tuple[str, ...]
    """With {value}."""
    unable: tuple[str, ...]
    """With {what} and {key}."""


GERMAN = Language(
    0,
    (
        "Was ist bei {key} eingetragen: {what}?",
        "{what} von {key}?",
        "Ich brauche eine Angabe zu {key}: {what}.",
        "Bitte nenne mir {what} von {key}.",
    ),
    ("{what} von {key}: {value}.", "Bei {key} ist eingetragen: {what} {value}."),
    ("Wie viel sind {p} Prozent von {n}?", "Was sind {p}% von {n}?", "Berechne {p} % von {n}."),
    ("Wie viel ist {a} mal {b}?", "Was ergibt {a} * {b}?", "Rechne {a} mal {b} aus."),
    ("Das Ergebnis ist {value}.", "Das sind {value}."),
    (
        "Das kann ich nicht sagen: Kein Werkzeug kennt {what} von {key}.",
        "Dazu habe ich kein Werkzeug, deshalb weiß ich {what} von {key} nicht.",
    ),
)
FRENCH = Language(
    1,
    (
        "{key} : {what} ?",
        "Donne-moi cette information sur {key} : {what}.",
        "J'ai besoin de ceci pour {key} : {what}.",
        "Peux-tu chercher {what} de {key} ?",
    ),
    ("{what} de {key} : {value}.", "Pour {key}, {what} : {value}."),
    ("Combien font {p} pour cent de {n} ?", "Que vaut {p} % de {n} ?", "Calcule {p}% de {n}."),
    ("Combien font {a} fois {b} ?", "Calcule {a} * {b}.", "Que vaut {a} multiplié par {b} ?"),
    ("Le résultat est {value}.", "Cela fait {value}."),
    ("Je ne peux pas le dire : aucun outil ne donne {what} de {key}.", "Je n'ai pas d'outil pour {what} de {key}."),
)
SPANISH = Language(
    2,
    (
        "¿{what} de {key}?",
        "Necesito este dato de {key}: {what}.",
        "Busca {what} de {key}, por favor.",
        "Dime {what} de {key}.",
    ),
    ("{what} de {key}: {value}.", "Para {key}, {what}: {value}."),
    ("¿Cuánto es el {p} por ciento de {n}?", "¿Cuánto es el {p}% de {n}?", "Calcula el {p} % de {n}."),
    ("¿Cuánto es {a} por {b}?", "Calcula {a} * {b}.", "¿Cuánto da {a} multiplicado por {b}?"),
    ("El resultado es {value}.", "Son {value}."),
    ("No puedo decirlo: ninguna herramienta da {what} de {key}.", "No tengo herramienta para {what} de {key}."),
)
OTHERS = (GERMAN, FRENCH, SPANISH)


def other(r: random.Random) -> Language:
    return r.choice(OTHERS)
