"""`treadle doctor`, from its arguments to what it prints and keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.terminal import Inside, script
from models.catalog.servers import EVERYTHING, Server
from models.loopback import Answer, Received, reply, running
from treadle import ScriptedModel
from treadle._local.calibration import rows
from treadle._types.profile import Profile

KEY = "sk-very-secret-0123456789abcdef"


@pytest.fixture(autouse=True)
def wide(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


def test_the_table_and_the_file(inside: Inside, tmp_path: Path):
    with running(Server(EVERYTHING - {"tools"}, entry={"max_model_len": 4096})) as url:
        ran = inside("doctor", url)
    out, err = ran.out, ran.err
    assert ran.code == 0
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


def test_json_and_dry_and_no_key_anywhere(inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_KEY", KEY)
    server = Server(refuses=("tools",))
    with running(server) as url:
        dry, kept = (
            inside("doctor", url, "--json", "--dry", "--key-env", "MY_KEY"),
            inside("doctor", url, "--key-env", "MY_KEY"),
        )
    assert (dry.code, kept.code) == (0, 0)
    assert server.received[-1].headers["authorization"] == f"Bearer {KEY}"
    report = json.loads(dry.out)
    assert report["dialect"] == "schema"
    assert report["file"] is None
    assert {finding["ability"] for finding in report["findings"]} >= {
        "tool_call",
        "streaming",
        "usage",
        "json_schema",
        "reasoning",
    }
    stored = "".join(path.read_text() for path in (tmp_path / "state" / "profiles").iterdir())
    assert KEY not in dry.out + dry.err + kept.out + kept.err + stored


def test_the_line_for_the_shell_works_for_a_server_with_a_key(inside: Inside, monkeypatch: pytest.MonkeyPatch):
    server = Server()

    def locked(request: Received) -> Answer:
        right = request.headers.get("authorization") == f"Bearer {KEY}"
        return server(request) if right else reply({"error": {"message": "who are you"}}, 401)

    monkeypatch.setenv("MY_KEY", KEY)
    with running(locked) as url:
        line = inside("doctor", url, "--key-env", "MY_KEY", "--dry").out.splitlines()[-3]
        assert line.startswith(f"  shell   OPENAI_BASE_URL='{url}/v1' OPENAI_API_KEY=\"$MY_KEY\" treadle run")
        refused = inside("doctor", url, "--dry")
        assert (refused.code, "--key-env" in refused.err) == (1, True)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        named = line.rpartition(" ")[2].strip("'")
        assert inside("run", "hi", "-m", named, "-t", "none", "--journal", "none").code == 0


def test_a_server_that_answers_no_question(inside: Inside, tmp_path: Path):
    with running(Server(refuses=("messages",))) as url:
        ran = inside("doctor", url)
    assert (ran.code, "messages is not supported here" in ran.out) == (1, True)
    assert "no results were stored" in ran.out
    assert not (tmp_path / "state" / "profiles").exists()


def test_bad_targets(inside: Inside):
    for arguments, says in (
        (["http://127.0.0.1:9"], "no OpenAI-compatible server at"),
        (["nonsense"], "names no provider"),
        (["http://127.0.0.1:9", "--key-env", "NOT_SET_ANYWHERE"], "the environment variable is not set"),
    ):
        ran = inside("doctor", *arguments)
        assert (ran.code, says in ran.err) == (2, True), ran.err


def test_a_scripted_model_is_probed_but_not_kept(home: Path, inside: Inside, tmp_path: Path):
    assert "dialect: json" in inside("doctor", script(home, "Paris", repeat_last=True)).out
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


def test_the_thresholds_of_a_model_are_found_and_kept(inside: Inside, tmp_path: Path):
    with running(Wanting()) as url:
        out = inside("doctor", "--calibrate", f"{url}/v1").out
        assert "before any result: 0.438 (right in 32 of 32 decisions, at 0.5 in 32)" in out
        assert "it is believed from a yes of: 0.595 (right in 32 of 32 decisions, at 0.5 in 32)" in out
        (file,) = (tmp_path / "state" / "profiles").iterdir()
        assert json.loads(file.read_text())["decide"] == [{"first": 0.438, "later": 0.438, "fits": 0.595}]
        assert json.loads(inside("doctor", "--calibrate", f"{url}/v1", "--json", "--dry").out)["later"]["of"] == 24
        assert inside("doctor", f"{url}/v1").code == 0
    stored = json.loads(file.read_text())
    assert (stored["dialect"], stored["decide"]) == ("json", [{"first": 0.438, "later": 0.438, "fits": 0.595}]), (
        "a probe leaves what was found"
    )


class Taught(ScriptedModel):
    """With an adapter; loading it would take a download."""

    loaded = False

    def __init__(self) -> None:
        super().__init__([], profile=Profile(grammar=True, logprobs=True, parameters=1.5, adapter="treadle-1.5b"))

    async def load(self) -> None:
        self.loaded = True


def test_a_model_with_its_adapter_is_not_calibrated(inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    model = Taught()
    monkeypatch.setattr("treadle._models.catalog.default.model_named", lambda name: model)
    refused = inside("doctor", "--calibrate", "local:qwen2.5-coder-1.5b")
    assert (refused.code, "with its adapter treadle-1.5b" in refused.err) == (2, True)
    assert "--no-adapter" in refused.err
    assert (model.requests, model.loaded) == ([], False)
    assert not (tmp_path / "state" / "profiles").exists()


def test_what_cannot_be_calibrated_is_refused(home: Path, inside: Inside):
    for arguments, says in (
        ([script(home, "Paris", repeat_last=True)], "cannot be calibrated"),
        (["--no-adapter", "http://127.0.0.1:9"], "only a model in this process"),
    ):
        ran = inside("doctor", "--calibrate", *arguments)
        assert (ran.code, says in ran.err) == (2, True), ran.err
