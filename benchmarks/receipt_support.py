"""How often a false sentence made of its source's own words is called supported, and a true one contradicted.

    python benchmarks/receipt_support.py FOLDER [--half development] [--seed N] [--pages N] [--show]

FOLDER has `wiki.json`, the sentences of pages by title. Two sets: sentences of these pages changed by rule (role swaps,
antonyms, denials, other units, magnitudes, quantifiers, numbers, names of the same kind, forecasts and conditions told
as facts; and true ones: as they stand, shortened, numbers and dates written in another way); and the frames of
`receipts/support_frames.json`, sources and sentences about them in English, German and Spanish, whose names, numbers
and dates are drawn. The frames of the half `test` were written by somebody who had not seen the checker; it was changed
with the half `development` alone. Half of everything is drawn with the seed 7, half with one drawn now (or `--seed`),
which is printed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from treadle._plugins.evidence.support import claims_of
from treadle._plugins.evidence.words import words_of
from treadle._types.events import Record, RunStarted, ToolDone

OTHERS = 4
DRAWS = 8
LANGUAGES = ("en", "de", "es")
FRAMES: dict[str, Any] = json.loads((Path(__file__).parent / "receipts" / "support_frames.json").read_text("utf-8"))
PERSONS = "Karin Dahl, Per Moen, Ines Ferrer, Tomas Brandt, Lucia Ortega, Jonas Keller, Nora Lind, Pablo Reyes"
FIRMS = "Norvik, Halden, Castrona, Mirabel, Weststahl, Alventia, Lindholm, Toresa"
PLACES = "Graz, Bergen, Lugo, Kassel, Murcia, Dover, Aarhus, Linz"
WORDED = {
    "en": "two three four five six seven eight nine ten eleven twelve",
    "de": "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "es": "dos tres cuatro cinco seis siete ocho nueve diez once doce",
}
SLOT = re.compile(r"\{(\w)(?:\|(\w+))?\}")
_VERB = re.compile(r"\b(is|was|were|are|has|had)\b(?! not)")
_ANTONYMS = (
    "first last, north south, northern southern, east west, eastern western, before after, won lost, older younger, "
    "largest smallest, male female, best worst, early late, rose fell, increased decreased, public private, "
    "father mother, brother sister, son daughter, husband wife, actor actress, black white, left right, old new"
)
_OPPOSITE = {a: b for pair in _ANTONYMS.split(", ") for a, b in (pair.split(), reversed(pair.split()))}
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}
_MONTHS = MONTHS["en"].split()
_DATE = re.compile(rf"\b({'|'.join(_MONTHS)}) (\d{{1,2}}), (\d{{4}})\b|\b(\d{{1,2}}) ({'|'.join(_MONTHS)}) (\d{{4}})\b")
_MONEY = re.compile(r"\$(\d[\d,.]*\d)|(\d[\d,.]*\d) dollars")

Variant = tuple[str, str, str]
"""The kind, the source, the sentence."""


def false_variants(sentence: str, other: str, rng: random.Random) -> Iterator[Variant]:
    """The sentence in ways that make it false, with the source it is held against."""
    names = [name for name in words_of(sentence).names if name.isalpha()]
    if len(set(names)) >= 2:
        one, two = rng.sample(sorted(set(names)), 2)
        yield "role swap", sentence, _exchanged(sentence, one, two)
    low = [word for word in re.findall(r"[A-Za-z]+", sentence) if word.lower() in _OPPOSITE]
    if low:
        word = rng.choice(low)
        yield "antonym", sentence, re.sub(rf"\b{word}\b", _OPPOSITE[word.lower()], sentence, count=1)
    if _VERB.search(sentence) and not words_of(sentence).negated:
        yield "denial", sentence, _VERB.sub(r"\1 not", sentence, count=1)
        yield "no denial", _VERB.sub(r"\1 not", sentence, count=1), sentence
    numbers = re.findall(r"\b\d{2,}\b", sentence)
    if numbers:
        number = rng.choice(numbers)
        yield "number", sentence, sentence.replace(number, str(int(number) + rng.choice((1, 7, 13))), 1)
    for one, two in (("million", "thousand"), ("million", "billion"), ("thousand", "million")):
        if f" {one}" in sentence:
            yield "magnitude", sentence, sentence.replace(f" {one}", f" {two}", 1)
    if match := _MONEY.search(sentence):
        yield "unit", sentence, sentence.replace(match[0], f"{match[1] or match[2]} euros", 1)
    for one, two in (("some", "all"), ("many", "all"), ("most", "all"), ("several", "all"), ("only", "not only")):
        if re.search(rf"\b{one}\b", sentence):
            yield "quantifier", sentence, re.sub(rf"\b{one}\b", two, sentence, count=1)
    if match := re.search(r"\b(was|is) ", sentence):
        forecast = sentence[: match.start()] + "will be " + sentence[match.end() :]
        yield "forecast as fact", forecast, sentence
        condition = "If the plan is approved, " + sentence[0] + sentence[1:]
        yield "condition as fact", condition, sentence
    strange = [n for n in words_of(other).names if n not in sentence and n.isalpha()]
    if names and strange:
        yield (
            "other name",
            sentence,
            re.sub(rf"\b{re.escape(rng.choice(names))}\b", rng.choice(strange), sentence, count=1),
        )


def true_variants(sentence: str, rng: random.Random) -> Iterator[Variant]:
    """The sentence in ways that keep it true."""
    yield "as it stands", sentence, sentence
    if (comma := sentence.rfind(", ")) > len(sentence) // 2 and " and " not in sentence[comma:]:
        yield "shortened", sentence, f"{sentence[:comma]}."
    if match := _DATE.search(sentence):
        month, day, year = (match[1], match[2], match[3]) if match[1] else (match[5], match[4], match[6])
        iso = f"{year}-{_MONTHS.index(month) + 1:02}-{int(day):02}"
        yield (
            "date",
            sentence,
            sentence.replace(match[0], rng.choice((iso, f"{day} {month} {year}", f"{month} {day}, {year}"))),
        )
    if match := re.search(r"(\d+(?:\.\d+)?) million", sentence):
        yield "number", sentence, sentence.replace(match[0], f"{round(float(match[1]) * 1_000_000):,}")
    if match := re.search(r"\b(\d{1,3}(?:,\d{3})+)\b", sentence):
        yield "number", sentence, sentence.replace(match[0], match[0].replace(",", ""))
    if match := re.search(r"\b([2-9]\d) (?=[a-z]{3})", sentence):
        yield "number", sentence, sentence.replace(match[0], f"{_spelled(int(match[1]))} ", 1)


def _spelled(value: int) -> str:
    tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"][value // 10 - 2]
    ones = ["", *["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]][value % 10]
    return f"{tens}-{ones}" if ones else tens


def _exchanged(text: str, one: str, two: str) -> str:
    return re.sub(rf"\b({re.escape(one)}|{re.escape(two)})\b", lambda match: two if match[0] == one else one, text)


def judged(source: str, others: list[str], sentence: str) -> str:
    """The worst that is said of any part of the sentence."""
    events = [RunStarted("?"), *(ToolDone(f"c{n}", "read", n, text) for n, text in enumerate((source, *others), 1))]
    claims = claims_of(sentence, {"r": [Record("r", seq, 0.0, event) for seq, event in enumerate(events)]})
    statuses = {claim.status for claim in claims} - {"empty"}
    return next((one for one in ("contradicted", "unsupported", "words") if one in statuses), "supported")


def measure(wiki: dict[str, list[str]], pages: int, rng: random.Random) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    titles = sorted(title for title in wiki if wiki[title])
    for title in rng.sample(titles, k=min(pages, len(titles))):
        sentence = rng.choice(wiki[title]).strip()
        if len(sentence.split()) < 6 or not sentence.endswith("."):
            continue
        chosen = rng.sample([other for other in titles if other != title], k=OTHERS)
        others = [" ".join(wiki[name]) for name in chosen]
        makers: tuple[tuple[str, Callable[[], Iterator[Variant]]], ...] = (
            ("false", lambda s=sentence, o=others: false_variants(s, o[0], rng)),
            ("true", lambda s=sentence: true_variants(s, rng)),
        )
        for truth, make in makers:
            for kind, source, text in make():
                if truth == "true" or text != source:
                    counts[f"{truth}: {kind}"][judged(source, others, text)] += 1
    return counts


def drawn_for(rng: random.Random) -> dict[str, Any]:
    """The values of the slots of a frame."""
    values: dict[str, Any] = dict(zip("ABE", rng.sample(PERSONS.split(", "), 3), strict=True))
    values |= zip("CD", rng.sample(FIRMS.split(", "), 2), strict=True)
    values |= zip("PQ", rng.sample(PLACES.split(", "), 2), strict=True)
    x = rng.randrange(113, 480) / 10
    n = rng.randrange(13, 90)
    dates = [(rng.randrange(2015, 2026), rng.randrange(1, 13), rng.randrange(1, 28)) for _ in range(2)]
    values |= {"x": x, "y": round(x + rng.randrange(11, 90) / 10, 1), "n": n, "m": n + rng.randrange(20, 90)}
    other = dates[1] if dates[1] != dates[0] else (2014, 1, 2)
    return {**values, "k": rng.randrange(2, 13), "d": dates[0], "e": other}


def filled(text: str, values: dict[str, Any], language: str) -> str:
    def fill(match: re.Match[str]) -> str:
        value, form = values.get(match[1]), match[2] or ""
        if isinstance(value, tuple):
            year, month, day = value
            name = MONTHS[language].split()[month - 1]
            long = {"en": f"{day} {name} {year}", "de": f"{day}. {name} {year}", "es": f"{day} de {name} de {year}"}
            return f"{year}-{month:02}-{day:02}" if form == "iso" else long[language]
        if form == "full":
            whole = f"{round(value * 1_000_000):,}"
            return whole if language == "en" else whole.replace(",", ".")
        if form == "word":
            return WORDED[language].split()[value - 2]
        if form == "sum":
            return str(values["n"] + values["m"])
        return str(value).replace(".", ",") if isinstance(value, float) and language != "en" else str(value)

    return SLOT.sub(fill, text)


def measure_frames(half: str, rng: random.Random, counts: dict[str, Counter[str]], shown: dict[str, set[str]]) -> None:
    for language in LANGUAGES:
        for frame in FRAMES[half][language]:
            for _ in range(DRAWS):
                values = drawn_for(rng)
                as_data = frame["source"].startswith("{")
                source = filled(frame["source"], values, "en" if as_data else language)
                named = [("true", text) for text in frame["true"]]
                named += [(f"false, {kind}", text) for kind, texts in frame["false"].items() for text in texts]
                for kind, text in named:
                    said = judged(source, [], filled(text, values, language))
                    counts[f"{language}, {kind}"][said] += 1
                    shown[f"{language}, {kind}: {said}"].add(f"{text}   <- {frame['source']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--half", choices=("test", "development"), default="test")
    parser.add_argument("--show", action="store_true", help="what was said of which sentence of the frames")
    args = parser.parse_args()
    wiki = json.loads((args.folder / "wiki.json").read_text("utf-8"))
    drawn = args.seed if args.seed is not None else secrets.randbelow(10**6)
    began = time.process_time()
    total: dict[str, Counter[str]] = defaultdict(Counter)
    frames: dict[str, Counter[str]] = defaultdict(Counter)
    shown: dict[str, set[str]] = defaultdict(set)
    for seed in (7, drawn):
        measure_frames(args.half, random.Random(seed), frames, shown)
        for kind, counted in measure(wiki, args.pages // 2, random.Random(seed)).items():
            total[kind] += counted
    checked = sum(sum(one.values()) for one in (*total.values(), *frames.values()))
    cost = (time.process_time() - began) * 1000 / checked
    print(f"half {args.half}, seeds 7 and {drawn}, {checked} sentences, {cost:.1f} ms of CPU each")
    for kind in sorted(frames):
        _print(kind, frames[kind])
    for group in ("false", "true"):
        for language in LANGUAGES:
            mine = [frames[kind] for kind in frames if kind.startswith(f"{language}, {group}")]
            _print(f"frames, {language}, {group}, all", sum(mine, Counter()))
        _print(f"frames, {group}, all", sum((frames[kind] for kind in frames if f", {group}" in kind), Counter()))
        for kind in sorted(kind for kind in total if kind.startswith(group)):
            _print(kind, total[kind])
        _print(f"pages, {group}, all", sum((total[kind] for kind in total if kind.startswith(group)), Counter()))
    if args.show:
        for what in sorted(shown):
            print(f"\n{what}", *sorted(shown[what]), sep="\n    ")


def _print(name: str, counted: Counter[str]) -> None:
    whole = sum(counted.values())
    statuses = ("supported", "words", "contradicted", "unsupported")
    shares = ", ".join(f"{counted[one]:4} {one} ({counted[one] / whole:6.1%})" for one in statuses)
    print(f"{name:26} {whole:5}: {shares}")


if __name__ == "__main__":
    main()
