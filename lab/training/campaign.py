"""python -m training.campaign run MODEL.gguf OUT --name NAME --seeds 1,2,3 --data 'DATA-{seed}.jsonl.xz' --bfcl DATA
python -m training.campaign collect OUT FOLDER

`run`: all seeds of one model, each from nothing (or from the adapter `--begin`) and, where the name of the data says
so, with data of its own; their mean; the figures of all, and what the adapter before (`--old`) does where nothing was
learnt from. Given again after an interruption it does what is left. `collect`: what is finished, in files that are
small enough to travel: figures, logs, and packed adapters in pieces.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

from training import adapter_file, pieces, soup
from training.pack import pack
from treadle._inspect.evals.stats import wilson

TRIES = 3
DEVELOPMENT = "own,later,latest,newest,ninth,tenth,eleventh,alone,dev,known"
"""The sets that an adapter has to be evaluated on to be taken."""
OF_SEEDS = "own,latest,newest"
"""Those that tell how far seeds differ."""
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


def blend(options: argparse.Namespace, seeds: list[Path]) -> Path:
    """The mean of the seeds, in the rank of one."""
    path = options.out / f"{options.name}-mean.gguf"
    if not path.is_file():
        parts = [adapter_file.read(one) for one in seeds]
        mixed = soup.mean(parts)
        adapter_file.write(path, mixed)
        say(options.out, f"{path.stem}: {soup.lost(parts, mixed):.1%} of the mean change is lost by its rank")
    return path


def pack_aside(out: Path, adapters: list[Path]) -> None:
    """So that nothing has to wait for it when they are collected."""
    for path in adapters:
        start(out, "pack.log", "pack", path, out / "packed")


def read_held(options: argparse.Namespace, made: list[Path]) -> subprocess.Popen[bytes] | None:
    """Begins to read what nothing was learnt from, with each adapter that there is, also on its way."""
    if options.held is None:
        return None
    on_the_way = sorted((options.out / "on_the_way").glob("*.gguf"))
    before = [path for path in (options.old, options.begin) if path and path.is_file()]
    adapters = [*before, *made, *on_the_way]
    return start(options.out, "held.log", "held", options.model, options.held, *adapters)


def evaluate_all(options: argparse.Namespace, sets_of: dict[Path, str]) -> None:
    """Side by side: decoding waits more than it computes."""
    working = [
        start(
            options.out, f"evaluate-{path.stem}.log", "evaluate", options.model, options.out, "--adapters", path,
            "--sets", sets, "--bfcl", options.bfcl, "--rows", options.rows, "--tasks", options.tasks,
        )
        for path, sets in sets_of.items()
    ]  # fmt: skip
    for path, process in zip(sets_of, working, strict=True):
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
    best = blend(options, seeds) if len(seeds) > 1 else seeds[0]
    pack_aside(out, [best])
    reading = read_held(options, [best, *(seed for seed in seeds if seed != best)])
    of_best = f"{DEVELOPMENT},test" if options.test else DEVELOPMENT
    evaluate_all(options, {best: of_best, **{seed: OF_SEEDS for seed in seeds if seed != best}})
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
        more = f"{more} errors: {found['errors']}" if found.get("errors") else more
        lines.append(f"{path.stem:<28}{found['right']:>5} of {found['of']:<5}{low:.0%} to {high:.0%}  {more}")
    return "\n".join(lines)


def collect(out: Path, folder: Path, files: int, again: bool = False) -> None:
    """The figures and logs in one file; adapters that have not been collected yet, the mean first, as many as fit into
    that number of files: one that is too large for a file is in pieces with hashes."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / f"{out.name}-figures.tar.gz", "w:gz") as archive:
        for path in sorted([*out.glob("*.json"), *out.glob("*.log")]):
            archive.add(path, path.name)
    made = [path for path in out.glob("*.gguf") if re.fullmatch(r".*-(mean|\d+)", path.stem)]
    first = sorted(made, key=lambda path: (not path.stem.endswith("-mean"), path.stem))
    for path in first:
        mark = out / "packed" / f"{path.stem}.collected"
        if mark.is_file() and not again:
            continue
        packed = out / "packed" / f"{path.stem}.gguf.xz"
        if not packed.is_file():
            pack(path, out / "packed")
        count = 1 if packed.stat().st_size <= PIECE else 1 - -packed.stat().st_size // PIECE
        if count > files:
            print(f"{path.stem} takes {count} files and is left for the next time (--files)")
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
    running.add_argument("--held", help="files of what nothing is learnt from, read by all adapters at the end")
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
