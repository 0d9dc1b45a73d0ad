"""The two commands everything starts with, on a machine with nothing but Python and git:

    python3 tasks.py run "question"   answers a question with tools, on a model that runs on this machine
    python3 tasks.py test             installs what the tests need and passes them all

Each makes its own virtual environment under `.venv/` first. `test --fast` takes two minutes, `test tests/engine` runs a
part. Other tasks: check (style and types), page (build the web page), docs (build the documentation), pictures (make
its pictures again; `--review`: the reviewed ones of the page), bench (measure the overhead), prove (the proofs of the
README: crash, plan, size, workspace; clients, behaviours), measure (any script of benchmarks/), peers (other engines
beside ours), reference (write the generated pages again), wheel (build the package), lock (write the lock files again),
lab (any program of lab/), lab-test (the tests of lab/).
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent
LOCKS = ROOT / "requirements"
ADAPTERS = ROOT / "packages" / "treadle-adapters"
SYSTEM_PROGRAMS = {
    "chromium-headless-shell": "chromium-headless-shell",
    "firefox-esr": "firefox-esr",
    "bwrap": "bubblewrap",
    "nginx": "nginx-light",
    "zsh": "zsh",
    "fish": "fish",
}
"""What the tests run that pip cannot install: each program and the Debian package it comes in."""
FAST = "not slow and not net and not model"
"""Which tests `test --fast` runs, besides leaving out the folders of FAST_WITHOUT."""
FAST_WITHOUT = ("web", "durable", "public")


def environment(name: str) -> Path:
    """The interpreter of a virtual environment with the packages of `requirements/<name>.lock`.

    It is created when it is missing, and again when the lock file or pyproject.toml has changed.
    """
    folder = ROOT / ".venv" / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    lock = LOCKS / f"{name}.lock"
    wanted = hashlib.sha256(lock.read_bytes() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    stamp = folder / "installed"
    if not python.exists() or not stamp.exists() or stamp.read_text() != wanted:
        say(f"setting up {folder.relative_to(ROOT)} (once)")
        venv.create(folder, with_pip=True, clear=folder.exists())
        pip = [str(python), "-P", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        if not install_with_uv(python, pip, lock):
            subprocess.run([*pip, "--require-hashes", "-r", str(lock)], check=True)
        if name != "wheel":  # which builds the package, and does not use it
            ours = ["-e", str(ROOT), "-e", str(ADAPTERS)]
            subprocess.run([*pip, "--no-deps", "--no-build-isolation", *ours], check=True)
        stamp.write_text(wanted)
    return python


def install_with_uv(python: Path, pip: list[str], lock: Path) -> bool:
    """Install a lock file with uv, which takes a sixth of pip's time; return whether uv could be had and did it."""
    if subprocess.run([*pip, "--require-hashes", "-r", str(LOCKS / "uv.txt")], stderr=subprocess.DEVNULL).returncode:
        return False
    uv = [str(python), "-P", "-m", "uv", "pip", "install", "--quiet", "--python", str(python)]
    return subprocess.run([*uv, "--require-hashes", "-r", str(lock)]).returncode == 0


def say(text: str) -> None:
    print(f"tasks: {text}", file=sys.stderr, flush=True)


def call(*command: object, **env: str) -> int:
    # Build machines often forbid bytecode on disk. Here it stays in this folder and spares a third of the tests' time.
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **env}
    return subprocess.run([str(part) for part in command], cwd=ROOT, env=environ).returncode


def run(arguments: list[str]) -> int:
    python = environment("run")
    return call(python, "-m", "treadle._cli.main", "run", *(arguments or ["What is 17 * 23 + 4?"]))


def test(arguments: list[str]) -> int:
    """Run all tests, with the checks of style and types beside them; `--fast` those that take two minutes."""
    with ThreadPoolExecutor() as pool:
        programs = pool.submit(install_system_programs)
        python = environment("test")
        programs.result()
    fast = "--fast" in arguments
    if arguments and not fast:
        return call(python, "-m", "pytest", *arguments)
    # Three workers more than there are cores: many tests wait for other programs.
    suite = [python, "-m", "pytest", "--workers", cores() + 3]
    if fast:
        prepare(python)
        return call(*suite, "-m", FAST, *(f"--ignore=tests/{name}" for name in FAST_WITHOUT))
    figures = ROOT / ".cache" / "coverage"
    shutil.rmtree(figures, ignore_errors=True)
    with ThreadPoolExecutor() as pool:
        checks = pool.submit(check, [])
        prepare(python)
        failed = call(*suite, TREADLE_COVERAGE=str(figures))
        return failed or call(python, "tests/coverage_floors.py", figures) or checks.result()


def prepare(python: Path) -> None:
    """Compile the source and build the page, before there are several processes that would each do it."""
    call(python, "-m", "compileall", "-q", "-j", "0", "src")
    call(python, "web/build.py")


def check(arguments: list[str]) -> int:
    """Check style and types; what is wrong is printed."""
    python = environment("test")
    ruff = [[python, "-m", "ruff", "check", "."], [python, "-m", "ruff", "format", "--check", "."]]
    codes = [call(*command) for command in ruff]
    # With more room for what lives shortly its collections take a sixth less of the time.
    types = call(python, "-m", "basedpyright", "--pythonpath", python, NODE_OPTIONS="--max-semi-space-size=128")
    return max(*codes, types)


def cores() -> int:
    """How many this process may use: a container often has fewer than the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def install_system_programs() -> None:
    """Install the programs outside Python that the tests use, on a build machine: CI=true, Debian, and we are root.

    On any other machine nothing is installed; the tests that need a program say which one is missing.
    """
    missing = [package for program, package in SYSTEM_PROGRAMS.items() if shutil.which(program) is None]
    if not missing or os.environ.get("CI") != "true" or not shutil.which("apt-get") or os.geteuid() != 0:
        return
    say(f"installing what the tests need: {', '.join(missing)}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *missing]):
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            say(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}")


def page(arguments: list[str]) -> int:
    """Build the page the server shows."""
    return call(environment("test"), "web/build.py", *arguments)


def docs(arguments: list[str]) -> int:
    """Build the documentation into site/."""
    return call(environment("test"), "-m", "mkdocs", "build", "--strict", *arguments)


def pictures(arguments: list[str]) -> int:
    """Make the pictures of the documentation again: terminal (needs tmux), page (needs chromium), drawings. With
    `--review` only the reviewed ones of each view of the page that look different now."""
    python = environment("test")
    if "--review" in arguments:
        return call(python, "-m", "pytest", "-q", "-n", "0", "tests/web/test_pictures.py", TREADLE_REVIEW="1")
    scripts = ("scripts/gen_reference.py", "scripts/terminal_pictures.py")
    tests = ["-m", "pytest", "-q", "-n", "0", "tests/web"]
    return sum(call(python, script) for script in scripts) or call(python, *tests, TREADLE_SCREENSHOTS="1")


def bench(arguments: list[str]) -> int:
    """Measure what Treadle adds to a model's time."""
    return call(environment("test"), "benchmarks/overhead.py", *arguments)


def prove(arguments: list[str]) -> int:
    """Run a proof: `prove crash`, `plan`, `size`, `workspace` of the README; `behaviours`, `clients` of their pages."""
    name, *rest = arguments or [""]
    if name not in PROOFS:
        say(f"which proof? {', '.join(PROOFS)}")
        return 2
    return call(environment("test"), PROOFS[name], *rest)


def measure(arguments: list[str]) -> int:
    """Run a script of benchmarks/ in the environment of the tests: `measure recall --case known`; without a name, which
    there are."""
    name, *rest = arguments or [""]
    if name not in measurements():
        known = "\n".join(f"  {name:<22} {line}" for name, line in measurements().items())
        say(f"{f'there is no measurement {name!r}' if name else 'which measurement?'}\n{known}")
        return 2 if name else 0
    return call(environment("test"), f"benchmarks/{name}.py", *rest)


def measurements() -> dict[str, str]:
    """The programs under benchmarks/ by name, with the first line of what each says about itself."""
    folder = ROOT / "benchmarks"
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        if "__main__" in path.read_text("utf-8") and (text := ast.get_docstring(tree)):
            found[path.stem] = text.partition("\n")[0]
    return found


def lab(arguments: list[str]) -> int:
    """Run a program of lab/ in the environment of the tests: `lab study.study report`, `lab training.build FILE`."""
    return call(environment("test"), "-m", *arguments, PYTHONPATH=str(ROOT / "lab"))


def lab_test(arguments: list[str]) -> int:
    """Run the tests of lab/."""
    return call(environment("test"), "-m", "pytest", "-n", cores(), *(arguments or ["lab/tests"]))


def reference(arguments: list[str]) -> int:
    """Write the pages under docs/reference/ again from the source."""
    return call(environment("test"), "scripts/gen_reference.py", *arguments)


def peers(arguments: list[str]) -> int:
    """Install other engines beside ours, with what reads and writes their runs, and show what the README says of them:
    the programs of the migration pages, a call that needs a person, a kill in the middle of one, sizes and times."""
    python = beside("peers", sys.executable)
    newer = next(filter(None, map(shutil.which, ("python3.13", "python3.12"))), "")
    for name in ("harbor", "terminal-bench"):  # of benchmarks; they are not made for Python 3.11
        if newer:
            beside(name, newer)
    ours = environment("test")
    programs = [
        "tests/test_migration.py",
        "tests/agent/test_guest.py",
        "tests/interop",
        "tests/record",
        "tests/tools/test_other_engines.py",
    ]
    checks = (["-m", "pytest", *programs], ["benchmarks/behaviour.py", python], ["benchmarks/compare.py", python])
    return next(filter(None, (call(ours, *check) for check in checks)), 0)


def beside(name: str, base: str) -> str:
    """The Python of an environment for packages of others, made when their list has changed."""
    folder = ROOT / ".venv" / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted, stamp = LOCKS / f"{name}.in", folder / "installed"
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        say(f"setting up {folder.relative_to(ROOT)} (once; hundreds of megabytes)")
        subprocess.run([base, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "-r", str(wanted)], check=True)
        stamp.write_text(wanted.read_text())
    return str(python)


def wheel(arguments: list[str]) -> int:
    """Build the wheel and the sdist into dist/, the page included."""
    return call(environment("wheel"), "-m", "hatchling", "build", *arguments)


def lock(arguments: list[str]) -> int:
    """Write the lock files again from pyproject.toml (needs `uv`)."""
    groups = {"run": ["local", "cli", "yaml"], "serve": ["local", "server", "yaml"], "test": ["all", "test"]}
    for name, extras in groups.items():
        chosen = [part for extra in extras for part in ("--extra", extra)]
        command = ["uv", "pip", "compile", "-q", "--universal", "--no-strip-extras", "--python-version", "3.11"]
        command += ["--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate", *chosen]
        command += ["pyproject.toml", "requirements/build.in", "-o", f"requirements/{name}.lock"]
        if code := call(*command):
            return code
    command = ["uv", "pip", "compile", "-q", "--universal", "--python-version", "3.11", "--generate-hashes"]
    command += ["--no-emit-index-url", "--no-header", "--no-annotate"]
    if code := call(*command, "requirements/wheel.in", "-o", "requirements/wheel.lock"):
        return code
    return call("uv", "pip", "compile", "-q", "--universal", "--generate-hashes", "--no-emit-index-url", "--no-header",
                "requirements/uv.in", "-o", "requirements/uv.txt")  # fmt: skip


PROOFS = {
    "behaviours": "benchmarks/prove_behaviours.py",
    "clients": "benchmarks/prove_clients.py",
    "crash": "benchmarks/crash_matrix.py",
    "plan": "benchmarks/dag_kill.py",
    "size": "benchmarks/install_size.py",
    "workspace": "benchmarks/workspace_trees.py",
}
TASKS = {
    "run": run,
    "test": test,
    "check": check,
    "page": page,
    "docs": docs,
    "pictures": pictures,
    "bench": bench,
    "prove": prove,
    "measure": measure,
    "lab": lab,
    "lab-test": lab_test,
    "reference": reference,
    "peers": peers,
    "wheel": wheel,
    "lock": lock,
}


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is what an older Python is given
        say("Treadle needs Python 3.11 or newer")
        return 2
    name, *arguments = sys.argv[1:] or ["help"]
    task = TASKS.get(name)
    if task is None:
        print(__doc__)
        return 0 if name == "help" else 2
    return task(arguments)


if __name__ == "__main__":
    sys.exit(main())
