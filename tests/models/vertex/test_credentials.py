"""Google's application-default credentials through google-auth, beside services on loopback, and its errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import google.auth.jwt
import google.oauth2.credentials
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth._exponential_backoff import ExponentialBackoff
from google.auth.compute_engine import _metadata

from models.asking import run
from models.clouds import without_cloud_credentials
from models.loopback import Answer, Loopback, Received, reply
from treadle._models.transport.failures import Origin
from treadle._models.vertex.credentials import Credentials
from treadle._safety.secrets import known_secrets
from treadle._types.errors import (
    ConfigError,
    MissingExtraError,
    MissingKeyError,
    RequestRefusedError,
    TransientModelError,
)

TOKEN = {"access_token": "ya29.a-token", "expires_in": 3599, "token_type": "Bearer"}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    without_cloud_credentials(monkeypatch, tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def keys() -> tuple[str, str]:
    """A private key and its public half, as PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


def service_account(private_key: str, token_uri: str = "https://oauth2.googleapis.com/token") -> dict[str, Any]:
    return {
        "type": "service_account",
        "project_id": "my-project",
        "private_key_id": "kid1",
        "private_key": private_key,
        "client_email": "robot@my-project.iam.gserviceaccount.com",
        "token_uri": token_uri,
    }


USER = {"type": "authorized_user", "client_id": "c", "client_secret": "s3cr3t-x", "refresh_token": "1//r"}


@contextmanager
def user_tokens_from(server: Loopback) -> Iterator[None]:
    """google-auth asks Google for the token of a user, whatever the file says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(google.oauth2.credentials, "_GOOGLE_OAUTH2_TOKEN_ENDPOINT", f"{server.url}/token")
        yield


def asking(script: Any, info: Any, home: Path) -> tuple[str, list[Received]]:
    """The token for a credentials file; `URL` in it stands for the server's address."""

    async def main() -> tuple[str, list[Received]]:
        async with Loopback(script) as server:
            path = home / "adc.json"
            path.write_text(json.dumps(info).replace("URL", server.url))
            with user_tokens_from(server):
                return await Credentials(Origin("vertex", ""), path=str(path)).token(), server.received

    return run(main())


def test_a_service_account(home: Path, keys: tuple[str, str]):
    token, received = asking([reply(TOKEN)], service_account(keys[0], "URL/token"), home)
    assert token == "ya29.a-token"
    asked = parse_qs(received[0].body.decode())
    assert asked["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    assert google.auth.jwt.decode(asked["assertion"][0], certs=keys[1])["iss"].startswith("robot@")


def test_a_user(home: Path):
    token, received = asking([reply(TOKEN)], USER, home)
    assert token == "ya29.a-token"
    assert parse_qs(received[0].body.decode()) == {
        "grant_type": ["refresh_token"],
        "client_id": ["c"],
        "client_secret": ["s3cr3t-x"],
        "refresh_token": ["1//r"],
    }


def test_a_sign_in_that_is_over(home: Path):
    with pytest.raises(RequestRefusedError, match="invalid_grant"):
        asking([reply({"error": "invalid_grant"}, 400)], USER, home)


@pytest.mark.parametrize("kind", ["file", "json file", "url"])
def test_a_federated_identity(home: Path, kind: str):
    (home / "subject").write_text("jwt-of-another" if kind == "file" else '{"value": "jwt-of-another"}')
    source: dict[str, Any] = {"file": str(home / "subject")}
    if kind == "url":
        source = {"url": "URL/subject", "headers": {"authorization": "Bearer runner"}}
    if kind != "file":
        source["format"] = {"type": "json", "subject_token_field_name": "value"}
    info = {
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "URL/exchange",
        "credential_source": source,
    }

    def script(request: Received) -> Answer:
        if request.path == "/subject":
            assert request.headers["authorization"] == "Bearer runner"
            return reply({"value": "jwt-of-another"})
        assert request.path == "/exchange"
        assert parse_qs(request.body.decode())["subject_token"] == ["jwt-of-another"]
        return reply(TOKEN)

    assert asking(script, info, home)[0] == "ya29.a-token"


def test_a_kind_that_does_not_exist(home: Path):
    with pytest.raises(ConfigError, match="does not have a valid type"):
        asking([reply({})], {"type": "other"}, home)


def test_the_metadata_service(monkeypatch: pytest.MonkeyPatch):
    def script(request: Received) -> Answer:
        assert request.headers["metadata-flavor"] == "Google"
        flavor = {"metadata-flavor": "Google", "content-type": "application/json"}
        if request.path.endswith("/project/project-id"):
            return Answer(pieces=[b"machine-project"], headers={**flavor, "content-type": "text/plain"}, length=True)
        if "/token" in request.path:
            return reply(TOKEN)
        return Answer(pieces=[b'{"email": "robot@x", "scopes": []}'], headers=flavor, length=True)

    async def main() -> None:
        async with Loopback(script) as server:
            host = server.url.removeprefix("http://")
            monkeypatch.setattr(_metadata, "_GCE_METADATA_HOST", host)  # read from the environment at import
            monkeypatch.setenv("GCE_METADATA_IP", host)
            monkeypatch.setenv("NO_GCE_CHECK", "false")
            credentials = Credentials(Origin("vertex", ""))
            assert await credentials.token() == "ya29.a-token"
            assert await credentials.project() == "machine-project"

    run(main())


def test_nothing_anywhere_says_what_to_do():
    with pytest.raises(MissingKeyError, match="gcloud auth application-default login"):
        run(Credentials(Origin("vertex", "")).token())
    with pytest.raises(ConfigError, match="GOOGLE_CLOUD_PROJECT"):
        run(Credentials(Origin("vertex", ""), access_token="ya29.a-token").project())


def test_the_file_of_gcloud(home: Path):
    async def main() -> None:
        async with Loopback([reply(TOKEN)]) as server:
            folder = home / ".config" / "gcloud"
            folder.mkdir(parents=True)
            info = {**USER, "quota_project_id": "of-the-user"}
            (folder / "application_default_credentials.json").write_text(json.dumps(info))
            credentials = Credentials(Origin("vertex", ""))
            with user_tokens_from(server):
                assert await credentials.token() == "ya29.a-token"
            assert await credentials.project() == "of-the-user"

    run(main())


def test_files_that_cannot_be_used(home: Path, keys: tuple[str, str]):
    def find(path: Path) -> None:
        run(Credentials(Origin("vertex", ""), path=str(path)).token())

    with pytest.raises(ConfigError, match="cannot be read"):
        find(home / "missing.json")
    (home / "broken.json").write_text("[1]")
    with pytest.raises(ConfigError, match="not a JSON object"):
        find(home / "broken.json")
    (home / "key.json").write_text(json.dumps(service_account("no key")))
    with pytest.raises(ConfigError, match="Failed to load service account credentials") as caught:
        find(home / "key.json")
    assert "no key" not in str(caught.value)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "google.auth", None)
    with pytest.raises(MissingExtraError, match=r"treadle\[vertex\]"):
        run(Credentials(Origin("vertex", "")).token())
    assert run(Credentials(Origin("vertex", ""), access_token="ya29.a-token").token()) == "ya29.a-token"


def test_a_service_that_is_silent(home: Path, keys: tuple[str, str]):
    with pytest.raises(TransientModelError, match="no answer from"):
        asking([reply({})], service_account(keys[0], "http://127.0.0.1:9"), home)


def test_tokens_are_renewed_before_they_expire_and_kept_while_the_source_is_silent(
    home: Path, keys: tuple[str, str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ExponentialBackoff, "_calculate_jitter", lambda self: 0.0)

    async def main() -> None:
        busy = [reply({}, 503)] * 3  # google-auth tries so often
        answers = [reply({**TOKEN, "expires_in": 200}), *busy, reply({**TOKEN, "access_token": "ya29.second"})]
        async with Loopback(answers) as server:
            (home / "adc.json").write_text(json.dumps(service_account(keys[0], server.url)))
            credentials = Credentials(Origin("vertex", ""), path=str(home / "adc.json"))
            assert [await credentials.token() for _ in range(4)] == [
                "ya29.a-token",
                "ya29.a-token",
                "ya29.second",
                "ya29.second",
            ]
            assert len(server.received) == 5

    run(main())


def test_tokens_are_known_and_masked():
    origin = Origin("vertex", "")
    credentials = Credentials(origin, access_token="ya29.to-be-masked")
    assert origin.redact("it is ya29.to-be-masked") == "it is ***"
    assert "ya29.to-be-masked" in known_secrets.values()
    assert "masked" not in repr(credentials)
