"""`treadle doctor`, from its arguments to what it prints and keeps."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.catalog.servers import EVERYTHING, Server
from models.loopback import Answer, Received, reply, running
from treadle import ScriptedModel
from treadle._cli.main import main
from treadle._local.calibration import rows
from treadle._types.profile import Profile

KEY = "sk-very-secret-0123456789abcdef"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "160")
    logger = logging.getLogger("treadle")
    before = logger.propagate, list(logger.handlers)
    yield
    logger.propagate, logger.handlers[:] = before


def test_the_table_and_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    with running(Server(EVERYTHING - {"tools"}, entry={"max_model_len": 4096})) as url:
        assert main(["doctor", url]) == 0
    out, err = capsys.readouterr()
    lines = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    assert lines["tool calls"][2:4] == ["yes", "no"]
    assert lines["JSON schema"][2:4] == ["no", "yes"]
    assert "the call came as text" in out
    assert "context window: 4096 tokens (from the server)" in out
    assert "dialect: schema (native calls do not work" in out
    assert "other models of this server" in err
    files = list((tmp_path / "state" / "profiles").iterdir())
    assert len(files) == 1
    assert json.loads(files[0].read_text())["dialect"] == "schema"
    assert str(files[0]) in out
    assert out.splitlines()[-3:] == [
        f"  shell   treadle run '...' -m '{url}/v1#small-model'",
        f'  file    llm_id: "{url}/v1#small-model"',
        f"  Python  Agent('{url}/v1#small-model', tools=[...])",
    ]


def test_json_and_dry_and_no_key_anywhere(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MY_KEY", KEY)
    server = Server(refuses=("tools",))
    with running(server) as url:
        assert main(["doctor", url, "--json", "--dry", "--key-env", "MY_KEY"]) == 0
        assert main(["doctor", url, "--key-env", "MY_KEY"]) == 0
    assert server.received[-1].headers["authorization"] == f"Bearer {KEY}"
    out, err = capsys.readouterr()
    report = json.loads(out.splitlines()[0])
    assert report["dialect"] == "schema"
    assert report["file"] is None
    assert {finding["ability"] for finding in report["findings"]} >= {
        "tool_call",
        "streaming",
        "usage",
        "json_schema",
        "reasoning",
    }
    kept = "".join(path.read_text() for path in (tmp_path / "state" / "profiles").iterdir())
    assert KEY not in out + err + kept


def test_the_line_for_the_shell_works_for_a_server_with_a_key(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    server = Server()

    def locked(request: Received) -> Answer:
        right = request.headers.get("authorization") == f"Bearer {KEY}"
        return server(request) if right else reply({"error": {"message": "who are you"}}, 401)

    monkeypatch.setenv("MY_KEY", KEY)
    with running(locked) as url:
        assert main(["doctor", url, "--key-env", "MY_KEY", "--dry"]) == 0
        line = capsys.readouterr().out.splitlines()[-3]
        assert line.startswith(f"  shell   OPENAI_BASE_URL='{url}/v1' OPENAI_API_KEY=\"$MY_KEY\" treadle run")
        assert main(["doctor", url, "--dry"]) == 1
        assert "--key-env" in capsys.readouterr().err
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert main(["run", "hi", "-m", line.rpartition(" ")[2].strip("'"), "-t", "none", "--journal", "none"]) == 0


def test_a_server_that_answers_no_question(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    with running(Server(refuses=("messages",))) as url:
        assert main(["doctor", url]) == 1
    out, _ = capsys.readouterr()
    assert "messages is not supported here" in out
    assert "no results were stored" in out
    assert not (tmp_path / "state" / "profiles").exists()


def test_bad_targets(capsys: pytest.CaptureFixture[str]):
    assert main(["doctor", "http://127.0.0.1:9"]) == 2
    assert main(["doctor", "nonsense"]) == 2
    assert main(["doctor", "http://127.0.0.1:9", "--key-env", "NOT_SET_ANYWHERE"]) == 2
    _, err = capsys.readouterr()
    assert "no OpenAI-compatible server at" in err
    assert "names no provider" in err
    assert "the environment variable is not set" in err


def test_a_scripted_model_is_probed_but_not_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    script = tmp_path / "script.json"
    script.write_text('{"script": ["Paris"], "repeat_last": true}')
    assert main(["doctor", f"scripted:{script}"]) == 0
    assert "dialect: json" in capsys.readouterr().out
    assert not (tmp_path / "state" / "profiles").exists()


class Wanting:
    """A llama.cpp server with a small model that tells what it wants: an answer where one is right."""

    def __init__(self) -> None:
        self.right = {(row.question, len(row.done)): row.right for row in rows()}

    def __call__(self, request: Received) -> Answer:
        if request.path == "/v1/models":
            entry = {"id": "m.gguf", "owned_by": "llamacpp", "meta": {"n_params": 1_500_000_000}}
            return reply({"object": "list", "data": [entry]})
        if not request.path.endswith("/chat/completions"):
            return reply({}, 404)
        asked = [message["content"] for message in request.json["messages"] if message["role"] == "user"]
        question, about_tools, _ = asked[0].partition("\n\nIs there a tool")
        if (question, 0) not in self.right and (question, 1) not in self.right:
            return reply({"choices": [{"message": {"content": "Paris"}, "finish_reason": "stop"}]})
        if about_tools:
            sure = {"call": -0.2, "answer": -1.0}[self.right[question, 0]]
            alternatives = [{"token": "true", "logprob": sure}, {"token": "false", "logprob": -1.0}]
            tokens = [{"token": '{"fits": ', "top_logprobs": []}, {"token": "true", "top_logprobs": alternatives}]
            message = {"role": "assistant", "content": '{"fits": true}'}
            return reply({"choices": [{"message": message, "logprobs": {"content": tokens}, "finish_reason": "stop"}]})
        share = {"call": -2.0, "answer": -0.3}[self.right[asked[0], len(asked) - 1]]
        tokens = [
            {"token": '{"action": "', "top_logprobs": []},
            {"token": "final", "top_logprobs": [{"token": "final", "logprob": share}]},
        ]
        message = {"role": "assistant", "content": '{"action": "final'}
        return reply({"choices": [{"message": message, "logprobs": {"content": tokens}, "finish_reason": "length"}]})


def test_the_thresholds_of_a_model_are_found_and_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    with running(Wanting()) as url:
        assert main(["doctor", "--calibrate", f"{url}/v1"]) == 0
        out = capsys.readouterr().out
        assert "before any result: 0.438 (right in 32 of 32 decisions, at 0.5 in 32)" in out
        assert "it is believed from a yes of: 0.595 (right in 32 of 32 decisions, at 0.5 in 32)" in out
        (file,) = (tmp_path / "state" / "profiles").iterdir()
        assert json.loads(file.read_text())["decide"] == [{"first": 0.438, "later": 0.438, "fits": 0.595}]
        assert main(["doctor", "--calibrate", f"{url}/v1", "--json", "--dry"]) == 0
        assert json.loads(capsys.readouterr().out)["later"]["of"] == 24


def test_a_probe_leaves_the_thresholds_that_were_found(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    with running(Wanting()) as url:
        assert main(["doctor", "--calibrate", f"{url}/v1"]) == 0
        assert main(["doctor", f"{url}/v1"]) == 0
    (file,) = (tmp_path / "state" / "profiles").iterdir()
    stored = json.loads(file.read_text())
    assert (stored["dialect"], stored["decide"]) == ("json", [{"first": 0.438, "later": 0.438, "fits": 0.595}])


class Taught(ScriptedModel):
    """With an adapter; loading it would take a download."""

    loaded = False

    def __init__(self) -> None:
        super().__init__([], profile=Profile(grammar=True, logprobs=True, parameters=1.5, adapter="treadle-1.5b"))

    async def load(self) -> None:
        self.loaded = True


def test_a_model_with_its_adapter_is_not_calibrated(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = Taught()
    monkeypatch.setattr("treadle._models.catalog.default.model_named", lambda name: model)
    assert main(["doctor", "--calibrate", "local:qwen2.5-coder-1.5b"]) == 2
    assert "with its adapter treadle-1.5b" in (told := capsys.readouterr().err)
    assert "--no-adapter" in told
    assert (model.requests, model.loaded) == ([], False)
    assert not (tmp_path / "state" / "profiles").exists()


def test_what_cannot_be_calibrated_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    script = tmp_path / "script.json"
    script.write_text('{"script": ["Paris"], "repeat_last": true}')
    assert main(["doctor", "--calibrate", f"scripted:{script}"]) == 2
    assert "cannot be calibrated" in capsys.readouterr().err
    assert main(["doctor", "--calibrate", "--no-adapter", "http://127.0.0.1:9"]) == 2
    assert "only a model in this process" in capsys.readouterr().err
