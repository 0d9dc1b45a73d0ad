"""Breaks one behaviour of docs/behaviours.md after the other, in a copy of the source: does its test notice?

    python3 tasks.py prove behaviours                  # every row with a mutation; those already proven are left out
    python3 tasks.py prove behaviours --jobs 4 --again --only test_react_loop
    python3 tasks.py prove behaviours --write          # put what is proven, and the date, on the page

What was found is kept in .cache/behaviours.json until the mutation or its file changes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MUTATIONS = {
    test: (one["file"], one["old"], one["new"])
    for test, one in tomllib.loads((ROOT / "benchmarks" / "mutations.toml").read_text("utf-8")).items()
}
PAGE, KEPT = ROOT / "docs" / "behaviours.md", ROOT / ".cache" / "behaviours.json"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
STATED = re.compile(r"^Proven by mutation: .*$", re.MULTILINE)


def rows() -> list[list[tuple[str, str]]]:
    """The tests of each row: file and name."""
    return [found for line in PAGE.read_text("utf-8").splitlines() if (found := NAMED.findall(line))]


def fingerprint(test: str) -> str:
    file, old, new = MUTATIONS[test]
    source = (ROOT / "src" / "treadle" / file).read_bytes()
    return hashlib.sha256(b"\0".join([source, old.encode(), new.encode()])).hexdigest()[:16]


def notices(path: str, test: str) -> str:
    """What became of the test beside the broken code: `failed` proves the row."""
    file, old, new = MUTATIONS[test]
    with tempfile.TemporaryDirectory(prefix="treadle-mutation-") as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__", "static"))
        static = "treadle/_server/static"
        (copy / static).symlink_to(ROOT / "src" / static)  # the page, which a test may build first
        target = copy / "treadle" / file
        source = target.read_text("utf-8")
        if source.count(old) < 1:
            return "the text to replace is not there"
        target.write_text(source.replace(old, new, 1), "utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", f"{path}::{test}"]
        env = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return "failed"  # what hangs is noticed
    if done.returncode == 1 and "\nFAILED " in done.stdout:  # an ERROR is of a fixture, and shows nothing
        return "failed"
    return "survived" if done.returncode == 0 else f"pytest ended with {done.returncode}: {done.stdout[-300:]}"


def stated(proven: set[str], date: str) -> str:
    whole = rows()
    count = sum(any(name in proven for _, name in row) for row in whole)
    return (
        f"Proven by mutation: of {len(whole)} rows {count} (`python3 tasks.py prove behaviours`), last run {date}. "
        "A small change of the code that breaks the behaviour makes the row's test fail."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="also those that are proven")
    parser.add_argument("--only", nargs="+", default=[], metavar="TEST")
    parser.add_argument("--write", action="store_true", help="put the result on docs/behaviours.md")
    args = parser.parse_args()
    kept: dict[str, dict[str, str]] = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    files = {name: path for row in rows() for path, name in row}
    wanted = [name for name in MUTATIONS if not args.only or name in args.only]
    left = [name for name in wanted if args.again or kept.get(name) != {"of": fingerprint(name), "became": "failed"}]

    def prove(name: str) -> None:
        kept[name] = {"of": fingerprint(name), "became": notices(files[name], name)}
        print(f"{kept[name]['became']:10} {name}", flush=True)
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(dict(sorted(kept.items())), indent=1), "utf-8")

    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(prove, left))
    proven = {name for name in MUTATIONS if kept.get(name) == {"of": fingerprint(name), "became": "failed"}}
    line = stated(proven, time.strftime("%Y-%m-%d"))
    if args.write:
        PAGE.write_text(STATED.sub(lambda _: line, PAGE.read_text("utf-8")), "utf-8")
    without = [row[0][1] for row in rows() if not any(name in MUTATIONS for _, name in row)]
    print(f"{line}\nwithout a mutation: {', '.join(without)}")
    return 0 if proven >= set(wanted) else 1


if __name__ == "__main__":
    raise SystemExit(main())
