"""A release can be made: one version, a wheel and an sdist that work elsewhere, signed provenance, an image."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
import urllib.request
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from install_size import install
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from treadle import __version__
from treadle._local.weights.adapters import TAUGHT

ROOT = Path(__file__).resolve().parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
RELEASE = ROOT / ".github" / "workflows" / "release.yml"
BASE_IMAGE = 135e6
"""python:3.13-slim with OpenMP, unpacked."""
BUILD_FILES = ("src", "web", "packages", "requirements", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE")


def run(*command: object, **options: Any) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=500, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, continued lines joined, comments left out."""
    lines = [line for line in DOCKERFILE.splitlines() if not line.lstrip().startswith("#")]
    whole = "\n".join(lines).replace("\\\n", " ")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in whole.splitlines() if line.strip()]


def of_kind(kind: str) -> list[str]:
    return [text for name, text in instructions() if name == kind]


def copy_of_the_tree(folder: Path) -> Path:
    """What an image or a package is built from: the files of .dockerignore's list, and nothing else."""
    for name in BUILD_FILES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        else:
            shutil.copy(source, folder / name)
    return folder


# ---- the version


def test_the_version_is_in_one_place():
    told = (ROOT / "pyproject.toml").read_text("utf-8")
    assert 'dynamic = ["version"]' in told
    assert 'path = "src/treadle/_version.py"' in told
    spelled = re.compile(rf'(?:version|VERSION)\w*"?\s*[:=]\s*"{re.escape(__version__)}"')
    places = [path for path in (ROOT / "src").rglob("*.py") if spelled.search(path.read_text("utf-8"))]
    assert [path.name for path in places] == [] or [path.name for path in places] == ["_version.py"]
    wheels = [
        name
        for page in (ROOT / "docs").rglob("*.md")
        for name in re.findall(r"treadle-([\d.]+)-py3", page.read_text("utf-8"))
    ]
    assert set(wheels) <= {__version__}  # what people are told to install
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    released = [name for name in re.findall(r"^## (\S+)", changes, re.MULTILINE) if name != "Unreleased"]
    assert released[0] == __version__


# ---- packages


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and the sdist, without the page: that is built by tests/web and by the slow test below."""
    tree = copy_of_the_tree(tmp_path_factory.mktemp("tree"))
    for page in tree.rglob("_server/static"):
        shutil.rmtree(page)
    (tree / "lab").mkdir()
    (tree / "lab" / "README.md").write_text("not shipped")
    build = (sys.executable, "-m", "hatchling", "build")
    run(*build, cwd=tree, env={**os.environ, "TREADLE_WITHOUT_PAGE": "1"})
    run(*build, "-t", "wheel", "-d", tree / "dist" / "adapters", cwd=tree / "packages" / "treadle-adapters")
    return tree / "dist"


def test_the_wheel_has_what_it_needs_and_no_more(built: Path):
    [wheel] = built.glob("*.whl")
    assert wheel.name == f"treadle-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        entries = file.read(f"treadle-{__version__}.dist-info/entry_points.txt").decode()
    assert {"treadle/py.typed", "treadle/__main__.py", f"treadle-{__version__}.dist-info/licenses/LICENSE"} <= set(
        names
    )
    assert "treadle = treadle._cli.main:main" in entries
    assert [name for name in names if not name.startswith(("treadle/", f"treadle-{__version__}.dist-info/"))] == []


def test_neither_the_laboratory_nor_the_adapters_are_shipped(built: Path):
    [wheel], [sdist] = built.glob("*.whl"), built.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        folders = {Path(name).parts[1] for name in file.getnames()}
    assert not {"lab", "packages"} & folders
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".gguf.xz")]
    assert wheel.stat().st_size < 3e6


def test_the_adapters_are_data_and_nothing_else(built: Path):
    [wheel] = (built / "adapters").glob("treadle_adapters-*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {"__init__.py", *(f"{adapter.name}.gguf.xz" for adapter in TAUGHT.values())}
    assert names == {f"treadle_adapters/{name}" for name in expected}


def test_the_sdist_can_be_built_from(built: Path):
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert {
        "pyproject.toml",
        "hatch_build.py",
        "README.md",
        "LICENSE",
        "src/treadle/_version.py",
        "web/build.py",
    } <= names


def test_the_wheel_works_in_another_environment(built: Path, tmp_path: Path):
    """With our dependencies, which are here already; the slow test installs those too."""
    python = empty_environment(tmp_path / "venv")
    install(python, "--no-deps", *built.glob("*.whl"), compiled=False)
    packages = run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip()
    Path(packages, "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    program = "import treadle; agent = treadle.Agent(treadle.ScriptedModel(['Hi']), tools=None); "
    program += "print(treadle.__file__, agent.run_sync('?').answer)"
    env = {"PATH": "", "HOME": str(tmp_path), "TREADLE_STATE": str(tmp_path)}
    where, answer = run(python, "-c", program, env=env, cwd=tmp_path).split()
    assert Path(where).is_relative_to(tmp_path / "venv")
    assert answer == "Hi"
    assert __version__ in run(python.with_name("treadle"), "version", env=env, cwd=tmp_path)

    program = "import treadle; print(treadle.LocalModel('qwen2.5-coder-1.5b').profile.adapter or 'none')"
    command, options = [python, "-c", program], {"capture_output": True, "text": True, "env": env, "cwd": tmp_path}
    without = subprocess.run(command, **options)
    assert without.stdout == "none\n"
    [line] = without.stderr.splitlines()
    assert line.endswith("pip install ./packages/treadle-adapters")
    install(python, "--no-deps", *(built / "adapters").glob("*.whl"), compiled=False)
    with_them = subprocess.run(command, **options)
    assert (with_them.stdout, with_them.stderr) == (f"{TAUGHT['qwen2.5-coder-1.5b'].name}\n", "")


def empty_environment(folder: Path) -> Path:
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python"


# ---- provenance


def test_a_release_is_attested_and_published_without_a_secret():
    text = RELEASE.read_text("utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert jobs["build"]["permissions"] == {"contents": "read", "id-token": "write", "attestations": "write"}
    used = [step.get("uses", "").partition("@")[0] for step in jobs["build"]["steps"]]
    assert "actions/attest-build-provenance" in used
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    [publish] = [step for step in jobs["publish"]["steps"] if "pypi-publish" in step["uses"]]
    assert publish["with"] == {"attestations": True}
    assert "secrets." not in text


def test_the_tag_of_a_release_is_checked():
    steps = yaml.safe_load(RELEASE.read_text("utf-8"))["jobs"]["build"]["steps"]
    [check] = [step["run"] for step in steps if step.get("name") == "The tag is the version"]
    for tag, code in ((f"v{__version__}", 0), ("v9.9.9", 1)):
        env = {**os.environ, "GITHUB_REF_NAME": tag}
        assert subprocess.run(["bash", "-ec", check], cwd=ROOT, env=env).returncode == code


def test_the_workflows_use_tasks_that_exist():
    tasks = (ROOT / "tasks.py").read_text("utf-8")
    for path in RELEASE.parent.glob("*.yml"):
        for name in re.findall(r"tasks\.py (\w+)", path.read_text("utf-8")):
            assert f"def {name}(" in tasks


# ---- the image


def test_the_image_is_not_root_and_says_whether_it_is_well():
    kinds = [name for name, _ in instructions()]
    assert kinds.count("FROM") == 2
    last = kinds[len(kinds) - kinds[::-1].index("FROM") :]
    assert last.index("USER") < last.index("ENTRYPOINT")
    assert of_kind("USER") == ["10001"]
    assert "/health" in of_kind("HEALTHCHECK")[0]
    known = {
        "ARG",
        "FROM",
        "COPY",
        "WORKDIR",
        "RUN",
        "LABEL",
        "ENV",
        "USER",
        "VOLUME",
        "EXPOSE",
        "HEALTHCHECK",
        "ENTRYPOINT",
    }
    assert set(kinds) <= known


def test_what_the_image_copies_is_there_and_not_ignored():
    kept = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE)
    assert sorted(kept) == sorted(BUILD_FILES)
    assert all((ROOT / name).exists() for name in kept)
    assert (ROOT / "requirements" / "serve.lock").exists()


def test_the_image_is_small_enough():
    """What would be installed into it is installed here, too: the sum of its files and of the base image."""
    compare = (ROOT / "benchmarks" / "compare.py").read_text("utf-8")
    closure = re.findall(r'CLOSURE = """(.*?)"""', compare, re.DOTALL)[0]
    count, size = json.loads(run(sys.executable, "-c", closure, "treadle[local,server,yaml]"))
    assert count > 15
    assert BASE_IMAGE + size < 300e6


def test_the_server_of_the_image_becomes_healthy(tmp_path: Path):
    """The entry point and the health check as they are written, with another port and a scripted model."""
    (tmp_path / "script.json").write_text('["Hello."]')
    port = free_port()
    entry = [part.replace("8460", str(port)) for part in json.loads(of_kind("ENTRYPOINT")[0])]
    probe = json.loads("[" + of_kind("HEALTHCHECK")[0].partition("[")[2].replace("8460", str(port)))
    env = {**os.environ, "TREADLE_TOKEN": "only-for-this-test", "TREADLE_STATE": str(tmp_path)}
    command = [sys.executable, "-m", *entry, "--model", f"scripted:{tmp_path / 'script.json'}"]
    server = subprocess.Popen(command, env=env, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while subprocess.run([sys.executable, *probe[1:]], capture_output=True).returncode:
            assert server.poll() is None
            assert time.monotonic() < deadline  # only guards against a server that never starts
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as response:
            assert json.load(response)["version"] == __version__
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.slow
@pytest.mark.long  # the release builds the image itself
def test_the_commands_of_the_image_work_in_a_scratch_folder(tmp_path: Path):
    """The first stage, line by line, in a scratch folder: a wheel with the page, a clean install of it."""
    (tmp_path / "src").mkdir()
    copy_of_the_tree(tmp_path / "src")
    build = [
        text for name, text in instructions()[: [name for name, _ in instructions()].index("LABEL")] if name == "RUN"
    ]
    env = {**os.environ, "PYTHONPATH": "", **dict(text.split("=", 1) for text in of_kind("ARG"))}
    for command in build:
        here = command.replace("/opt/treadle", f"{tmp_path}/opt").replace("/wheels", f"{tmp_path}/wheels")
        here = re.sub(r"(?<![\w/-])pip ", f"{sys.executable} -m pip ", here).replace(
            "python -m venv", f"{sys.executable} -m venv"
        )
        run("bash", "-ec", here, cwd=tmp_path / "src", env=env)
    packages = next((tmp_path / "opt" / "lib").glob("python*/site-packages"))
    assert (packages / "treadle" / "_server" / "static" / "index.html").exists()
    assert (packages / "treadle" / "_server" / "static" / "exported" / "page.js").exists()
    size = sum(
        path.stat().st_size
        for path in (tmp_path / "opt").rglob("*")
        if path.is_file() and not path.is_symlink() and path.suffix != ".xz"  # weights do not count
    )
    assert BASE_IMAGE + size < 300e6, size
    told = run(tmp_path / "opt" / "bin" / "treadle", "version", env={"PATH": "", "HOME": str(tmp_path)})
    assert __version__ in told


def test_the_lock_names_the_extras_that_packages_ask_of_each_other():
    """Where it does not, pip looks for `httpx[http2]` (say) by itself, finds a version newer than the locked one as
    soon as there is one, and refuses it for want of a hash: from that day on no environment can be made."""
    locked = {
        requirement.name: requirement.extras
        for line in (ROOT / "requirements" / "test.lock").read_text("utf-8").splitlines()
        if line[:1].isalnum()
        for requirement in [Requirement(line.removesuffix("\\").strip())]
    }
    asked = {
        (canonicalize_name(requirement.name), extra)
        for distribution in importlib.metadata.distributions()
        if distribution.name != "treadle"
        for requirement in map(Requirement, distribution.requires or ())
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        for extra in requirement.extras
    }
    assert asked
    assert {(name, extra) for name, extra in asked if name in locked and extra not in locked[name]} == set()
