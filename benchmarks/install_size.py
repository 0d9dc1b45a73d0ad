"""The size of the core install: how many distributions and megabytes `pip install .` brings into an empty environment.

    python benchmarks/install_size.py                  # in a temporary folder, deleted afterwards
    python benchmarks/install_size.py --into FOLDER    # keeps the environment: the library and nothing else, not even
    pip

The page of the server (0.3 MB, which may have to be built) is included with `--page`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZES = """
import importlib.metadata, importlib.util, json, os, sysconfig
rows = []
for dist in importlib.metadata.distributions():
    paths = {os.path.realpath(dist.locate_file(file)) for file in dist.files or ()}
    found = {path for path in paths if os.path.isfile(path) and not path.endswith(".pyc")}
    caches = [importlib.util.cache_from_source(path) for path in found if path.endswith(".py")]
    name, size = dist.metadata["Name"], sum(map(os.path.getsize, found))
    compiled = sum(os.path.getsize(path) for path in caches if os.path.isfile(path))
    rows.append({"name": name, "version": dist.version, "bytes": size, "compiled": compiled})
total = 0
for folder, _, names in os.walk(sysconfig.get_paths()["purelib"]):
    total += sum(os.path.getsize(os.path.join(folder, name)) for name in names)
print(json.dumps({"distributions": rows, "folder": total}))
"""


def core_environment(folder: Path, *, page: bool = False, compiled: bool = True) -> Path:
    """The interpreter of a new environment that holds the core install of this tree and nothing else."""
    venv.create(folder, with_pip=False, clear=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    install(python, ROOT, compiled=compiled, TREADLE_WITHOUT_PAGE="0" if page else "1")
    return python


def install(python: Path, *what: object, compiled: bool = True, **env: str) -> None:
    """Install into another environment: with uv where this one has it, which takes a tenth of pip's time."""
    if importlib.util.find_spec("uv"):
        command = ["uv", "pip", "install", "--python", python, "--refresh-package", "treadle"]  # not an earlier build
        command += ["--compile-bytecode"] if compiled else []
    else:
        command = ["pip", "--python", python, "--disable-pip-version-check", "install"]
        command += [] if compiled else ["--no-compile"]
    subprocess.run([sys.executable, "-m", *command, "--quiet", *what], check=True, env=os.environ | env)


def sizes(python: Path) -> dict[str, object]:
    """The bytes of each distribution, compiled files apart, and the bytes of the whole folder on disk."""
    return json.loads(subprocess.run([python, "-c", SIZES], check=True, capture_output=True, text=True).stdout)


def report(measured: dict[str, object]) -> str:
    rows = sorted(measured["distributions"], key=lambda row: -row["bytes"])
    lines = ["| distribution | version | MB | MB compiled |", "|---|---|---|---|"]
    lines += [
        f"| {row['name']} | {row['version']} | {row['bytes'] / 1e6:.2f} | {row['compiled'] / 1e6:.2f} |" for row in rows
    ]
    total = sum(row["bytes"] for row in rows) / 1e6
    lines.append(f"| **{len(rows)} distributions** | | **{total:.1f}** | **{measured['folder'] / 1e6 - total:.1f}** |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--into", type=Path)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = sizes(core_environment(args.into or Path(folder), page=args.page, compiled=not args.json))
    print(json.dumps(measured) if args.json else report(measured))


if __name__ == "__main__":
    main()
