"""Removing secrets from what enters a run's state."""

from __future__ import annotations

import json
import time
import timeit

import msgspec
import pytest

from kit import row
from treadle._safety.redact import Redactor
from treadle._types.errors import ConfigError
from treadle._types.events import Artifact, ToolDone, ToolStarted
from treadle._types.messages import FilePart, ImagePart, TextPart, ToolCall

ENV = {
    "OPENAI_API_KEY": "abcd1234efgh5678",
    "GITHUB_TOKEN": "tok-000111222",
    "app_client_secret": "s3cr3t-value",
    "PGPASSWORD": "correct horse",
    "SHORT_KEY": "1234567",
    "KEYBOARD": "qwertzuiopqwertz",
    "HOME": "/home/somebody",
}


def test_values_of_secret_variables_are_replaced_by_their_names():
    redactor = Redactor(env=ENV)
    text = "a abcd1234efgh5678, tok-000111222; s3cr3t-value (correct horse) 1234567 qwertzuiopqwertz /home/somebody"
    assert redactor.text(text) == (
        "a [redacted:OPENAI_API_KEY], [redacted:GITHUB_TOKEN]; [redacted:app_client_secret] ([redacted:PGPASSWORD])"
        " 1234567 qwertzuiopqwertz /home/somebody"
    )


def test_the_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_API_KEY", "value-of-the-key")
    assert Redactor().text("x value-of-the-key y") == "x [redacted:SOME_API_KEY] y"


def test_given_secrets_with_and_without_names():
    assert Redactor(["hunter2"], env={}).text("hunter2!") == "[redacted:secret]!"
    assert Redactor({"db": "hunter2"}, env={}).text("hunter2!") == "[redacted:db]!"
    with pytest.raises(ConfigError, match="'db' is shorter"):
        Redactor({"db": "abc"}, env={})


def test_the_longer_of_two_overlapping_secrets_wins():
    redactor = Redactor({"short": "secret-abc", "long": "secret-abc-def"}, env={})
    assert redactor.text("secret-abc-def secret-abc") == "[redacted:long] [redacted:short]"


def test_a_secret_inside_json_text_is_found_too():
    redactor = Redactor({"odd": 'pass"word\nnext'}, env={})
    for text in ('pass"word\nnext', msgspec.json.encode({"p": 'pass"word\nnext'}).decode()):
        assert "word" not in redactor.text(text)


def test_well_known_shapes():
    for secret, name in (
        ("sk-proj-Abc123Def456Ghi789Jkl012", "api-key"),
        ("sk-ant-api03-Abc123Def456Ghi789-_x", "api-key"),
        ("AKIAIOSFODNN7EXAMPLE", "aws-key"),
        ("ghp_" + "a1B2" * 9, "github-token"),
        ("github_pat_" + "a1B2" * 15, "github-token"),
        ("AIza" + "x" * 35, "google-key"),
        ("xoxb-1234567890-abcdef", "slack-token"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----", "private-key"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\ncut off in the mid", "private-key"),
    ):
        with row(secret, name):
            redactor = Redactor(env={})
            assert redactor.text(f"key={secret}") == f"key=[redacted:{name}]"
            assert redactor.suspects(msgspec.json.encode({"key": secret}).decode())
            assert not redactor.suspects("a right weight IA github AI xo PRIVATE")


def test_bearer_tokens_keep_their_header():
    text = "Authorization: Bearer abc.def-ghi_jkl012345=="
    assert Redactor(env={}).text(text) == "Authorization: Bearer [redacted:bearer-token]"


def test_ordinary_text_stays():
    for text in (
        "the task-runner-for-very-long-names-of-jobs",
        "a bearer of good news from far away countries",
        "AKIA is a prefix; sk-short; xox-",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    ):
        with row(text):
            redactor = Redactor(env=ENV)
            assert redactor.text(text) is text


def test_trees_are_redacted_and_untouched_ones_are_the_same_object():
    redactor = Redactor({"k": "hunter2"}, env={})
    clean = ToolDone("c", "t", 1, (TextPart("fine"),), full="fine")
    assert redactor.tree(clean) is clean
    call = ToolStarted(ToolCall("c", "t", {"url": "http://x/?k=hunter2", "hunter2": [1, None, ("hunter2", True)]}), 1)
    assert redactor.tree(call) == ToolStarted(
        ToolCall("c", "t", {"url": "http://x/?k=[redacted:k]", "[redacted:k]": [1, None, ("[redacted:k]", True)]}), 1
    )
    assert call.call.args["url"].endswith("hunter2"), "the original is not changed"
    assert redactor.tree(redactor.tree(call)) == redactor.tree(call)


def test_a_redactor_does_not_tell_its_secrets():
    redactor = Redactor({"k": "hunter2"}, env={})
    assert "hunter2" not in repr(redactor)


@pytest.mark.parametrize(
    "piece", ["-----BEGIN PRIVATE KEY-----", "sk-", "Bearer ", "ghp_" + "a" * 29, "AKIA" + "A" * 15, "xoxb-1"]
)
def test_the_time_for_hostile_text_is_linear_in_its_length(piece: str):
    """Eight times the text takes about eight times as long, and 64 times if it were quadratic."""
    redactor = Redactor(env=ENV)

    def cpu_seconds(length: int) -> float:
        text = piece * (length // len(piece))
        return min(timeit.repeat(lambda: redactor.text(text), number=1, repeat=5, timer=time.process_time))

    assert cpu_seconds(400_000) < 24 * cpu_seconds(50_000)


def test_a_picture_keeps_its_bytes_although_they_look_like_a_key():
    """Base64 of ten megabytes contains the shape of a key more often than not."""
    key = "AIza" + "Sy" * 16 + "abc"
    event = ToolDone(
        "c", "draw", 1, (ImagePart(data=key, name=key), FilePart(data=key, text=key)),
        artifacts=(Artifact("a", key, "image/png", base64=True), Artifact("b", key)),
    )  # fmt: skip
    redactor = Redactor(env={})
    assert redactor.text(key) != key
    clean = redactor.tree(event)
    image, file = clean.content
    assert isinstance(image, ImagePart)
    assert isinstance(file, FilePart)
    assert image.data == file.data == key
    assert image.name == file.text == redactor.text(key)
    assert [artifact.content for artifact in clean.artifacts] == [key, redactor.text(key)]


def test_a_secret_is_found_however_json_writes_it():
    for secret in ('abc"defghijk12', "schlüssel-abcdefgh", "two\\lines\nkey"):
        with row(secret):
            redactor = Redactor([("key", secret)], env={})
            call = {"arguments": json.dumps({"key": secret})}
            texts = [json.dumps(secret), json.dumps(call), json.dumps(call, ensure_ascii=False)]
            texts.append(json.dumps({"arguments": json.dumps({"key": secret}, ensure_ascii=False)}, ensure_ascii=False))
            for text in texts:
                assert redactor.suspects(text)
                assert "[redacted:key]" in redactor.text(text)
