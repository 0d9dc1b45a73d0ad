"""Clients from npm: the AI SDK, as a client of the OpenAI-compatible face and with what `useChat` is made of; OpenAI's
own; AG-UI's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kit import add, call
from node_programs import node_and_npm
from server.protocols.scenario import looker
from server.protocols.test_client_libraries import FOLDER
from server.serving import PacedModel, has_results, send_mail, serving
from treadle import Agent, ScriptedModel

PACKAGES = ("ai@7.0.169", "@ai-sdk/openai-compatible@3.0.90", "openai@7.53.0", "@ag-ui/client@1.0.0")
TOKEN = "a-token-of-some-length"
ANSWER = "Two and three make five, as far as anybody knows."

pytestmark = [pytest.mark.net, pytest.mark.slow]


@pytest.fixture(scope="module")
def sdk() -> Path:
    """A folder with the packages; it is kept."""
    node, npm = node_and_npm()
    folder = FOLDER / "ai"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}')
        command = [*npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
        done = subprocess.run(command, cwd=folder, env=_env(node), capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"npm cannot install the AI SDK: {done.stderr[-300:]}")
        (folder / "complete").touch()
    return folder


def _env(node: str) -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def address() -> Any:
    script = lambda r: ANSWER if r.component == "synthesis" else "5" if has_results(r) else call("add", a=2, b=3)  # noqa: E731
    adder = Agent(PacedModel(script, chunk=6, pause=0.04), tools=[add], answer="synthesize")
    typed = Agent(ScriptedModel(['{"total": 5}'], repeat_last=True), None)
    mailing = Agent(ScriptedModel([call("send_mail", to="a", text="b")], repeat_last=True), [send_mail])
    agents = {"adder": adder, "typed": typed, "looker": looker(), "mailing": mailing}
    with serving(agents, tokens={TOKEN: "ann"}) as client:
        yield client.address


def printed(sdk: Path, program: str, address: str) -> Any:
    node, _ = node_and_npm()
    shutil.copy(Path(__file__).parent / program, sdk)
    done = subprocess.run(
        [node, program, address, TOKEN], cwd=sdk, env=_env(node), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_ai_sdk(sdk: Path, address: str):
    output = printed(sdk, "ai_sdk.mjs", f"{address}/v1")
    assert output["whole"] == ANSWER
    assert output["finish"] == "stop"
    assert output["tokens"] > 0
    assert output["streamedTokens"] > 0
    assert "".join(output["pieces"]) == ANSWER
    assert len(output["pieces"]) > 2, "it did not stream"
    assert output["refused"].startswith("404 ")
    assert "expected one of: adder" in output["refused"]
    assert output["typed"] == {"total": 5}
    assert output["looked"] == "I see a cat."


def test_use_chat(sdk: Path, address: str):
    output = printed(sdk, "use_chat.mjs", address)
    assert output["own"] == "It is 5."
    assert output["shown"] == [["add", "output-available", "5"]]
    assert output["page"] == "I see a cat."
    assert output["messages"] == 2, "the answer goes on in the message with the call"
    assert "waits for approval" in output["failed"]


def test_the_clients_of_openai_and_ag_ui(sdk: Path, address: str):
    output = printed(sdk, "npm_clients.mjs", address)
    assert output["chat"] == output["agUi"] == "I see a cat."
    assert output["response"] == "It is 5."
    assert output["refused"] == 422
    assert output["arguments"] == {"where": "left"}
