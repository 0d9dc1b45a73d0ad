"""Treadle in the peers bench: bare loops, Treadle and other engines do the same job against one server, in one table.

    python benchmarks/peers/run.py FOLDER                    # FOLDER: the peers bench (or PEERS_BENCH in the
    environment) python benchmarks/peers/run.py FOLDER --repeats 1 --measures all python benchmarks/peers/run.py FOLDER
    --check            # one quick run of every runner, nothing measured

The bench itself is not changed: our runner is added to a copy in a temporary folder. Environments are created under
BENCH_VENVS (see there) and kept; Treadle's is created each time, from this tree, with the core install only. All
figures of a table come from one run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
INSTALL = HERE.parent / "install_size.py"
PEER_VENVS = ["bare", "langgraph", "pydantic_ai", "openai_agents"]
RUNNERS = {
    "bare_httpx": "bare",
    "floor_aiohttp": "bare",
    "floor_rawsock": "bare",
    "treadle_run": "treadle",
    "langgraph_run": "langgraph",
    "pydantic_ai_run": "pydantic_ai",
    "openai_agents_run": "openai_agents",
}


def copy_with_ours(bench: Path, into: Path) -> Path:
    copy = into / "peers"
    shutil.copytree(bench, copy, ignore=shutil.ignore_patterns("results*", "round*", "__pycache__"))
    shutil.copy(HERE / "treadle_run.py", copy / "runners")
    with (copy / "venvs.toml").open("a") as file:
        file.write(f"\ntreadle = [{json.dumps(str(HERE.parent.parent))}]\n")
    return copy


def set_up(copy: Path, venvs: Path, *, keep: bool) -> None:
    missing = [name for name in PEER_VENVS if not (venvs / name / "bin" / "python").exists()]
    if missing:
        subprocess.run([sys.executable, copy / "setup_venvs.py", "--only", ",".join(missing)], check=True)
    if not keep or not (venvs / "treadle" / "bin" / "python").exists():
        subprocess.run([sys.executable, INSTALL, "--into", venvs / "treadle"], check=True, stdout=subprocess.DEVNULL)


def check(copy: Path, venvs: Path) -> int:
    """Whether every runner does the job: answer, streamed pieces, in-process model."""
    server = subprocess.Popen([venvs / "bare/bin/python", copy / "fake_server.py"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    failed = 0
    try:
        env = {
            **os.environ,
            "BENCH_URL": f"http://127.0.0.1:{json.loads(server.stdout.readline())['port']}",
            "OPENAI_API_KEY": "sk-fake",
        }
        for runner, name in RUNNERS.items():
            command = [venvs / name / "bin/python", copy / "worker.py", runner, "check"]
            output = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
            print(runner, output.stdout.strip() or output.stderr[-500:], flush=True)
            failed += "FINAL" not in output.stdout
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", nargs="?", default=os.environ.get("PEERS_BENCH"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--measures", default="all,growth,conc,cold")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--keep", action="store_true", help="do not create Treadle's environment again")
    parser.add_argument("--out", type=Path, help="also keep the table, the samples and their summary under this name")
    args = parser.parse_args()
    if not args.bench or not (Path(args.bench) / "bench.py").exists():
        parser.error("give the folder of the peers bench, or set PEERS_BENCH")
    venvs = Path(os.environ.setdefault("BENCH_VENVS", str(Path(tempfile.gettempdir()) / "bench" / "venvs")))
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_with_ours(Path(args.bench), Path(folder))
        set_up(copy, venvs, keep=args.keep)
        if args.check:
            return check(copy, venvs)
        out = args.out.resolve() if args.out else Path(folder) / "treadle"
        options = [
            "--only",
            ",".join(RUNNERS),
            "--measures",
            args.measures,
            "--repeats",
            str(args.repeats),
            "--out",
            str(out),
            "--fresh",
        ]
        return subprocess.run([sys.executable, copy / "bench.py", *options]).returncode


if __name__ == "__main__":
    sys.exit(main())
