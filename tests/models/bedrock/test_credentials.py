"""Amazon's keys and signatures through botocore: its sources beside services on loopback, and its errors."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import pytest
from botocore.credentials import SSOProvider
from botocore.utils import ContainerMetadataFetcher

from models.asking import ask, run
from models.clouds import BedrockWire, without_cloud_credentials
from models.loopback import Answer, Loopback, Received, reply
from models.wires import Sample
from treadle._models.bedrock import credentials as credentials_module
from treadle._models.bedrock.credentials import Credentials
from treadle._models.bedrock.model import BedrockModel
from treadle._models.transport.failures import Origin
from treadle._safety.secrets import known_secrets
from treadle._types.errors import (
    ConfigError,
    MissingExtraError,
    MissingKeyError,
    RequestRefusedError,
    TransientModelError,
)

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


class Used(NamedTuple):
    key: str
    received: list[Received]


Find = Callable[..., Used]


@pytest.fixture
def find(monkeypatch: pytest.MonkeyPatch) -> Find:
    """The keys that a request is signed with, in an environment, beside a server; `URL` stands for its address."""

    def ask_for(env: Mapping[str, str] | None = None, profile: str = "", script: Any = ()) -> Used:
        async def main() -> Used:
            async with Loopback(script) as server:
                for name, value in (env or {}).items():
                    monkeypatch.setenv(name, value.replace("URL", server.url))
                credentials = Credentials(Origin("bedrock", ""), "us-east-1", profile=profile)
                return Used(await used_key(credentials), server.received)

        return run(main())

    return ask_for


async def used_key(credentials: Credentials) -> str:
    signed = await credentials.sign("https://example.com/model", {}, b"{}")
    return re.search("Credential=([^/]+)/", signed["Authorization"])[1]


def xml(text: str) -> Answer:
    return Answer(pieces=[text.encode()], headers={"content-type": "text/xml"}, length=True)


CONFIG = """
[default]
region = eu-west-1
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


@pytest.mark.parametrize(
    ("profile", "key"), [("default", "AKID-FILE"), ("work", "AKID-CONFIG"), ("both", "AKID-FILE2")]
)
def test_profiles(home: Path, find: Find, profile: str, key: str):
    files(home, CONFIG, STORED)
    assert find(profile=profile).key == key
    assert find({"AWS_PROFILE": profile}).key == key


def test_the_environment_comes_before_the_default_profile(home: Path, find: Find):
    files(home, CONFIG, STORED)
    env = {"AWS_ACCESS_KEY_ID": "AKID-ENV", "AWS_SECRET_ACCESS_KEY": "secret-env", "AWS_SESSION_TOKEN": "t"}
    assert find(env).key == "AKID-ENV"
    assert find(env, profile="work").key == "AKID-CONFIG"


def test_a_profile_that_does_not_exist_is_an_error_that_lists_those_that_do(home: Path, find: Find):
    files(home, CONFIG, STORED)
    with pytest.raises(ConfigError, match=r"'wrok'.*both, default, work"):
        find({"AWS_PROFILE": "wrok"})


def test_a_file_that_cannot_be_read_does_not_show_its_secrets(home: Path, find: Find):
    files(home, "", "aws_secret_access_key = very-secret\n")
    with pytest.raises(ConfigError, match=r"cannot be read.*credentials") as caught:
        find()
    assert "very-secret" not in str(caught.value)


def test_nothing_anywhere_says_what_to_do(find: Find):
    with pytest.raises(MissingKeyError, match=r"AWS_ACCESS_KEY_ID.*AWS_PROFILE"):
        find()


def test_a_role_is_assumed_with_the_keys_of_its_source(home: Path, find: Find):
    role = "[profile r]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = default\nexternal_id = e1\n"
    files(home, CONFIG + role, STORED)
    key, received = find({"AWS_ENDPOINT_URL_STS": "URL"}, "r", [xml(STS)])
    assert key == "AKID-ROLE"
    asked = parse_qs(received[0].body.decode())
    assert asked["Action"] == ["AssumeRole"]
    assert asked["RoleArn"] == ["arn:aws:iam::1:role/x"]
    assert asked["ExternalId"] == ["e1"]
    assert "Credential=AKID-FILE/" in received[0].headers["authorization"]
    assert "/us-east-1/sts/aws4_request" in received[0].headers["authorization"]


def test_a_role_of_a_role_and_a_circle(home: Path, find: Find):
    chain = (
        "[profile a]\nrole_arn = arn:aws:iam::1:role/a\nsource_profile = b\n"
        "[profile b]\nrole_arn = arn:aws:iam::1:role/b\nsource_profile = default\n"
    )
    files(home, CONFIG + chain, STORED)
    received = find({"AWS_ENDPOINT_URL_STS": "URL"}, "a", [xml(STS)]).received
    assert [parse_qs(item.body.decode())["RoleArn"] for item in received] == [
        ["arn:aws:iam::1:role/b"],
        ["arn:aws:iam::1:role/a"],
    ]
    files(home, chain.replace("source_profile = default", "source_profile = a"))
    with pytest.raises(ConfigError, match=r"[Ii]nfinite loop"):
        find(profile="a")


@pytest.mark.parametrize("profile", ["m", "n"])
def test_a_role_that_asks_for_a_code(home: Path, find: Find, profile: str):
    roles = "[profile m]\nrole_arn = arn:aws:iam::1:role/a\nsource_profile = default\nmfa_serial = arn:mfa\n"
    files(home, CONFIG + roles + "[profile n]\nrole_arn = arn:aws:iam::1:role/b\nsource_profile = m\n", STORED)
    with pytest.raises(ConfigError, match=r"'m'.*export-credentials"):
        find(profile=profile)


def test_a_role_by_web_identity(home: Path, find: Find):
    (home / "token").write_text("jwt-of-the-cluster")
    env = {
        "AWS_ENDPOINT_URL_STS": "URL",
        "AWS_ROLE_ARN": "arn:aws:iam::1:role/w",
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(home / "token"),
    }
    key, received = find(env, script=[xml(STS.replace("AssumeRole", "AssumeRoleWithWebIdentity"))])
    assert key == "AKID-ROLE"
    asked = parse_qs(received[0].body.decode())
    assert asked["WebIdentityToken"] == ["jwt-of-the-cluster"]
    assert "authorization" not in received[0].headers


def test_a_refused_role_is_a_refusal(home: Path, find: Find):
    files(home, CONFIG + "[profile r]\nrole_arn = arn:aws:iam::1:role/a\nsource_profile = default\n", STORED)
    denied = xml("<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")
    denied.status = 403
    with pytest.raises(RequestRefusedError, match="AccessDenied"):
        find({"AWS_ENDPOINT_URL_STS": "URL"}, "r", [denied])


SIGN_IN = """
[profile s]
sso_start_url = https://corp.awsapps.com/start
sso_region = eu-central-1
sso_account_id = 123
sso_role_name = Dev
"""


def test_somebody_who_signed_in(home: Path, find: Find, monkeypatch: pytest.MonkeyPatch):
    files(home, SIGN_IN)
    folder = home / "cache"
    monkeypatch.setattr(SSOProvider, "_SSO_TOKEN_CACHE_DIR", str(folder))  # botocore derives it from HOME at import
    with pytest.raises(ConfigError, match=r"aws sso login --profile s"):
        find(profile="s")
    folder.mkdir()
    name = hashlib.sha1(b"https://corp.awsapps.com/start", usedforsecurity=False).hexdigest()
    (folder / f"{name}.json").write_text(json.dumps({"accessToken": "sso-token", "expiresAt": ISO}))
    fields = {"accessKeyId": "AKID-SSO", "secretAccessKey": "secret-sso", "sessionToken": "t", "expiration": 4e12}
    key, received = find({"AWS_ENDPOINT_URL_SSO": "URL"}, "s", [reply({"roleCredentials": fields})])
    assert key == "AKID-SSO"
    assert received[0].path == "/federation/credentials?role_name=Dev&account_id=123"
    assert received[0].headers["x-amz-sso_bearer_token"] == "sso-token"


def test_a_command_prints_them(home: Path, find: Find):
    printed = {"Version": 1, "AccessKeyId": "AKID-CMD", "SecretAccessKey": "secret-cmd", "Expiration": ISO}
    script = home / "keys.py"
    script.write_text(f"print({json.dumps(json.dumps(printed))})")
    files(home, f"[profile c]\ncredential_process = {sys.executable} {script}\n")
    assert find(profile="c").key == "AKID-CMD"
    script.write_text("raise SystemExit('no keys today')")
    with pytest.raises(ConfigError, match="custom-process: no keys today"):
        find(profile="c")
    files(home, "[profile c]\ncredential_process = /nonexistent/program\n")
    with pytest.raises(ConfigError, match="/nonexistent/program"):
        find(profile="c")


def test_a_command_that_does_not_end(home: Path, find: Find, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(credentials_module, "LOOKUP_SECONDS", 0.05)
    files(home, f"[profile c]\ncredential_process = {sys.executable} -c 'import time; time.sleep(1)'\n")
    with pytest.raises(TransientModelError, match="within"):
        find(profile="c")


def test_a_container(home: Path, find: Find):
    (home / "auth").write_text("Bearer pod")
    env = {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": "URL/v1/credentials",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(home / "auth"),
    }
    key, received = find(env, script=[reply(GOOD)])
    assert key == "AKID-S"
    assert (received[0].path, received[0].headers["authorization"]) == ("/v1/credentials", "Bearer pod")
    with pytest.raises(ConfigError, match="Unsupported host"):
        find({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.com/x"})


def test_an_instance(find: Find):
    def script(request: Received) -> Answer:
        if request.path == "/latest/api/token":
            return Answer(pieces=[b"imds-token"], length=True)
        assert request.headers["x-aws-ec2-metadata-token"] == "imds-token"
        if request.path.endswith("/security-credentials/"):
            return Answer(pieces=[b"my-role"], length=True)
        return reply({**GOOD, "Code": "Success"} if request.path.endswith("/my-role") else {})

    env = {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "URL"}
    assert find(env, script=script).key == "AKID-S"
    with pytest.raises(MissingKeyError):
        find(env, script=[reply({}, 404)])
    with pytest.raises(MissingKeyError):
        find(env | {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:9"})


def test_they_are_renewed_before_they_expire_and_kept_while_the_source_is_silent(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ContainerMetadataFetcher, "SLEEP_TIME", 0)
    busy = [reply({"message": "busy"}, 500)] * ContainerMetadataFetcher.RETRY_ATTEMPTS

    soon = reply({**GOOD, "Expiration": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 200))})

    async def main() -> None:
        # botocore asks twice at first: it looks for keys, and renews those that are about to expire.
        answers = [soon, soon, *busy, reply({**GOOD, "AccessKeyId": "AKID-2"})]
        async with Loopback(answers) as server:
            monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{server.url}/x")
            credentials = Credentials(Origin("bedrock", ""), "us-east-1")
            assert [await used_key(credentials) for _ in range(4)] == ["AKID-S", "AKID-S", "AKID-2", "AKID-2"]
            assert len(server.received) == 6
            credentials.forget()
            await used_key(credentials)
            assert len(server.received) == 7

    run(main())


def test_a_source_that_is_silent(monkeypatch: pytest.MonkeyPatch, find: Find):
    monkeypatch.setattr(ContainerMetadataFetcher, "SLEEP_TIME", 0)
    with pytest.raises(TransientModelError, match="busy"):
        find({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "URL/x"}, script=[reply({"message": "busy"}, 500)])


def test_secrets_are_registered_and_masked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-to-mask")
    origin = Origin("bedrock", "")
    credentials = Credentials(origin, "r")
    run(used_key(credentials))
    assert origin.redact("it is secret-to-mask") == "it is ***"
    assert "secret-to-mask" in known_secrets.values()
    assert "secret-to-mask" not in repr(credentials)


def test_what_is_sent_with_the_signature():
    credentials = Credentials(Origin("bedrock", ""), "r", access_key="a", secret_key="b", session_token="token")
    signed = run(credentials.sign("https://example.com/x", {"content-type": "application/json"}, b""))
    assert signed.keys() == {"content-type", "X-Amz-Date", "X-Amz-Security-Token", "Authorization"}
    assert "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token" in signed["Authorization"]


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


def test_a_region_that_is_none():
    with pytest.raises(ConfigError, match="not a region"):
        BedrockModel("m", region="evil.example/")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "botocore", None)
    with pytest.raises(MissingExtraError, match=r"treadle\[bedrock\]"):
        BedrockModel("m", region="r", access_key="a", secret_key="b")


def test_half_a_key():
    with pytest.raises(ConfigError, match="belong together"):
        BedrockModel("m", region="r", access_key="a")
