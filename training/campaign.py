"""python -m training.campaign run MODEL.gguf OUT --name NAME --seeds 1,2,3 --data CONVERSATIONS.jsonl.xz --bfcl DATA
python -m training.campaign collect OUT FOLDER

`run`: all seeds of one model, their mean, their figures, and the one to take by development data; each seed is
evaluated while the next is trained. With `--pilot SECONDS` the seeds branch off from a first training, which begins
with `--begin ADAPTER.gguf` where there is one; with `--lessons FILE` they learn what it gets wrong, too. Given again
after an interruption it does what is left. `collect`: what is finished, in files that are small enough to travel:
figures, logs, and packed adapters in pieces.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

from training import adapter_file, pieces, soup
from training.figures import ranking
from training.pack import pack
from treadle._evals.stats import wilson

TRIES = 3
PILOT = "1000"
"""The seed of the short training whose mistakes are learnt from."""
DEVELOPMENT = "own,later,latest,alone,dev,known"
"""The sets that every adapter is evaluated on."""
PIECE = 15_000_000
"""Bytes of a file that travels back."""


def say(out: Path, *words: object) -> None:
    line = f"{time.strftime('%H:%M:%S')} {' '.join(map(str, words))}"
    print(line, flush=True)
    with (out / "campaign.log").open("a") as file:
        file.write(line + "\n")


def start(out: Path, log: str, module: str, *arguments: object) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    with (out / log).open("ab") as file:
        command = [sys.executable, "-m", f"training.{module}", *map(str, arguments)]
        return subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment)


def trainer(options: argparse.Namespace, seeds: str, seconds: float, *more: object) -> subprocess.Popen[bytes]:
    return start(
        options.out, "train.log", "train", options.model, options.out, "--name", options.name, "--seeds", seeds,
        "--data", options.data, "--seconds", seconds, "--steps", options.steps, "--batch", options.batch,
        "--recipe", options.recipe, *more,
    )  # fmt: skip


def pilot_of(options: argparse.Namespace) -> Path | None:
    """The adapter of a first training, from which the seeds branch off; None: they begin with nothing."""
    if not options.pilot:
        return None
    pilot = options.out / "pilot" / f"{options.name}-{PILOT}.gguf"
    pilot.parent.mkdir(exist_ok=True)
    aside = argparse.Namespace(**{**vars(options), "out": pilot.parent})
    begin = ["--begin", options.begin] if options.begin and options.begin.is_file() else []
    if not pilot.is_file() and trainer(aside, PILOT, options.pilot, *_lessons(options), *begin).wait():
        say(options.out, "the pilot ended with an error (pilot/train.log): the seeds begin without it")
    return pilot if pilot.is_file() else None


def find_lessons(options: argparse.Namespace, pilot: Path | None) -> None:
    """What the pilot still gets wrong. The seeds learn it as well; so do larger models that come later."""
    if not options.lessons or pilot is None or options.lessons.is_file():
        return
    playing = start(
        options.out, "mistakes.log", "mistakes", options.model, pilot, options.lessons,
        "--seconds", options.mistakes, "--scenarios", options.scenarios,
    )  # fmt: skip
    say(options.out, "no lessons (mistakes.log)" if playing.wait() else f"lessons: {options.lessons.stat().st_size}")


def _lessons(options: argparse.Namespace) -> list[object]:
    return ["--lessons", options.lessons] if options.lessons else []


def train_all(options: argparse.Namespace, adapters: list[Path], pilot: Path | None) -> None:
    """A training that ends with an error is begun again; it goes on where it was."""
    more = [*_lessons(options), *(["--begin", pilot] if pilot else [])]
    for attempt in range(TRIES):
        if all(path.is_file() for path in adapters):
            return
        if trainer(options, options.seeds, options.seconds, *more).wait():
            say(options.out, "the training ended with an error, try", attempt + 1, "of", TRIES, "(train.log)")
    missing = [path.name for path in adapters if not path.is_file()]
    if missing:
        raise RuntimeError(f"not trained: {', '.join(missing)}")


def evaluator(options: argparse.Namespace, adapters: list[Path], sets: str) -> subprocess.Popen[bytes]:
    return start(
        options.out, "evaluate.log", "evaluate", options.model, options.out, "--sets", sets, "--bfcl", options.bfcl,
        "--adapters", ",".join(map(str, adapters)), "--wait", 3600, "--rows", options.rows, "--base-known",
        "--tasks", options.tasks,
    )  # fmt: skip


def run(options: argparse.Namespace) -> None:
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    seeds = [out / f"{options.name}-{seed}.gguf" for seed in options.seeds.split(",")]
    mixed = out / f"{options.name}-mean.gguf"
    everything = [*seeds, mixed] if len(seeds) > 1 else seeds
    say(out, "begins:", ", ".join(path.stem for path in everything))
    pilot = pilot_of(options)
    find_lessons(options, pilot)
    judged = everything[-1:] if options.only_mean else everything
    judging = evaluator(options, judged, DEVELOPMENT)
    try:
        train_all(options, seeds, pilot)
        if len(seeds) > 1 and not mixed.is_file():
            parts = [adapter_file.read(path) for path in seeds]
            made = soup.mean(parts)
            adapter_file.write(mixed, made)
            say(out, f"{mixed.stem}: {soup.lost(parts, made):.1%} of the mean change is lost by its rank")
        say(out, "trained; evaluated until now:", sorted(path.name for path in out.glob("*_own.json")))
        if judging.wait():
            say(out, "the evaluation ended with an error (evaluate.log): once more")
            evaluator(options, judged, DEVELOPMENT).wait()
    finally:
        if judging.poll() is None:
            judging.terminate()
    ranked = ranking(out, [path.stem for path in everything])
    (out / "ranking.json").write_text(json.dumps(ranked))
    say(out, "by development data:", ranked)
    for path in judged:
        packed, digest = pack(path, out / "packed")  # the same bytes as when it was collected before
        say(out, packed.name, packed.stat().st_size, digest)
    if options.test and ranked:  # the one to take first, in case that time runs out
        evaluator(options, [out / f"{name}.gguf" for name, _ in ranked], "test").wait()
    (out / "finished").write_text(time.strftime("%H:%M:%S"))
    say(out, "finished\n" + table(out))


def table(out: Path) -> str:
    """All figures there are, with their intervals."""
    lines: list[str] = []
    for path in sorted(out.glob("*_*.json")):
        found: dict[str, Any] = json.loads(path.read_text())
        low, high = wilson(found["right"], found["of"])
        more = found.get("kinds") or found.get("functions") or ""
        lines.append(f"{path.stem:<28}{found['right']:>5} of {found['of']:<5}{low:.0%} to {high:.0%}  {more}")
    return "\n".join(lines)


def collect(out: Path, folder: Path, files: int, again: bool = False) -> None:
    """The figures and logs in one file; adapters that have not been collected yet, the best first (until that is known,
    the mean), as many as fit into that number of files: one that is too large for a file is in pieces with hashes."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / f"{out.name}-figures.tar.gz", "w:gz") as archive:
        for path in sorted([*out.glob("*.json"), *out.glob("*.log")]):
            archive.add(path, path.name)
    ranked = json.loads((out / "ranking.json").read_text()) if (out / "ranking.json").is_file() else []
    order = {name: place for place, (name, _) in enumerate(ranked)}
    first = sorted(
        out.glob("*.gguf"),
        key=lambda path: (order.get(path.stem, len(order)), not path.stem.endswith("mean"), path.stem),
    )
    for path in first:
        mark = out / "packed" / f"{path.stem}.collected"
        if mark.is_file() and not again:
            continue
        packed = out / "packed" / f"{path.stem}.gguf.xz"
        if not packed.is_file():
            pack(path, out / "packed")
        count = 1 if packed.stat().st_size <= PIECE else 1 - -packed.stat().st_size // PIECE
        if count > files:
            break
        files -= count
        if count == 1:
            shutil.copy(packed, folder / packed.name)
        else:
            pieces.split(packed, folder / path.stem, PIECE)
        mark.write_text("")
        print("collected", path.stem)
    print(table(out))


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True, dest="command")
    running = commands.add_parser("run")
    running.add_argument("model", type=Path)
    running.add_argument("out", type=Path)
    running.add_argument("--name", required=True)
    running.add_argument("--seeds", default="1,2,3")
    running.add_argument("--data", type=Path, required=True)
    running.add_argument("--bfcl", type=Path, required=True)
    running.add_argument("--seconds", type=float, default=200)
    running.add_argument("--steps", type=int, default=0)
    running.add_argument("--batch", type=int, default=16384)
    running.add_argument("--recipe", default="", help="how it learns: see training.train")
    running.add_argument("--rows", type=int, default=0, help="of the leaderboard, at most")
    running.add_argument("--tasks", type=int, default=0, help="of each own set and of common knowledge, at most")
    running.add_argument("--lessons", type=Path, help="mistakes to learn from; made by a pilot, if it is not there")
    running.add_argument("--pilot", type=float, default=0, help="seconds of a first training that all seeds begin with")
    running.add_argument("--begin", type=Path, help="an adapter that the pilot begins with, if it is there")
    running.add_argument("--mistakes", type=float, default=75, help="seconds for looking for the pilot's mistakes")
    running.add_argument("--scenarios", type=int, default=4000, help="that the pilot plays, at most")
    running.add_argument("--only-mean", action="store_true", help="evaluate the mean of the seeds, not each of them")
    running.add_argument("--test", action="store_true", help="at the end, the test rows as well, once")
    collecting = commands.add_parser("collect")
    collecting.add_argument("out", type=Path)
    collecting.add_argument("folder", type=Path)
    collecting.add_argument("--files", type=int, default=3, help="for adapters, at most")
    collecting.add_argument("--again", action="store_true", help="those that were collected before, too")
    options = parser.parse_args()
    if options.command == "run":
        run(options)
    else:
        collect(options.out, options.folder, options.files, options.again)


if __name__ == "__main__":
    main()
