"""Which words of an answer tell something: those that were in the question or in a result, numbers in digits, yes, no
and not.

How a sentence is put is free, and most of what a model gets wrong of an answer is that. Learnt with the same weight it
drowns what matters: which row, which field, which name."""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W_]+(?:[.,:/'\u2019-][^\W_]+)*")
SHORTEST = 4
"""Letters from which on a word in small letters says something."""
_YES_AND_NO = "yes no ja nein oui non sí si sì sim não nee tak nie"
_NOT = "not cannot none nobody nothing only nicht kein keine keinen pas rien niet geen nada ninguno nessuno nenhum"
DECIDING = frozenset(f"{_YES_AND_NO} {_NOT}".split())
_ANSWER = re.compile(r'(?<="final_answer": ")(?:[^"\\]|\\.)*(?=")')
_ESCAPE = re.compile(r"\\.")
_BEGINS = re.compile(r"(?:^|[.!?:]\s+)$")
"""What stands before the first word of a sentence."""
_END_OF_SYSTEM = "<|im_end|>"


def _words(text: str) -> set[str]:
    return {word.casefold() for word in WORD.findall(text)}


def free_letters(prompt: str, reply: str) -> list[tuple[int, int]]:
    """The parts of a reply that tell nothing, as places of their first letters and of those after their last."""
    answer = _ANSWER.search(reply)
    if answer is None:
        return []
    said = _words(prompt.partition(_END_OF_SYSTEM)[2])  # a prompt begins with the system's message
    found: list[tuple[int, int]] = []
    end = answer.start()
    text = _ESCAPE.sub("  ", answer[0])
    for word in WORD.finditer(text):
        if tells(word[0], said, first=_BEGINS.search(text[: word.start()]) is not None):
            start = answer.start() + word.start()
            found.append((end, start))
            end = answer.start() + word.end()
    return [*found, (end, answer.end())]


def tells(word: str, said: set[str], first: bool = False) -> bool:
    """`first`: it stands at the beginning of a sentence, where a large letter says nothing."""
    plain = word.casefold()
    if any(letter.isdigit() for letter in word) or plain in DECIDING:
        return True
    return plain in said and (len(word) >= SHORTEST or (word != plain and not first))
