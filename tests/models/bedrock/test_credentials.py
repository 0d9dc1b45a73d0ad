"""Where Amazon's keys come from: files, variables, and services on loopback. Order and files as botocore has them."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import botocore.session
import pytest

from models.asking import ask, run
from models.clouds import BedrockWire, without_cloud_credentials
from models.loopback import Answer, Loopback, Received, reply
from models.wires import Sample
from treadle._models.bedrock.credentials import Credentials
from treadle._models.bedrock.model import BedrockModel
from treadle._models.bedrock.sigv4 import Keys
from treadle._models.transport.failures import Origin
from treadle._safety.secrets import known_secrets
from treadle._types.errors import ConfigError, MissingKeyError, RequestRefusedError, TransientModelError

ISO = "2099-01-01T00:00:00Z"
GOOD = {"AccessKeyId": "AKID-S", "SecretAccessKey": "secret-of-service", "Token": "token-of-service", "Expiration": ISO}
STS = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>AKID-ROLE</AccessKeyId><SecretAccessKey>secret-of-role</SecretAccessKey>
<SessionToken>token-of-role</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>
</AssumeRoleResult></AssumeRoleResponse>"""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    without_cloud_credentials(monkeypatch, tmp_path)
    (tmp_path / ".aws").mkdir()
    return tmp_path


def files(home: Path, config: str = "", credentials: str = "") -> None:
    (home / ".aws" / "config").write_text(config)
    (home / ".aws" / "credentials").write_text(credentials)


def find(env: Mapping[str, str] | None = None, profile: str = "") -> Keys:
    environment = {"AWS_EC2_METADATA_DISABLED": "true", **(env or {})}
    return run(Credentials(Origin("bedrock", ""), "us-east-1", profile=profile, env=environment).keys())


def with_service(script: Any, env: dict[str, str], profile: str = "") -> tuple[Keys, list[Received]]:
    """The keys found beside a server; `URL` in a variable stands for its address."""

    async def main() -> tuple[Keys, list[Received]]:
        async with Loopback(script) as server:
            written = {name: value.replace("URL", server.url) for name, value in env.items()}
            found = Credentials(Origin("bedrock", ""), "us-east-1", profile=profile, env=written)
            return await found.keys(), server.received

    return run(main())


def xml(text: str) -> Answer:
    return Answer(pieces=[text.encode()], headers={"content-type": "text/xml"}, length=True)


CONFIG = """
[default]
region = eu-west-1   # a comment
[profile work]
region = ap-south-1
aws_access_key_id = AKID-CONFIG
aws_secret_access_key = secret-config
s3 =
    max_concurrent_requests = 20
[profile both]
aws_access_key_id = AKID-CONFIG
aws_secret_access_key = secret-config
"""
STORED = """
[default]
aws_access_key_id = AKID-FILE
aws_secret_access_key = secret%of/file
[both]
aws_access_key_id = AKID-FILE2
aws_secret_access_key = secret-file2
aws_session_token = token-file2
"""


@pytest.mark.parametrize("profile", ["default", "work", "both"])
def test_profiles_are_read_as_botocore_reads_them(home: Path, profile: str, monkeypatch: pytest.MonkeyPatch):
    files(home, CONFIG, STORED)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(home / ".aws" / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(home / ".aws" / "credentials"))
    session = botocore.session.Session(profile=profile)
    theirs = session.get_credentials()
    ours = find(profile=profile)
    assert (ours.access_key, ours.secret_key, ours.token) == (theirs.access_key, theirs.secret_key, theirs.token or "")


def test_the_environment_comes_before_the_default_profile(home: Path):
    files(home, CONFIG, STORED)
    env = {"AWS_ACCESS_KEY_ID": "AKID-ENV", "AWS_SECRET_ACCESS_KEY": "secret-env", "AWS_SESSION_TOKEN": "t"}
    assert find(env) == Keys("AKID-ENV", "secret-env", "t")
    assert find(env, profile="work").access_key == "AKID-CONFIG"
    assert find({"AWS_PROFILE": "both"}).access_key == "AKID-FILE2"


def test_a_profile_that_does_not_exist_is_an_error_that_lists_those_that_do(home: Path):
    files(home, CONFIG, STORED)
    with pytest.raises(ConfigError, match=r"'wrok'.*both, default, work"):
        find({"AWS_PROFILE": "wrok"})


def test_a_file_that_cannot_be_read_does_not_show_its_secrets(home: Path):
    files(home, "", "aws_secret_access_key = very-secret\n")
    with pytest.raises(ConfigError, match="credentials cannot be read") as caught:
        find()
    assert "very-secret" not in str(caught.value)


def test_nothing_anywhere_says_what_to_do():
    with pytest.raises(MissingKeyError, match=r"AWS_ACCESS_KEY_ID.*AWS_PROFILE"):
        find()


def test_a_role_is_assumed_with_the_keys_of_its_source(home: Path):
    role = "[profile r]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = default\nexternal_id = e1\n"
    files(home, CONFIG + role, STORED)
    keys, received = with_service([xml(STS)], {"AWS_ENDPOINT_URL_STS": "URL"}, "r")
    assert (keys.access_key, keys.secret_key, keys.token) == ("AKID-ROLE", "secret-of-role", "token-of-role")
    assert keys.expires > time.time()
    asked = parse_qs(received[0].body.decode())
    assert asked["Action"] == ["AssumeRole"]
    assert asked["RoleArn"] == ["arn:aws:iam::1:role/x"]
    assert asked["ExternalId"] == ["e1"]
    assert "Credential=AKID-FILE/" in received[0].headers["authorization"]
    assert "/us-east-1/sts/aws4_request" in received[0].headers["authorization"]


def test_a_role_of_a_role_and_a_circle(home: Path):
    chain = (
        "[profile a]\nrole_arn = arn:a\nsource_profile = b\n[profile b]\nrole_arn = arn:b\nsource_profile = default\n"
    )
    files(home, CONFIG + chain, STORED)
    _, received = with_service([xml(STS)], {"AWS_ENDPOINT_URL_STS": "URL"}, "a")
    assert [parse_qs(item.body.decode())["RoleArn"] for item in received] == [["arn:b"], ["arn:a"]]
    files(home, chain.replace("source_profile = default", "source_profile = a"))
    with pytest.raises(ConfigError, match="gives no keys"):
        find(profile="a")


def test_a_role_that_asks_for_a_code(home: Path):
    files(home, "[profile m]\nrole_arn = arn:a\nsource_profile = default\nmfa_serial = arn:mfa\n", STORED)
    with pytest.raises(ConfigError, match="export-credentials"):
        find(profile="m")


def test_a_role_by_web_identity(home: Path):
    (home / "token").write_text("jwt-of-the-cluster\n")
    env = {"AWS_ENDPOINT_URL_STS": "URL", "AWS_ROLE_ARN": "arn:w", "AWS_WEB_IDENTITY_TOKEN_FILE": str(home / "token")}
    keys, received = with_service([xml(STS.replace("AssumeRole", "AssumeRoleWithWebIdentity"))], env)
    assert keys.access_key == "AKID-ROLE"
    asked = parse_qs(received[0].body.decode())
    assert asked["WebIdentityToken"] == ["jwt-of-the-cluster"]
    assert "authorization" not in received[0].headers


def test_a_refused_role_is_a_refusal(home: Path):
    files(home, CONFIG + "[profile r]\nrole_arn = arn:a\nsource_profile = default\n", STORED)
    denied = xml("<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")
    denied.status = 403
    with pytest.raises(RequestRefusedError, match="AccessDenied"):
        with_service([denied], {"AWS_ENDPOINT_URL_STS": "URL"}, "r")


SIGN_IN = """
[profile s]
sso_session = corp
sso_account_id = 123
sso_role_name = Dev
[sso-session corp]
sso_region = eu-central-1
sso_start_url = https://corp.awsapps.com/start
"""


def signed_in(home: Path, key: str, until: str = ISO) -> None:
    folder = home / ".aws" / "sso" / "cache"
    folder.mkdir(parents=True)
    name = hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest()
    (folder / f"{name}.json").write_text(json.dumps({"accessToken": "sso-token", "expiresAt": until}))


@pytest.mark.parametrize("old", [False, True])
def test_somebody_who_signed_in(home: Path, old: bool):
    config = SIGN_IN if not old else SIGN_IN.replace("sso_session = corp", "sso_start_url = https://x\nsso_region = r")
    files(home, config)
    signed_in(home, "https://x" if old else "corp")
    fields = {"accessKeyId": "AKID-SSO", "secretAccessKey": "secret-sso", "sessionToken": "t", "expiration": 4e12}
    keys, received = with_service([reply({"roleCredentials": fields})], {"AWS_ENDPOINT_URL_SSO": "URL"}, "s")
    assert keys == Keys("AKID-SSO", "secret-sso", "t", 4e9)
    assert received[0].path == "/federation/credentials?role_name=Dev&account_id=123"
    assert received[0].headers["x-amz-sso_bearer_token"] == "sso-token"


def test_somebody_who_has_to_sign_in_again(home: Path):
    files(home, SIGN_IN)
    with pytest.raises(ConfigError, match="aws sso login --profile s"):
        find(profile="s")
    signed_in(home, "corp", "2020-01-01T00:00:00Z")
    with pytest.raises(ConfigError, match="aws sso login --profile s"):
        find(profile="s")


def test_a_command_prints_them(home: Path):
    printed = {"Version": 1, "AccessKeyId": "AKID-CMD", "SecretAccessKey": "secret-cmd", "Expiration": ISO}
    script = home / "keys.py"
    script.write_text(f"print({json.dumps(json.dumps(printed))})")
    files(home, f"[profile c]\ncredential_process = {sys.executable} {script}\n")
    assert find(profile="c").access_key == "AKID-CMD"
    script.write_text("raise SystemExit(3)")
    with pytest.raises(ConfigError, match="ended with 3"):
        find(profile="c")
    files(home, "[profile c]\ncredential_process = /nonexistent/program\n")
    with pytest.raises(ConfigError, match="does not start"):
        find(profile="c")


def test_a_container(home: Path):
    (home / "auth").write_text("Bearer pod")
    env = {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": "URL/v1/credentials",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(home / "auth"),
    }
    keys, received = with_service([reply(GOOD)], env)
    assert (keys.access_key, keys.token) == ("AKID-S", "token-of-service")
    assert (received[0].path, received[0].headers["authorization"]) == ("/v1/credentials", "Bearer pod")
    with pytest.raises(ConfigError, match="plain HTTP"):
        find({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.com/x"})


def test_an_instance():
    def script(request: Received) -> Answer:
        if request.path == "/latest/api/token":
            assert request.headers["x-aws-ec2-metadata-token-ttl-seconds"]
            return Answer(pieces=[b"imds-token"], length=True)
        assert request.headers["x-aws-ec2-metadata-token"] == "imds-token"
        if request.path.endswith("/security-credentials/"):
            return Answer(pieces=[b"my-role"], length=True)
        return reply(GOOD if request.path.endswith("/my-role") else {})

    keys, received = with_service(script, {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "URL"})
    assert keys.access_key == "AKID-S"
    assert len(received) == 3


def test_an_address_without_an_instance_behind_it():
    with pytest.raises(MissingKeyError):
        with_service([reply({}, 404)], {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "URL"})
    with pytest.raises(MissingKeyError):
        find({"AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:9"})


def test_they_are_renewed_before_they_expire_and_kept_while_the_source_is_silent():
    async def main() -> None:
        soon = {**GOOD, "Expiration": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 200))}
        answers = [reply(soon), reply({"message": "busy"}, 500), reply({**GOOD, "AccessKeyId": "AKID-2"})]
        async with Loopback(answers) as server:
            env = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/x"}
            found = Credentials(Origin("bedrock", ""), "us-east-1", env=env)
            assert [(await found.keys()).access_key for _ in range(4)] == ["AKID-S", "AKID-S", "AKID-2", "AKID-2"]
            assert len(server.received) == 3
            found.forget()
            await found.keys()
            assert len(server.received) == 4

    run(main())


def test_found_secrets_are_known_and_masked():
    origin = Origin("bedrock", "")
    found = Credentials(origin, "r", env={"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "secret-to-mask"})
    run(found.keys())
    assert origin.redact("it is secret-to-mask") == "it is ***"
    assert "secret-to-mask" in known_secrets.values()
    assert "secret-to-mask" not in repr(found)


def test_a_model_signs_with_what_it_finds(home: Path, monkeypatch: pytest.MonkeyPatch):
    files(home, CONFIG, STORED)
    wire = BedrockWire()

    async def main() -> None:
        async with Loopback([wire.whole(Sample("Hello."))]) as server:
            model = BedrockModel("amazon.nova-lite-v1:0", base_url=server.url)
            assert (await ask(model))[0].text == "Hello."
            signed = server.received[0].headers["authorization"]
            assert "Credential=AKID-FILE/" in signed
            assert "/eu-west-1/bedrock/aws4_request" in signed
            assert server.received[0].path == "/model/amazon.nova-lite-v1%3A0/converse"

    run(main())


def test_an_expired_token_is_looked_up_again(home: Path):
    wire = BedrockWire()
    expired = wire.error(403, "The security token included in the request is expired")

    async def main() -> None:
        async with Loopback([expired, wire.whole(Sample("Hello."))]) as server:
            files(home, CONFIG, STORED)
            model = BedrockModel("amazon.nova-lite-v1:0", base_url=server.url)
            with pytest.raises(TransientModelError, match="expired"):
                await ask(model)
            files(home, CONFIG, STORED.replace("AKID-FILE\n", "AKID-NEW\n"))
            await ask(model)
            assert "Credential=AKID-NEW/" in server.received[1].headers["authorization"]

    run(main())


def test_the_region(home: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ConfigError, match="needs a region"):
        BedrockModel("m")
    files(home, CONFIG, STORED)
    assert BedrockModel("m").address == "https://bedrock-runtime.eu-west-1.amazonaws.com"
    assert "ap-south-1" in BedrockModel("m", aws_profile="work").address
    monkeypatch.setenv("AWS_REGION", "cn-north-1")
    assert BedrockModel("m").address == "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"
    assert "us-west-2" in BedrockModel("m", region="us-west-2").address
    other = BedrockModel("m", base_url="https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com", api_key="k")
    assert other._region == "us-gov-west-1"


def test_half_a_key():
    with pytest.raises(ConfigError, match="belong together"):
        BedrockModel("m", region="r", access_key="a")
