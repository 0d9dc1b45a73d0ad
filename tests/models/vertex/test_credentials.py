"""Google's application-default credentials: assertions checked with Google's own library, services on loopback."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import google.auth.jwt
import google.oauth2.service_account
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from models.asking import run
from models.clouds import without_cloud_credentials
from models.loopback import Answer, Loopback, Received, reply
from treadle._models.transport.failures import Origin
from treadle._models.vertex.credentials import Credentials
from treadle._models.vertex.token_sources import SCOPE, service_account_assertion
from treadle._safety.secrets import known_secrets
from treadle._types.errors import ConfigError, MissingExtraError, MissingKeyError, RequestRefusedError

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


def asking(script: Any, info: Any, home: Path, env: dict[str, str] | None = None) -> tuple[str, list[Received]]:
    """The token for a credentials file; `URL` in it stands for the server's address."""

    async def main() -> tuple[str, list[Received]]:
        async with Loopback(script) as server:
            path = home / "adc.json"
            path.write_text(json.dumps(info).replace("URL", server.url))
            written = {"GOOGLE_APPLICATION_CREDENTIALS": str(path), "NO_GCE_CHECK": "true", **(env or {})}
            return await Credentials(Origin("vertex", ""), env=written).token(), server.received

    return run(main())


def test_google_accepts_what_a_service_account_signs(keys: tuple[str, str]):
    private, public = keys
    info = service_account(private)
    now = time.time()
    claims = google.auth.jwt.decode(
        service_account_assertion(info, now), certs=public, audience="https://oauth2.googleapis.com/token"
    )
    theirs = google.oauth2.service_account.Credentials.from_service_account_info(info, scopes=[SCOPE])
    written = google.auth.jwt.decode(theirs._make_authorization_grant_assertion(), certs=public)
    same = ("iss", "scope", "aud")
    assert {name: claims[name] for name in same} == {name: written[name] for name in same}
    assert claims["exp"] - claims["iat"] == written["exp"] - written["iat"] == 3600
    ours, other = (
        google.auth.jwt.decode_header(text)
        for text in (service_account_assertion(info, now), theirs._make_authorization_grant_assertion())
    )
    assert ours == other


def test_a_service_account(home: Path, keys: tuple[str, str]):
    token, received = asking([reply(TOKEN)], service_account(keys[0], "URL/token"), home)
    assert token == "ya29.a-token"
    asked = parse_qs(received[0].body.decode())
    assert asked["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    assert google.auth.jwt.decode(asked["assertion"][0], certs=keys[1])["iss"].startswith("robot@")


def test_a_user(home: Path):
    token, received = asking([reply(TOKEN)], {**USER, "token_uri": "URL/token"}, home)
    assert token == "ya29.a-token"
    assert parse_qs(received[0].body.decode()) == {
        "grant_type": ["refresh_token"],
        "client_id": ["c"],
        "client_secret": ["s3cr3t-x"],
        "refresh_token": ["1//r"],
    }


def test_a_sign_in_that_is_over(home: Path):
    with pytest.raises(RequestRefusedError, match="invalid_grant"):
        asking([reply({"error": "invalid_grant"}, 400)], {**USER, "token_uri": "URL/token"}, home)


def test_an_impersonated_service_account(home: Path):
    info = {
        "type": "impersonated_service_account",
        "service_account_impersonation_url": "URL/v1/projects/-/serviceAccounts/x:generateAccessToken",
        "source_credentials": {**USER, "token_uri": "URL/token"},
    }
    granted = {"accessToken": "ya29.of-the-robot", "expireTime": "2099-01-01T00:00:00Z"}
    token, received = asking([reply(TOKEN), reply(granted)], info, home)
    assert token == "ya29.of-the-robot"
    assert received[1].headers["authorization"] == "Bearer ya29.a-token"
    assert received[1].json == {"scope": [SCOPE], "delegates": []}


@pytest.mark.parametrize("kind", ["file", "json file", "url"])
def test_a_federated_identity(home: Path, kind: str):
    (home / "subject").write_text("jwt-of-another\n" if kind == "file" else '{"value": "jwt-of-another"}')
    source: dict[str, Any] = {"file": str(home / "subject")}
    if kind == "url":
        source = {"url": "URL/subject", "headers": {"authorization": "Bearer runner"}}
    if kind != "file":
        source["format"] = {"type": "json", "subject_token_field_name": "value"}
    info = {
        "type": "external_account",
        "audience": "//iam.googleapis.com/x",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "URL/exchange",
        "service_account_impersonation_url": "URL/impersonate",
        "credential_source": source,
    }

    def script(request: Received) -> Answer:
        if request.path == "/subject":
            assert request.headers["authorization"] == "Bearer runner"
            return reply({"value": "jwt-of-another"})
        if request.path == "/exchange":
            assert parse_qs(request.body.decode())["subject_token"] == ["jwt-of-another"]
            return reply(TOKEN)
        return reply({"accessToken": "ya29.federated", "expireTime": "2099-01-01T00:00:00Z"})

    assert asking(script, info, home)[0] == "ya29.federated"


def test_kinds_that_are_not_supported(home: Path):
    with pytest.raises(ConfigError, match="print-access-token"):
        asking([reply({})], {"type": "gdch_service_account"}, home)
    with pytest.raises(ConfigError, match="neither from a file nor"):
        asking([reply({})], {"type": "external_account", "credential_source": {"environment_id": "aws1"}}, home)


def test_the_metadata_service():
    def script(request: Received) -> Answer:
        assert request.headers["metadata-flavor"] == "Google"
        if request.path.endswith("/project/project-id"):
            return Answer(pieces=[b"machine-project"], length=True)
        assert request.path == "/computeMetadata/v1/instance/service-accounts/default/token"
        return reply(TOKEN)

    async def main() -> None:
        async with Loopback(script) as server:
            env = {"GCE_METADATA_HOST": server.url.removeprefix("http://")}
            found = Credentials(Origin("vertex", ""), env=env)
            assert await found.token() == "ya29.a-token"
            assert await found.project() == "machine-project"

    run(main())


def test_nothing_anywhere_says_what_to_do():
    found = Credentials(Origin("vertex", ""), env={"GCE_METADATA_HOST": "127.0.0.1:9"})
    with pytest.raises(MissingKeyError, match="gcloud auth application-default login"):
        run(found.token())
    with pytest.raises(ConfigError, match="GOOGLE_CLOUD_PROJECT"):
        run(found.project())


def test_the_file_of_gcloud(home: Path):
    async def main() -> None:
        async with Loopback([reply(TOKEN)]) as server:
            folder = home / ".config" / "gcloud"
            folder.mkdir(parents=True)
            info = {**USER, "token_uri": f"{server.url}/token", "quota_project_id": "of-the-user"}
            (folder / "application_default_credentials.json").write_text(json.dumps(info))
            found = Credentials(Origin("vertex", ""), env={"NO_GCE_CHECK": "1"})
            assert await found.token() == "ya29.a-token"
            assert await found.project() == "of-the-user"

    run(main())


def test_files_that_cannot_be_used(home: Path, keys: tuple[str, str]):
    def find(path: Path) -> None:
        run(Credentials(Origin("vertex", ""), path=str(path), env={}).token())

    with pytest.raises(ConfigError, match="cannot be read"):
        find(home / "missing.json")
    (home / "broken.json").write_text("[1]")
    with pytest.raises(ConfigError, match="not a JSON object"):
        find(home / "broken.json")
    (home / "key.json").write_text(json.dumps(service_account("no key")))
    with pytest.raises(ConfigError, match="not an RSA key") as caught:
        find(home / "key.json")
    assert "no key" not in str(caught.value)


def test_a_service_account_without_the_extra(keys: tuple[str, str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    with pytest.raises(MissingExtraError, match=r"treadle\[vertex\]"):
        service_account_assertion(service_account(keys[0]), 0.0)


def test_tokens_are_renewed_before_they_expire_and_kept_while_the_source_is_silent(home: Path):
    async def main() -> None:
        answers = [reply({**TOKEN, "expires_in": 200}), reply({}, 503), reply({**TOKEN, "access_token": "ya29.second"})]
        async with Loopback(answers) as server:
            (home / "adc.json").write_text(json.dumps({**USER, "token_uri": server.url}))
            found = Credentials(Origin("vertex", ""), path=str(home / "adc.json"), env={})
            assert [await found.token() for _ in range(4)] == [
                "ya29.a-token",
                "ya29.a-token",
                "ya29.second",
                "ya29.second",
            ]
            assert len(server.received) == 3

    run(main())


def test_tokens_are_known_and_masked():
    origin = Origin("vertex", "")
    found = Credentials(origin, access_token="ya29.to-be-masked", env={})
    assert origin.redact("it is ya29.to-be-masked") == "it is ***"
    assert "ya29.to-be-masked" in known_secrets.values()
    assert "masked" not in repr(found)
