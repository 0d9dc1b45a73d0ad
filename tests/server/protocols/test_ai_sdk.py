"""What `useChat` of the AI SDK is made of, from npm. Other clients in JavaScript are run by `prove clients`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kit import call
from node_programs import node_and_npm
from server.protocols.scenario import looker
from server.protocols.test_client_libraries import FOLDER
from server.serving import send_mail, serving
from treadle import Agent, ScriptedModel

PACKAGE = "ai@7.0.169"
TOKEN = "a-token-of-some-length"

pytestmark = [pytest.mark.net, pytest.mark.slow]


@pytest.fixture(scope="module")
def sdk() -> Path:
    """A folder with the packages; it is kept."""
    node, npm = node_and_npm()
    folder = FOLDER / "ai"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}')
        command = [*npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE]
        done = subprocess.run(command, cwd=folder, env=_env(node), capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"npm cannot install the AI SDK: {done.stderr[-300:]}")
        (folder / "complete").touch()
    return folder


def _env(node: str) -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def address() -> Any:
    mailing = Agent(ScriptedModel([call("send_mail", to="a", text="b")], repeat_last=True), [send_mail])
    with serving({"looker": looker(), "mailing": mailing}, tokens={TOKEN: "ann"}) as client:
        yield client.address


def test_use_chat(sdk: Path, address: str):
    node, _ = node_and_npm()
    shutil.copy(Path(__file__).with_name("use_chat.mjs"), sdk)
    command = [node, "use_chat.mjs", address, TOKEN]
    done = subprocess.run(command, cwd=sdk, env=_env(node), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout)
    assert output["own"] == "It is 5."
    assert output["shown"] == [["add", "output-available", "5"]]
    assert output["page"] == "I see a cat."
    assert output["messages"] == 2, "the answer goes on in the message with the call"
    assert "waits for approval" in output["failed"]
