"""Where a reply decides between a tool and an answer, and what the model would have written there.

The probabilities are those before any constraint. They come token by token from a runtime or a server; nothing in them
is trusted: what is no probability is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from treadle._types.request import DecisionNames, Request

ANY = DecisionNames()
"""Where it is not known which tools were on offer."""
LEAST = 0.002
"""Less probable alternatives are not worth a record."""
OPTIONS = 20
"""How many of the most probable tokens are looked at: as many as every API gives."""


def answer_probability(options: Mapping[str, float], names: DecisionNames = ANY) -> float:
    """How probable it is that the model goes on to write the name of an answer, and can write nothing else."""
    return sum(probability for text, probability in options.items() if is_answer(text, names))


def wants_answer(options: Mapping[str, float], answer_from: float, names: DecisionNames = ANY) -> bool | None:
    """Tell whether the model wants to answer; None when the likely texts may also begin a tool's name."""
    least = answer_probability(options, names)
    if least >= answer_from:
        return True
    either = sum(probability for text, probability in options.items() if _is_either(text, names))
    return None if least + either >= answer_from else False


def is_answer(text: str, names: DecisionNames = ANY) -> bool:
    """Tell whether a text begins the name of an answer, or begins with such a name, and no tool's name begins so."""
    return _begins_answer(text, names) and not _begins_tool(text, names)


def _is_either(text: str, names: DecisionNames) -> bool:
    return _begins_answer(text, names) and _begins_tool(text, names)


def _begins_answer(text: str, names: DecisionNames) -> bool:
    return bool(text) and any(name.startswith(text) or text.startswith(name) for name in names.answers)


def _begins_tool(text: str, names: DecisionNames) -> bool:
    name, closed, _ = text.partition('"')
    return name in names.tools if closed else any(tool.startswith(name) for tool in names.tools)


class DecisionPoint:
    """Reads the options at the decision of one reply from its tokens. `after` is the text before it as JSON has it;
    blanks may differ. With `answer_from` it also tells whether the reply goes against what the model wants: an answer
    that is less probable, or a call where one is at least as probable as `no_call_from`."""

    def __init__(
        self,
        after: str,
        answer_from: float | None = None,
        names: DecisionNames = ANY,
        no_call_from: float | None = None,
    ) -> None:
        self.options: dict[str, float] = {}
        self.contradicted = False
        """The model does not want what it begins: the reply will be asked for again."""
        self._pattern = _pattern(after)
        self._answer_from = answer_from
        self._no_call_from = answer_from if no_call_from is None else no_call_from
        self._names = names
        self._written = ""
        self._reached = not after

    def feed(self, token: str, alternatives: Iterable[tuple[str, float]]) -> None:
        """The next token of the reply, with what could have stood in its place and the logarithms of how probable each
        was."""
        if self._reached:
            return
        before, self._written = self._written, self._written + token
        match = self._pattern.search(self._written)
        if match is None or match.end() >= len(self._written):
            return
        self._reached = True
        # The token may begin before the decision, with the quotation mark.
        shared = self._written[len(before) : match.end()]
        for text, logarithm in alternatives:
            if text.startswith(shared) and math.isfinite(logarithm) and math.log(LEAST) < logarithm <= 1e-6:
                self.options[text.removeprefix(shared)] = min(1.0, math.exp(logarithm))
        if self._answer_from is not None and self.options:
            self.contradicted = self._goes_against(self._written[match.end() :])

    def _goes_against(self, begun: str) -> bool:
        answers = is_answer(begun, self._names)
        threshold = self._answer_from if answers else self._no_call_from
        if threshold is None or _is_either(begun, self._names):
            return False
        wanted = wants_answer(self.options, threshold, self._names)
        return wanted is not None and wanted != answers


def decision_point(request: Request) -> DecisionPoint:
    """Of the reply to a request."""
    return DecisionPoint(request.decision_after, request.answer_from, request.decision_names, request.no_call_from)


@lru_cache(maxsize=16)
def _pattern(after: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in re.findall(r'"\w+"|\S', after)]
    return re.compile(r"\s*".join([*parts, ""] if after[-1:].isspace() else parts))
