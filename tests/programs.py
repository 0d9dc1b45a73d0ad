"""Run short programs, each in a process of its own that is forked from one which has imported Treadle already: most of
the time of a short program goes into importing.

Run as a program, this module reads the programs from its standard input and writes what each of them printed.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
import types
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

SECONDS = 120
"""Ends a program that hangs."""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def run_programs(programs: dict[str, str], folder: Path, **environ: str) -> dict[str, Ran]:
    """Run each source text, or each path of a file, in a folder of its own below `folder`; warnings are errors."""
    env = {"PATH": "", "PYTHONPATH": os.environ.get("PYTHONPATH", ""), **environ}
    wanted: list[dict[str, Any]] = []
    for number, program in enumerate(programs.values()):
        home = folder / str(number)
        home.mkdir()
        wanted.append({"program": program, "home": str(home), "env": {"HOME": str(home), "TREADLE_STATE": str(home)}})
    done = subprocess.run(
        [sys.executable, "-W", "error", __file__], input=json.dumps(wanted), capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: Ran(*result) for name, result in zip(programs, json.loads(done.stdout), strict=True)}


def main() -> None:
    import treadle
    from treadle import testing

    for module in (treadle, testing):  # what is imported at its first use
        for name in module.__all__:
            getattr(module, name)
    gc.freeze()  # what is shared with the programs stays so: a collection would touch, and so copy, all of it
    results: list[tuple[int, str, str]] = []
    for wanted in json.load(sys.stdin):
        home = Path(wanted["home"])
        if not (child := os.fork()):
            become(wanted)
        _, status = os.waitpid(child, 0)
        out, err = (Path(f"{home}.{name}").read_text("utf-8") for name in ("out", "err"))
        results.append((os.waitstatus_to_exitcode(status), out, err))
    json.dump(results, sys.stdout)


def become(wanted: dict[str, Any]) -> NoReturn:
    """Do in this process what a new interpreter would do with the program, but for taking itself apart at the end."""
    signal.alarm(SECONDS)
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(f"{wanted['home']}.{name}", os.O_CREAT | os.O_WRONLY)
        os.dup2(file, number)
        os.close(file)
    os.chdir(wanted["home"])
    os.environ.update(wanted["env"])
    program = wanted["program"]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv, sys.path[0] = ["-c"], ""
    if "\n" not in program:
        main.__file__ = program
        sys.argv, sys.path[0] = [program], str(Path(program).parent)
        program = Path(program).read_text("utf-8")
    code = 0
    try:
        exec(compile(program, main.__dict__.get("__file__", "<string>"), "exec"), main.__dict__)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # pyright: ignore
    atexit._run_exitfuncs()
    main.__dict__.clear()
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
