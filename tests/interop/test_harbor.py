"""Agents of Harbor and Terminal-Bench, with the real packages; a folder and this machine stand for their containers."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HARBOR = ROOT / ".venv" / "harbor" / "bin" / "harbor"
TERMINAL_BENCH = ROOT / ".venv" / "terminal-bench" / "bin" / "python"
LOCAL = '''
import asyncio, shutil
from harbor.environments.base import BaseEnvironment, ExecResult
from treadle import ScriptedModel
from treadle.interop.harbor import HarborAgent

class Local(BaseEnvironment):
    """A folder of the trial, as the root of what bubblewrap shows."""
    @staticmethod
    def type(): return "local"
    def _validate_definition(self): ...
    async def start(self, force_build):
        self.root = self.trial_paths.trial_dir / "root"
        for name in ("logs/agent", "logs/verifier", "logs/artifacts", "tests", "app"):
            (self.root / name).mkdir(parents=True)
    async def stop(self, delete): ...
    def at(self, path): return self.root / str(path).lstrip("/")
    async def upload_file(self, source_path, target_path): shutil.copy(source_path, self.at(target_path))
    async def upload_dir(self, source_dir, target_dir):
        shutil.copytree(source_dir, self.at(target_dir), dirs_exist_ok=True)
    async def download_file(self, source_path, target_path): shutil.copy(self.at(source_path), target_path)
    async def download_dir(self, source_dir, target_dir):
        shutil.copytree(self.at(source_dir), target_dir, dirs_exist_ok=True)
    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        line = ["bwrap", "--bind", str(self.root), "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
        for name in ("/usr", "/bin", "/lib", "/lib64", "/etc"):
            line += ["--ro-bind-try", name, name]
        line += ["--chdir", cwd or "/app", "bash", "-c", command]
        process = await asyncio.create_subprocess_exec(*line, stdout=-1, stderr=-1)
        out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode)

class Scripted(HarborAgent):
    async def setup(self, environment):
        assert self.model_name == "scripted/model"
        calls = [{"name": "bash", "args": {"command": text}} for text in ("cat nothing", "echo hello > greeting")]
        self.model_name = ScriptedModel([*calls, "Done."])
'''
TEST = "grep -qx hello /app/greeting && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n"
TERMINAL = '''
import io, subprocess, tarfile
from pathlib import Path
from terminal_bench.terminal.tmux_session import TmuxSession
from treadle import ScriptedModel
from treadle.interop.terminal_bench import TerminalBenchAgent

class Result:
    def __init__(self, done): self.exit_code, self.output = done.returncode, done.stdout

class Machine:
    """What a session asks of a container, of this machine."""
    def exec_run(self, line, user=""):
        return Result(subprocess.run(line, shell=isinstance(line, str), stdout=-1, stderr=-2))
    def put_archive(self, folder, data):
        tarfile.open(fileobj=io.BytesIO(data)).extractall(Path.cwd(), filter="data")
        return True

def call(command, **more): return {"name": "bash", "args": {"command": command, **more}}

session = TmuxSession("agent", Machine(), disable_recording=True)
session.start()
try:
    here = f"cd {Path.cwd()}; mkdir sub; cd sub; X=it"
    text = "cat > it's.txt <<E\\na $X\\nE\\npwd; cat it*".replace("it's", "it")
    model = ScriptedModel([call(here), call(text), call("sleep 60", timeout=1), call("echo after &"), "Done."])
    result = TerminalBenchAgent(model_name=model).perform_task("Do it.", session, Path.cwd())
    print(result.failure_mode.value, result.total_input_tokens > 0, Path("treadle.json").exists())
    for message in model.requests[-1].messages[2:]:
        if message.role == "tool":
            print(repr(message.content))
finally:
    subprocess.run(["tmux", "kill-server"])
'''


def environment(home: Path) -> dict[str, str]:
    paths = f"{ROOT / 'src'}{os.pathsep}{home}"
    offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "TMUX_TMPDIR": str(home), "TERM": "xterm"}
    return {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": paths, **offline}


@pytest.mark.skipif(not HARBOR.exists(), reason="python3 tasks.py peers installs harbor")
def test_a_task_of_harbor_where_it_is_installed(tmp_path: Path):
    task = tmp_path / "task"
    (task / "environment").mkdir(parents=True)
    (task / "tests").mkdir()
    (task / "environment" / "Dockerfile").write_text("FROM scratch\n")
    (task / "instruction.md").write_text("Write hello into the file greeting.\n")
    (task / "task.toml").write_text('version = "1.0"\n[verifier]\n[agent]\n[environment]\n')
    (task / "tests" / "test.sh").write_text(TEST)
    (tmp_path / "local.py").write_text(LOCAL)
    line = [HARBOR, "run", "-p", "task", "-o", "jobs", "--agent", "local:Scripted", "--env", "local:Local"]
    done = subprocess.run(
        [*line, "-m", "scripted/model"], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    (place,) = tmp_path.glob("jobs/*/task__*")
    result = json.loads((place / "result.json").read_text())
    assert (result["exception_info"], result["verifier_result"]["rewards"]) == (None, {"reward": 1.0}), done.stderr
    assert result["agent_result"]["n_input_tokens"] > 0
    steps = json.loads((place / "agent" / "trajectory.json").read_text())["steps"]
    assert [step["source"] for step in steps][:4] == ["system", "user", "agent", "agent"]
    (observed,) = steps[2]["observation"]["results"]
    assert observed["content"].endswith("No such file or directory\n[exit code 1]")


@pytest.mark.skipif(not TERMINAL_BENCH.exists(), reason="python3 tasks.py peers installs terminal-bench")
def test_a_terminal_of_terminal_bench_where_it_is_installed(tmp_path: Path):
    (tmp_path / "program.py").write_text(TERMINAL)
    done = subprocess.run(
        [TERMINAL_BENCH, "program.py"], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    head, *shown = done.stdout.splitlines()
    assert head == "none True True", done.stderr
    _, text, stopped, after = shown
    assert f"{tmp_path}/sub\\na it" in text
    assert stopped.endswith("[stopped after 1 s]'")
    assert "after" in after
