"""The client libraries of others, each in a process of its own, against a server of ours.

They are large, or need other versions than the test environment has, so they are installed by name into a folder that
is kept (`~/.cache/treadle-clients`, or `TREADLE_CLIENTS`). What they send is also in the other tests of this folder.
OpenAI's own is in `test_openai_chat.py`; those that are made of it, and all others, are run by `prove clients`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import call
from server.protocols.scenario import looker
from server.serving import relaxed, send_mail, serving
from treadle import Agent, ScriptedModel, external_tool

PROGRAMS = Path(__file__).parent / "clients"
PROVE = Path(__file__).parents[3] / "benchmarks" / "prove_clients.py"
FOLDER = Path(os.environ.get("TREADLE_CLIENTS") or Path.home() / ".cache" / "treadle-clients")
TOKEN = "a-token-of-some-length"

pytestmark = [pytest.mark.net, pytest.mark.slow]

Program = Callable[..., Any]


def installed(*packages: str) -> str:
    """A folder with these packages; skips the test where they cannot be had."""
    folder = FOLDER / "-".join(packages).replace("[", "_").replace("]", "")
    if not (folder / "complete").exists():
        pip = [sys.executable, "-m", "pip", "install", "-q"]
        uv = [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "install",
            "-q",
            "--python",
            sys.executable,
        ]  # much quicker, if it is there
        for command in (uv, pip):
            done = subprocess.run([*command, "--target", str(folder), *packages], capture_output=True, text=True)
            if not done.returncode:
                break
        else:
            pytest.skip(f"pip cannot install {', '.join(packages)}: {done.stderr[-300:]}")
        (folder / "complete").touch()
    return str(folder)


def answers(program: str, address: str, *packages: str) -> Any:
    env = {
        **os.environ,
        "PYTHONPATH": installed(*packages),
    }
    command = [sys.executable, str(PROGRAMS / program), address, TOKEN]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def address() -> Any:
    mailing = Agent(ScriptedModel([call("send_mail", to="a", text="b")], repeat_last=True), [send_mail])
    parameters = {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]}
    script = [call("look", where="left"), "I see a cat."]
    waiting = Agent(ScriptedModel(script), [external_tool("look", "Looks.", parameters)])
    agents = {"looker": looker(), "mailing": mailing, "waiting": waiting}
    with serving(agents, tokens={TOKEN: "ann"}, settings=relaxed(push_hosts=("127.0.0.1",))) as client:
        yield client.address


def test_anthropic(address: str):
    said = answers("anthropic_client.py", address, "anthropic==2.8.0")
    assert said["whole"] == said["streamed"] == "It is 5."
    assert said["wanted"] == ["look", {"where": "left"}]
    assert said["after"] == "I see a cat."
    assert said["error"] == [422, "approval_required"]


def test_ag_ui(address: str):
    said = answers("ag_ui_client.py", address, "ag-ui-protocol==1.0.0")
    assert said["text"] == "It is 5."
    assert said["kinds"][0] == "RUN_STARTED"
    assert said["kinds"][-1] == "RUN_FINISHED"
    assert "TOOL_CALL_RESULT" in said["kinds"]
    assert said["after"] == "I see a cat."


def test_a2a(address: str):
    said = answers("a2a_client.py", address, "a2a-sdk==1.3.0")
    assert said["card"] == "looker"
    assert said["text"] == "It is 5."
    assert said["state"] == "TASK_STATE_COMPLETED"
    assert said["again"] == "It is 5."
    assert said["waiting"] == "TASK_STATE_INPUT_REQUIRED"
    assert said["answered"] == "I see a cat."
    assert said["told"] == ["TASK_STATE_COMPLETED", "t0ken"]
    assert said["configs"] == [["one"], "t0ken", []]


@pytest.mark.long
def test_every_client_passes_what_it_can():
    """All of `docs/clients.md`, which this leaves as it is."""
    programs = [path.stem for path in (PROVE.parent / "clients").glob("*_*.*")]
    done = subprocess.run([sys.executable, str(PROVE), *programs], capture_output=True, text=True, timeout=850)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
