"""What is secret: variables by their names, addresses, headers, and keys given in code for as long as they are used."""

from __future__ import annotations

import gc
from collections.abc import Callable

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


def test_variables_that_hold_secrets():
    for name in (
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
    ):
        assert environment_secrets({name: VALUE}) == {VALUE: name}, name


def test_variables_that_do_not():
    for name, value in (
        ("PWD", "/home/somebody/work"),
        ("OLDPWD", "/home/somebody/work"),
        ("SSH_ASKPASS", "/usr/bin/ask-for-it"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/somebody/key.json"),
        ("KEYBOARD", "qwertzuiopqwertz"),
        ("MAX_TOKENS", "1000000000"),
        ("COMPASS", "pointing north"),
        ("DB_PASS", "short"),
        ("HOMEPAGE_URL", "https://example.org/a@b"),
    ):
        assert environment_secrets({name: value}) == {}, name


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
    assert (known.values(), known.version) == ({VALUE: "key"}, version)
    del two
    assert (len(known), known.version) == (0, version + 1)
    assert VALUE not in repr(known)


MAKERS: dict[str, Callable[[str], object]] = {
    "a model": lambda key: OpenAIModel("m", api_key=key),
    "a model's header": lambda key: OpenAIModel("m", api_key="", headers={"X-Auth": key}),
    "embeddings": lambda key: Embeddings("openai:e", api_key=key),
    "an MCP header": lambda key: McpConnection("x", url="http://localhost/mcp", headers={"Auth": f"Bearer {key}"}),
    "an MCP command": lambda key: McpConnection("x", command="server", env={"SERVICE_APIKEY": key}),
    "a tool": lambda key: builtin("tavily", key=key),
    "an agent": lambda key: Agent(ScriptedModel(["hi"]), tools=None, secrets=[key]),
    "a server": lambda key: create_app({"a": Agent(ScriptedModel(["hi"]), tools=None)}, tokens={key: "ada"}),
}


def test_keys_given_in_code_are_known_and_forgotten():
    gc.collect()
    before = len(known_secrets)
    keys = {name: f"{VALUE}-{number}" for number, name in enumerate(MAKERS)}
    made = [MAKERS[name](key) for name, key in keys.items() for _ in range(3)]
    assert [name for name, key in keys.items() if key not in known_secrets.values()] == []
    del made
    gc.collect()  # which takes longer than all the rest
    assert [name for name, key in keys.items() if key in known_secrets.values()] == []
    assert len(known_secrets) <= before
