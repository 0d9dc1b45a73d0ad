"""python -m training.carry FOLDER --bfcl DATA --data ONE.jsonl.xz TWO.jsonl.xz --weights 0.5b=FILE 1.5b=FILE

Everything that a machine without a network needs, in parcels that are small enough to travel one at a time: the first
has wheels and data, each other one a piece of weights. `sh lab/training/device.sh arrive PARCEL` takes one there.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from training import bfcl, pieces

WHEELS = ("msgspec", "jsonschema-rs", "json-repair", "aiohttp", "gguf", "llguidance", "tzdata")
PRESENT = ("numpy", "torch", "transformers", "tokenizers", "safetensors")
"""What the machine has itself, and what must not be carried with others as their requirement."""


def wheels(folder: Path, python: str, platform: str) -> None:
    """With what they require, for the Python and the processor there."""
    platforms = [platform.replace("2014", version) for version in ("2014", "_2_28", "_2_31", "_2_34")]
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder), "--only-binary", ":all:",
        "--python-version", python, *(f"--platform={name}" for name in platforms), *WHEELS,
    ]  # fmt: skip
    subprocess.run(command, check=True)
    for wheel in folder.glob("*.whl"):
        if wheel.name.split("-")[0].replace("_", "-").lower() in PRESENT:
            wheel.unlink()


def rows(source: Path, target: Path) -> None:
    """The files of the leaderboard that are used."""
    (target / "possible_answer").mkdir(parents=True)
    for category in bfcl.CATEGORIES:
        name = f"BFCL_v4_{category}.json"
        shutil.copy(source / name, target / name)
        if (source / "possible_answer" / name).is_file():
            shutil.copy(source / "possible_answer" / name, target / "possible_answer" / name)


def parcels(folder: Path, weights: dict[str, Path], size: int) -> list[Path]:
    """One for each piece of weights, the smallest model first, so that its training begins while others travel."""
    made: list[Path] = []
    for name, path in sorted(weights.items(), key=lambda pair: pair[1].stat().st_size):
        split = folder / "all" / name
        for piece in pieces.split(path, split, size):
            parcel = folder / f"{len(made) + 1:03d}"
            (parcel / "pieces" / name).mkdir(parents=True)
            shutil.copy(split / pieces.LIST, parcel / "pieces" / name / pieces.LIST)
            piece.rename(parcel / "pieces" / name / piece.name)
            made.append(parcel)
    shutil.rmtree(folder / "all", ignore_errors=True)
    return made


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bfcl", type=Path, required=True)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="a file for each seed")
    parser.add_argument("--held", type=Path, help="conversations to compare recipes by: training.build --held")
    parser.add_argument("--weights", nargs="+", default=[], help="name=file")
    parser.add_argument("--megabytes", type=int, default=44)
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--platform", default="manylinux2014_x86_64")
    options = parser.parse_args()
    if options.folder.exists():
        raise SystemExit(f"{options.folder} is there already: remove it, or use another")
    first = options.folder / "000"
    (first / "data").mkdir(parents=True)
    wheels(first, options.python, options.platform)
    rows(options.bfcl, first / "data" / "bfcl")
    for seed, path in enumerate(options.data, 1):
        shutil.copy(path, first / "data" / f"conversations-{seed}.jsonl.xz")
    if options.held:
        for kind in ("", "listings-"):
            source = options.held.with_name(f"{kind}{options.held.name}")
            shutil.copy(source, first / "data" / f"{kind}held.jsonl.xz")
    weights = {name: Path(path) for name, _, path in (entry.partition("=") for entry in options.weights)}
    made = [first, *parcels(options.folder, weights, options.megabytes * 1_000_000)]
    for parcel in made:
        size = sum(path.stat().st_size for path in parcel.rglob("*") if path.is_file())
        names = sorted({path.parent.name for path in parcel.glob("pieces/*/*")}) or ["wheels and data"]
        print(f"{parcel}  {size / 1e6:6.1f} MB  {' '.join(names)}")


if __name__ == "__main__":
    main()
