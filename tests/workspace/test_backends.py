"""The folders of the backends, and what a program in them can see, change and reach."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.kit import call

from treadle import Agent, ConfigError, ScriptedModel, ToolContext, Workspace, fork, open_journal, tool
from treadle._types.errors import ToolError
from treadle._types.events import ToolDone, TreeSaved, WorkspaceOpened
from treadle._workspace import backends, overlay, processes
from treadle._workspace.backends import Container, Copy, LocalMachine, Place, Sandbox, can_isolate, plain_environment
from treadle._workspace.ssh import Ssh
from treadle._workspace.workspace import machine_of
from waiting import eventually

needs_isolation = pytest.mark.skipif(not can_isolate(), reason="bubblewrap cannot be used here")


def run_in(machine: Any, script: str, *, env: Mapping[str, str] | None = None, read_only: bool = False) -> str:
    command = machine.command(["sh", "-c", script], env=env, read_only=read_only)
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return (done.stdout + done.stderr).strip()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for name in ("source", "store/runs/own"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "store" / "trees.db").write_text("other runs")
    return Place(tmp_path / "source", tmp_path / "store" / "runs" / "own", f"test-{tmp_path.name}")


@pytest.fixture(params=["overlay", "copy"])
def layered(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a sandbox is an overlay, or the copy that it is where overlays are refused."""
    if request.param == "copy":
        monkeypatch.setattr(overlay, "_MOUNT", "echo refused >&2; exit 1")
    return request.param == "overlay"


@needs_isolation
def test_a_sandbox_shows_its_folder_and_nothing_else_of_the_person(place: Place, layered: bool):
    (place.source / "below").write_text("the person's")
    machine: Any = Sandbox().open(place)
    assert (machine.overlay is not None) == layered
    place.own.mkdir(exist_ok=True)
    assert not machine.reaches_out
    assert run_in(machine, "pwd; echo x > a; cat a").split() == [str(machine.shown), "x"]
    assert (machine.root / "a").read_text() == "x\n"
    assert (run_in(machine, "cat below; echo mine > below") == "the person's") == layered
    assert (place.source / "below").read_text() == "the person's"
    assert sorted(path.name for path in place.source.iterdir()) == ["below"]
    (Path.home() / ".treadle-test").touch()
    try:
        hidden = [str(Path.home() / ".treadle-test"), str(place.own.parents[1] / "trees.db")]
        hidden += [str(place.own) if layered else str(place.source)]
        assert all("No such file" in run_in(machine, f"ls {path}") for path in hidden)
    finally:
        (Path.home() / ".treadle-test").unlink()
    assert "Read-only" in run_in(machine, "touch /usr/x")
    assert "Read-only" in run_in(machine, "mount -o remount,bind,rw /usr; touch /usr/x")
    assert "Read-only" in run_in(machine, 'mount -o remount,bind,rw "$PWD"; touch c', read_only=True)
    assert "No such file" in run_in(machine, "ls /home")
    assert run_in(machine, "tail -n +3 /proc/net/dev | cut -d: -f1") == "lo"
    assert "SECRET" not in run_in(machine, "env")
    machine.close()


@needs_isolation
@pytest.mark.parametrize("backend", [Copy(), Sandbox()])
def test_a_reading_command_cannot_write(place: Place, backend: Any):
    machine = backend.open(place)
    (machine.root / "a").write_text("1")
    out = run_in(machine, "cat a; echo 2 > a; touch b; rm a; touch /tmp/x && rm /tmp/x && echo scratch", read_only=True)
    assert out.startswith("1")
    assert "scratch" in out
    assert [path.read_text() for path in machine.root.iterdir()] == ["1"]
    machine.close()


def test_commands_get_an_environment_without_keys(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-commands")
    monkeypatch.setenv("PLAIN", "for commands")
    out = run_in(Copy().open(place), "env")
    assert "sk-not-for-commands" not in out
    assert "PLAIN=for commands" in out
    assert "PLAIN" not in run_in(Copy().open(place), "env", env={"PATH": os.environ["PATH"]})
    assert plain_environment({"A_TOKEN": "123456789", "B": "c"}) == {"B": "c"}


async def test_without_bubblewrap(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(backends, "can_isolate", lambda: False)
    machine = Copy().open(place)
    assert run_in(machine, "pwd") == str(place.own)
    with pytest.raises(ToolError, match="read-only"):
        machine.command(["ls"], read_only=True)
    with pytest.raises(ConfigError, match="bubblewrap"):
        Sandbox().open(place)
    command = machine.command(["sh", "-c", "echo begun; sleep 100 & sleep 100"])
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    await process.stdout.readline()
    async with machine.held():
        state = await asyncio.to_thread(Path(f"/proc/{process.pid}/stat").read_text)
        assert state.split()[2] in "tT"
    await machine.settle()
    assert await process.wait() < 0


def test_descriptors_are_passed_on(place: Place):
    command = Copy().open(place).command(["sh", "-c", "cat <&3"], pass_fds=1)
    opened = ["sh", "-c", 'exec 3<&0 0</dev/null; exec "$@"', "sh", *command]
    assert subprocess.run(opened, stdout=subprocess.PIPE, input=b"through three\n").stdout == b"through three\n"


async def test_a_worktree_is_a_checkout_that_can_be_restored_whole(tmp_path: Path):
    source = tmp_path / "project"
    source.mkdir()
    git = "git -c user.name=a -c user.email=a@b"
    (source / "a.txt").write_text("one")
    subprocess.run(f"git init -q . && git add -A && {git} commit -qm first", shell=True, cwd=source, check=True)
    (source / "untracked").touch()

    @tool
    async def bash(context: ToolContext, command: str) -> str:
        """Run a command."""
        return await asyncio.to_thread(run_in, machine_of(context.run), command)

    journal = open_journal(tmp_path / "runs.db")
    commit = call("bash", command=f"ls; echo 2 > a.txt; {git} commit -qam second; git log --oneline | wc -l")
    agent = Agent(
        ScriptedModel([commit, "done"]), [bash], workspace=Workspace(source, backend="worktree"), journal=journal
    )
    result = await agent.run("go")
    assert result.steps[0].observation.split() == ["a.txt", "2"]
    forked = await fork(journal, result.run_id, 1)
    look = call("bash", command="git log --oneline | wc -l; git status --porcelain")
    agent.models = (ScriptedModel([look, "done"]),)
    assert (await agent.resume(forked)).steps[0].observation == "1"
    assert (source / "a.txt").read_text() == "one"
    with pytest.raises(ConfigError, match="git repository"):
        backends.Worktree().prepare(Place(tmp_path / "project" / ".git" / "hooks", tmp_path / "w", "m"))


async def test_work_in_a_container(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The contract, with a program of docker's name that runs here what it is given: it lives on, too,
    when the program is killed."""
    (program := tmp_path / "docker").write_text(f"""#!/bin/sh
cd {tmp_path}; echo "$*" >> asked
case $1 in
run) while [ "$1" != image ]; do [ "$1" = -w ] && folder=$2; shift; done; shift; cd "$folder"
  env -u TREADLE_WORKSPACE setsid "$@" & echo $! >> {tmp_path}/pids; wait $!;;
ps) for pid in $(cat pids); do [ -e /proc/$pid ] && echo $pid; done;;
rm) shift 2; for pid in "$@"; do kill -s KILL -- -$pid; done;;
esac
""")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    machine = Container("image").open(place)
    assert run_in(machine, "pwd; echo inside") == f"{place.own}\ninside"
    asked = (tmp_path / "asked").read_text()
    assert f"--mount type=bind,source={place.own},target={place.own} -w {place.own}" in asked
    assert "--network none" in asked
    assert ",readonly" in " ".join(machine.command(["ls"], read_only=True))
    working = subprocess.Popen(machine.command(["sh", "-c", "echo > begun; sleep 1000"]))
    eventually(lambda: (place.own / "begun").exists() and (tmp_path / "pids").read_text().count("\n") == 2, "it works")
    working.kill()
    working.wait()
    lives = (tmp_path / "pids").read_text().split()[-1]
    assert Path(f"/proc/{lives}/cmdline").read_bytes()
    async with machine.held():
        pass
    await machine.settle()
    eventually(lambda: not (file := Path(f"/proc/{lives}/cmdline")).exists() or not file.read_bytes(), "it has ended")
    label = f"ps --quiet --filter label=TREADLE_WORKSPACE={place.mark}"
    last = [label, f"pause {lives}", label, f"unpause {lives}", label, f"rm --force {lives}"]
    assert (tmp_path / "asked").read_text().splitlines()[-6:] == last


class Recording(Copy):
    """Somebody else's backend."""

    name = "mine"

    def open(self, place: Place) -> Any:
        class Machine(LocalMachine):
            def command(self, argv: Sequence[str], **options: Any) -> list[str]:
                return ["env", f"PLACE={place.own}", *argv]

        return Machine(place.own, place.mark)


async def test_any_object_that_makes_machines_is_a_backend(tmp_path: Path):
    source = tmp_path / "project"
    source.mkdir()

    @tool
    async def where(context: ToolContext) -> str:
        """Say where this is."""
        return await asyncio.to_thread(run_in, machine_of(context.run), "echo $PLACE | tee $PLACE/file")

    journal = open_journal("memory:")
    workspace = Workspace(source, backend=Recording())
    result = await Agent(ScriptedModel([call("where"), "done"]), [where], workspace=workspace, journal=journal).run(
        "go"
    )
    events = [record.event for record in await journal.load(result.run_id)]
    opened = next(event for event in events if isinstance(event, WorkspaceOpened))
    assert opened.backend == "mine"
    assert [event.content for event in events if isinstance(event, ToolDone)] == [opened.folder]
    assert [event.changes.paths for event in events if isinstance(event, TreeSaved)] == [(), ("A file",)]


@needs_isolation
def test_an_interpreter_below_the_folder_for_temporary_files(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    prefix = tmp_path / "environment"
    prefix.mkdir()
    (prefix / "pyvenv.cfg").write_text("home = here")
    monkeypatch.setattr(sys, "prefix", str(prefix))
    machine = Sandbox().open(place)
    assert run_in(machine, f"cat {prefix}/pyvenv.cfg") == "home = here"
    assert "Read-only" in run_in(machine, f"touch {prefix}/more")


@needs_isolation
def test_a_sandbox_reaches_the_hosts_it_is_allowed_and_no_other(place: Place):
    asked: list[str] = []

    class Site(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(f"{self.path} {self.rfile.read(int(self.headers['Content-Length'])).decode()}")
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"from outside")

        def log_message(self, format: str, *args: Any) -> None: ...

    program = """
import sys, urllib.request, http.client
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, data=b"x=1", timeout=20).read().decode())
    except Exception as error:
        print(getattr(error, "code", error), error.read().decode() if hasattr(error, "read") else "")
tunnel = http.client.HTTPConnection("127.0.0.1", 3128, timeout=20)
tunnel.set_tunnel("localhost", int(sys.argv[1].split(":")[2].split("/")[0]))
tunnel.request("POST", "/tunnel", b"y")
print(tunnel.getresponse().read().decode())
"""
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        port = site.server_port
        machine = Sandbox(network=[f"localhost:{port}", "*.invalid"]).open(place)
        assert machine.reaches_out, "it can send, so that it is asked"
        urls = [f"http://localhost:{port}/a?b", f"http://127.0.0.1:{port}/", "http://localhost/", "http://a.invalid/"]
        # The proxy of the variables is by-passed for this machine, as is usual: here it stands for another one.
        line = ["env", "-u", "no_proxy", sys.executable, "-c", program, *urls]
        done = subprocess.run(machine.command(line), capture_output=True, text=True, timeout=100, check=False)
        site.shutdown()
    assert done.returncode == 0, done
    out = [line for line in done.stdout.splitlines() if line]
    assert out[0] == out[-1] == "from outside", done
    assert out[1].startswith(f"403 this sandbox may not reach 127.0.0.1:{port}; its user can allow it")
    assert "localhost:80" in out[2]
    assert "502" in done.stdout
    assert asked == ["/a?b x=1", "/tunnel y"]
    assert run_in(machine, "env | grep -i _proxy | wc -l; exit 3", read_only=False) == "7"
    assert subprocess.run(machine.command(["sh", "-c", "exit 3"]), check=False).returncode == 3
    assert run_in(machine, "ls /run/treadle-gateway", read_only=True).endswith("No such file or directory")
    machine.close()
    for wrong in ("http://pypi.org", "a b", "*", "pypi.org/x"):
        with pytest.raises(ConfigError, match="is no host"):
            Sandbox(network=[wrong]).open(place)
    with pytest.raises(ConfigError, match="list of hosts"):
        Workspace(place.source, backend="sandbox", network="pypi.org")


async def test_work_on_another_machine(tmp_path: Path):
    """The contract, with programs in place of ssh and sshfs that do on this computer what they are asked."""
    (tmp_path / "there").mkdir()
    (source := tmp_path / "project").mkdir()
    (source / "a.txt").write_text("one")
    programs = {
        "ssh": 'shift 2; exec env -i HOME=/ PATH="$PATH" sh -c "$1"',
        "sshfs": 'rmdir "$2"; ln -s "${1#host:}" "$2"',
        "unmount": 'rm "$1"; mkdir "$1"',
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    ssh, mount, unmount = ([str(tmp_path / name)] for name in programs)
    backend = Ssh("host", str(tmp_path / "there"), ssh=ssh, mount=mount, unmount=unmount)

    @tool
    async def bash(context: ToolContext, command: str) -> str:
        """Run a command there, and look at the file here."""
        machine = machine_of(context.run)
        out = await asyncio.to_thread(run_in, machine, command)
        return f"{out} {(machine.root / 'a.txt').read_text()}"

    journal = open_journal(tmp_path / "runs.db")
    calls = [
        call("bash", command="echo 2 > a.txt; pwd"),
        call("bash", command="sleep 100 >/dev/null 2>&1 & echo 'it is' 3 > a.txt"),
    ]
    agent = Agent(
        ScriptedModel([*calls, "done"]), [bash], workspace=Workspace(source, backend=backend), journal=journal
    )
    result = await agent.run("go")
    there = str(tmp_path / "there" / result.run_id)
    assert [step.observation for step in result.steps] == [f"{there} 2\n", " it is 3\n"]
    events = [record.event for record in await journal.load(result.run_id)]
    assert [event.changes.paths for event in events if isinstance(event, TreeSaved)] == [(), *[("M a.txt",)] * 2]
    forked = await fork(journal, result.run_id, 2)
    agent.models = (ScriptedModel([call("bash", command="true"), "done"]),)
    assert (await agent.resume(forked)).steps[-1].observation == " 2\n"
    assert processes.marked(result.run_id) == [], "what it has left working there has ended with it"
    assert (source / "a.txt").read_text() == "one"
    with pytest.raises(ConfigError, match="is no host"):
        Ssh("-oProxyCommand=x")
    with pytest.raises(ConfigError, match="failed"):
        Ssh("host", ssh=["false"]).open(Place(source, tmp_path / "own", "mark"))
