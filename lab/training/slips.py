"""Slips that small models make, put into scenarios so that what comes after them can be learnt. They are not learnt."""

from __future__ import annotations

import random
import re

from training.scenario import Act, Scenario

ID = re.compile(r"[^\W\d]{1,5}[-_/.:]?\d{2,8}|\d{3,8}|[^\W\d]{1,5}[-/]\d+[-/]\d+")


def begun_at_the_end(r: random.Random, scenario: Scenario) -> Scenario:
    """The last tool first, with an id nobody has said: the engine's guards refuse it, or the tool does not know it.
    A scenario without such an id stays as it is."""
    if scenario.history or scenario.summary or scenario.steering:
        return scenario
    acts = [step for step in scenario.script if isinstance(step, Act)]
    for step in acts[1:]:
        if step.tool == acts[0].tool:  # after its refusal the engine would not permit it
            continue
        for name, value in step.args.items():
            if isinstance(value, str) and _is_id(value) and value.lower() not in scenario.question.lower():
                slip = Act(step.tool, {**step.args, name: invented(r, value)}, trained=False)
                if all(slip.args != other.args for other in acts):
                    return scenario._replace(script=[slip, *scenario.script])
    return scenario


def _is_id(value: str) -> bool:
    """Neither a day nor a time nor a text."""
    return bool(ID.fullmatch(value))


def invented(r: random.Random, value: str) -> str:
    """Another id of the same form."""
    return "".join(r.choice("0123456789") if letter.isdigit() else letter for letter in value)
