"""python -m training.campaign run MODEL.gguf OUT --name NAME --seeds 1,2,3 --data 'DATA-{seed}.jsonl.xz' --bfcl DATA
python -m training.campaign collect OUT FOLDER

`run`: all seeds of one model, each from nothing (or from the adapter `--begin`) and, where the name of the data says
so, with data of its own; what can be made of them together, and with the adapter before (`--old`); their figures, and
the one to take by development data. Given again after an interruption it does what is left. `collect`: what is
finished, in files that are small enough to travel: figures, logs, and packed adapters in pieces.
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
WIDE = 32
"""A rank in which the mean of several adapters is nearly whole."""
DEVELOPMENT = "own,later,latest,alone,dev,known"
"""The sets that an adapter has to be evaluated on to be taken."""
OF_SEEDS = "own,later,latest,dev"
"""Those that tell how far seeds differ."""
SHARES = "0.8,1,1.25"
"""Of its change that an adapter could keep."""
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


def trainer(options: argparse.Namespace) -> subprocess.Popen[bytes]:
    begin = ["--begin", options.begin] if options.begin and options.begin.is_file() else []
    return start(
        options.out, "train.log", "train", options.model, options.out, "--name", options.name,
        "--seeds", options.seeds, "--data", options.data, "--seconds", options.seconds, "--steps", options.steps,
        "--batch", options.batch, "--recipe", options.recipe, *begin,
    )  # fmt: skip


def train_all(options: argparse.Namespace, adapters: list[Path]) -> None:
    """A training that ends with an error is begun again; it goes on where it was."""
    for attempt in range(TRIES):
        if all(path.is_file() for path in adapters):
            return
        if trainer(options).wait():
            say(options.out, "the training ended with an error, try", attempt + 1, "of", TRIES, "(train.log)")
    missing = [path.name for path in adapters if not path.is_file()]
    if missing:
        raise RuntimeError(f"not trained: {', '.join(missing)}")


def blend(options: argparse.Namespace, seeds: list[Path]) -> list[Path]:
    """What several adapters are together: the mean of the seeds in the rank of one, and in one that holds nearly all of
    it; and the same with the adapter before."""
    kinds = {"mean": (seeds, 0), "wide": (seeds, WIDE)}
    if options.old and options.old.is_file():
        kinds["both"] = ([*seeds, options.old], WIDE)
    made: list[Path] = []
    for kind, (paths, rank) in kinds.items():
        path = options.out / f"{options.name}-{kind}.gguf"
        if not path.is_file():
            parts = [adapter_file.read(one) for one in paths]
            try:
                mixed = soup.mean(parts, rank)
            except ValueError as error:  # the one before was trained on another form: what was trained now still counts
                say(options.out, f"no {path.stem}: {error}")
                continue
            adapter_file.write(path, mixed)
            say(options.out, f"{path.stem}: {soup.lost(parts, mixed):.1%} of the mean change is lost by its rank")
        made.append(path)
    return made


def pack_aside(out: Path, adapters: list[Path]) -> None:
    """So that nothing has to wait for it when they are collected."""
    for path in adapters:
        start(out, "pack.log", "pack", path, out / "packed")


def read_held(options: argparse.Namespace, seeds: list[Path], made: list[Path]) -> subprocess.Popen[bytes] | None:
    """Begins to read the worlds that nothing was learnt from, with each adapter that there is, also on its way."""
    if options.held is None:
        return None
    on_the_way = sorted((options.out / "on_the_way").glob("*.gguf"))
    old = [options.old] if options.old and options.old.is_file() else []
    adapters = [*old, *made, *seeds, *on_the_way]
    return start(options.out, "held.log", "held", options.model, options.held, *adapters, "--shares", SHARES)


def evaluate_all(options: argparse.Namespace, adapters: list[Path], sets: str) -> None:
    """Side by side: decoding waits more than it computes."""
    working = [
        start(
            options.out, f"evaluate-{path.stem}.log", "evaluate", options.model, options.out, "--adapters", path,
            "--sets", sets, "--bfcl", options.bfcl, "--rows", options.rows, "--tasks", options.tasks,
        )
        for path in adapters
    ]  # fmt: skip
    for path, process in zip(adapters, working, strict=True):
        if process.wait():
            say(options.out, "an evaluation ended with an error:", path.stem)


def run(options: argparse.Namespace) -> None:
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    seeds = [out / f"{options.name}-{seed}.gguf" for seed in options.seeds.split(",")]
    say(out, "begins:", ", ".join(path.stem for path in seeds))
    train_all(options, seeds)
    say(out, "trained")
    pack_aside(out, seeds)
    made = blend(options, seeds) if len(seeds) > 1 else seeds
    reading = read_held(options, seeds, made)
    evaluate_all(options, made, DEVELOPMENT)
    ranked = ranking(out, [path.stem for path in made])
    (out / "ranking.json").write_text(json.dumps(ranked))
    say(out, "by development data:", ranked)
    best = [out / f"{name}.gguf" for name, _ in ranked[:1]]
    pack_aside(out, best)
    if options.test:
        evaluate_all(options, best, "test")
    evaluate_all(options, seeds, OF_SEEDS)
    if reading is not None:
        reading.wait()
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
    what it will be made of), as many as fit into that number of files: one that is too large for a file is in pieces
    with hashes."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / f"{out.name}-figures.tar.gz", "w:gz") as archive:
        for path in sorted([*out.glob("*.json"), *out.glob("*.log")]):
            archive.add(path, path.name)
    ranked = json.loads((out / "ranking.json").read_text()) if (out / "ranking.json").is_file() else []
    best = [out / f"{name}.gguf" for name, _ in ranked[:1]]
    seeds = sorted(path for path in out.glob("*.gguf") if path.stem.rpartition("-")[2].isdigit())
    first = [*best, *(path for path in seeds if path not in best)]
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
    running.add_argument("--data", required=True, help="may have {seed} in its name")
    running.add_argument("--bfcl", type=Path, required=True)
    running.add_argument("--seconds", type=float, default=200)
    running.add_argument("--steps", type=int, default=0)
    running.add_argument("--batch", type=int, default=16384)
    running.add_argument("--recipe", default="", help="how it learns: see training.train")
    running.add_argument("--rows", type=int, default=0, help="of the leaderboard, at most")
    running.add_argument("--tasks", type=int, default=0, help="of each own set and of common knowledge, at most")
    running.add_argument("--old", type=Path, help="the adapter before, if it is there")
    running.add_argument("--begin", type=Path, help="an adapter that all seeds go on from, if it is there")
    running.add_argument(
        "--held", type=Path, help="worlds that nothing is learnt from: read by all adapters at the end"
    )
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
