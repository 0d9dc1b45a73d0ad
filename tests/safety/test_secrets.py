"""What is secret: variables by their names, addresses, headers, and keys given in code for as long as they are used."""

from __future__ import annotations

import gc

import pytest

from treadle import Agent, McpConnection, OpenAIModel, ScriptedModel, builtin, create_app
from treadle._models.openai.embeddings import Embeddings
from treadle._safety.secrets import (
    KnownSecrets,
    address_secrets,
    environment_secrets,
    header_secrets,
    known_secrets,
)

VALUE = "Xy7-some-long-value"


@pytest.mark.parametrize(
    "name",
    [
        "DB_PASS",
        "STRIPE_APIKEY",
        "APIKEY",
        "GITHUB_PAT",
        "AZURE_CREDENTIALS",
        "OPENAI_API_KEY",
        "SMTP_PASSWD",
        "MYSQL_PWD",
        "KEY_PASSPHRASE",
        "SIGNING_KEYS",
        "token",
        "MyPassword",
    ],
)
def test_variables_that_hold_secrets(name: str):
    assert environment_secrets({name: VALUE}) == {VALUE: name}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PWD", "/home/somebody/work"),
        ("OLDPWD", "/home/somebody/work"),
        ("SSH_ASKPASS", "/usr/bin/ask-for-it"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/somebody/key.json"),
        ("KEYBOARD", "qwertzuiopqwertz"),
        ("MAX_TOKENS", "1000000000"),
        ("COMPASS", "pointing north"),
        ("DB_PASS", "short"),
        ("HOMEPAGE_URL", "https://example.org/a@b"),
    ],
)
def test_variables_that_do_not(name: str, value: str):
    assert environment_secrets({name: value}) == {}


def test_of_an_address_only_the_password_is_secret():
    assert environment_secrets({"DATABASE_URL": "postgres://me:long%2Bpassword@db:5432/x"}) == {
        "long%2Bpassword": "DATABASE_URL",
        "long+password": "DATABASE_URL",
    }
    assert address_secrets("redis://:pw@cache/0") == [":pw@"]
    assert address_secrets("mysql://root@db") == address_secrets("http://[broken:x@y") == []


def test_headers():
    headers = {"Authorization": "Bearer abc.def", "X-API-Key": "k1", "Cookie": "a=b", "Accept": "text/html"}
    assert header_secrets(headers) == ["abc.def", "k1", "a=b", "b"]
    basic = {"Authorization": "Basic bWU6aHVudGVyMi1odW50ZXIy"}
    assert header_secrets(basic) == ["bWU6aHVudGVyMi1odW50ZXIy", "me:hunter2-hunter2", "hunter2-hunter2"]
    assert header_secrets({"Cookie": 'lang=en; sid="session-value-1"'})[1:] == ["en", "session-value-1"]
    assert header_secrets({"X-Api-Key": "schlüssel-1".encode().decode("latin-1")})[1:] == ["schlüssel-1"]


def test_the_names_of_local_servers_are_no_secrets():
    known, owner = KnownSecrets(), Owner()
    known.keep(owner, "key", ["lm-studio", "LM-Studio", "sk-no-key-required", "lm-studio-real-key-1"])
    assert list(known.values()) == ["lm-studio-real-key-1"]


class Owner:
    pass


def test_a_secret_is_known_as_long_as_somebody_uses_it():
    known = KnownSecrets()
    one, two = Owner(), Owner()
    known.keep(one, "key", [VALUE, VALUE, "short", "not-needed"])
    known.keep(two, "other", [VALUE])
    assert known.values() == {VALUE: "key"}
    version = known.version
    del one
    gc.collect()
    assert (known.values(), known.version) == ({VALUE: "key"}, version)
    del two
    gc.collect()
    assert (len(known), known.version) == (0, version + 1)
    assert VALUE not in repr(known)


MAKERS = {
    "a model": lambda: OpenAIModel("m", api_key=VALUE),
    "a model's header": lambda: OpenAIModel("m", api_key="", headers={"X-Auth": VALUE}),
    "embeddings": lambda: Embeddings("openai:e", api_key=VALUE),
    "an MCP header": lambda: McpConnection("x", url="http://localhost/mcp", headers={"Auth": f"Bearer {VALUE}"}),
    "an MCP command": lambda: McpConnection("x", command="server", env={"SERVICE_APIKEY": VALUE}),
    "a tool": lambda: builtin("tavily", key=VALUE),
    "an agent": lambda: Agent(ScriptedModel(["hi"]), tools=None, secrets=[VALUE]),
    "a server": lambda: create_app({"a": Agent(ScriptedModel(["hi"]), tools=None)}, tokens={VALUE: "ada"}),
}


@pytest.mark.parametrize("name", MAKERS)
def test_keys_given_in_code_are_known_and_forgotten(name: str):
    gc.collect()
    before = len(known_secrets)
    made = [MAKERS[name]() for _ in range(3)]
    assert VALUE in known_secrets.values()
    del made
    gc.collect()
    assert VALUE not in known_secrets.values()
    assert len(known_secrets) <= before
