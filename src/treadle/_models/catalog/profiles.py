"""Facts about well-known models: their abilities. Other models get conservative defaults, or a probe.

Prices and windows are in `prices.json`, by patterns as well; a window here is for models without an entry there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from treadle._lazy import load
from treadle._models.catalog.providers import Provider
from treadle._types.profile import Profile

T = TypeVar("T")
_SIZE = (
    r"(?i)(?<![^\W_])(?<!\d\.)"  # at the start of a word
    r"(?:(?P<experts>\d{1,3})x)?"
    r"(?:(?P<billions>\d{1,4}(?:\.\d{1,3})?)b|(?P<millions>\d{2,4})m)"  # "1m" is the length of a window, never a size
    r"(?![^\W_])"
)


def parameters_in(name: str) -> float | None:
    """Billions of parameters by the largest size in the name (others are of its parts); None without one."""
    sizes = [
        (float(match["billions"]) if match["billions"] else float(match["millions"]) / 1_000)
        * int(match["experts"] or 1)
        for match in re.finditer(_SIZE, name)
    ]
    return max(sizes, default=0.0) or None


K, M = 1_000, 1_000_000

_NO_TOOLS = {"tool_call": False, "parallel_calls": False, "forced_tool": False}
_ALL = Profile(tool_call=True, parallel_calls=True, forced_tool=True, json_mode=True, json_schema=True, vision=True)


def _change(base: Profile, **changes: Any) -> Profile:
    return msgspec.structs.replace(base, **changes)


_GPT = _change(_ALL, documents=True, window=128 * K, max_output=16_384)
_GPT_OLD = _change(_GPT, json_schema=False, vision=False, documents=False)
# Models that always think accept no temperature, and their token limit includes thoughts and has another name.
_GPT_THINKS = _change(
    _ALL,
    documents=True,
    reasoning=True,
    accepts_temperature=False,
    token_cap_name="max_completion_tokens",
    system_role="developer",
    window=400 * K,
    max_output=128 * K,
)
_O = _change(_GPT_THINKS, window=200 * K, max_output=100 * K)
_CLAUDE = _change(
    _ALL,
    documents=True,
    json_mode=False,
    json_schema=False,
    replay_reasoning=True,
    forced_tool_while_thinking=False,
    window=M,
    max_output=128 * K,
)
_CLAUDE_SCHEMA = _change(_CLAUDE, json_schema=True)
# These think by default, and then refuse a forced tool and a temperature.
_CLAUDE_THINKS = _change(_CLAUDE_SCHEMA, reasoning=True, forced_tool=False, accepts_temperature=False)
_GEMINI = _change(_ALL, documents=True, audio=True, window=1_048_576, max_output=65_536)
_NOVA = _change(_ALL, json_mode=False, json_schema=False, window=300 * K, max_output=10 * K)
_DEEPSEEK = _change(
    _ALL,
    vision=False,
    json_schema=False,
    forced_tool=False,
    reasoning=True,
    replay_reasoning=True,
    window=M,
    max_output=64 * K,
)
_MISTRAL = _change(_ALL, vision=False, window=128 * K)
_GROK = _change(_ALL, vision=False, window=256 * K)
_OPEN = Profile(tool_call=True, parallel_calls=True, window=128 * K)
_OPEN_THINKS = _change(_OPEN, reasoning=True)
_OPEN_WITHOUT_TOOLS = Profile(window=32_768)

# The first pattern that matches decides: the special before the general.
FACTS: tuple[tuple[str, Profile], ...] = (
    # OpenAI
    (r"gpt-oss", _change(_OPEN_THINKS, window=131_072)),
    (r"chatgpt-4o|gpt-5[\d.]*-chat", _change(_GPT, **_NO_TOOLS)),
    (r"gpt-4o.*-audio|gpt-audio", _change(_GPT, audio=True, documents=False, vision=False)),
    (r"gpt-3\.5", _GPT_OLD),
    (r"gpt-4o|gpt-4\.1", _GPT),
    (r"gpt-4-turbo|gpt-4-(?:1106|0125)", _change(_GPT_OLD, vision=True)),
    (r"gpt-4(?:$|-0)", _change(_GPT_OLD, json_mode=False)),
    (r"gpt-[5-9]", _GPT_THINKS),
    (r"(?:^|/)o1-(?:mini|preview)", _change(_O, **_NO_TOOLS, vision=False, documents=False, system_role="user")),
    (r"(?:^|/)o1(?:$|-20)", _change(_O, parallel_calls=False)),
    (r"(?:^|/)o3-mini", _change(_O, vision=False, documents=False)),
    (r"(?:^|/)(?:o3|o4-mini)(?:$|-20)|(?:^|/)o[1-9]-(?:mini-)?(?:pro|deep)", _O),
    # Anthropic
    (r"claude-3-(?:5|7-sonnet|haiku|opus)|claude-(?:opus|sonnet)-4(?:$|-0|-20)|claude-opus-4-1", _CLAUDE),
    (r"claude-(?:haiku|sonnet|opus)-4-5|claude-(?:sonnet|opus)-4-6", _CLAUDE_SCHEMA),
    (r"claude-opus-4-[78]", _change(_CLAUDE_SCHEMA, accepts_temperature=False)),
    (r"claude", _CLAUDE_THINKS),
    # Google
    (r"gemini-(?:1|2\.0)", _GEMINI),
    (r"gemini", _change(_GEMINI, reasoning=True, replay_reasoning=True)),
    # Amazon
    (r"nova-micro", _change(_NOVA, vision=False)),
    (r"nova-(?:lite|pro|premier)|amazon\.nova", _NOVA),
    # DeepSeek, Mistral, xAI on their own servers
    (r"deepseek-(?:r1|reasoner)", _change(_DEEPSEEK, replay_reasoning=False, window=64 * K)),
    (r"deepseek", _DEEPSEEK),
    (r"magistral", _change(_MISTRAL, reasoning=True)),
    (r"mistral-(?:large|medium|small)|pixtral|ministral-(?:14|8)b", _change(_MISTRAL, vision=True, window=262_144)),
    (r"codestral|mi[nsx]\w*tral", _MISTRAL),
    (r"grok-4-1?-?fast-non-reasoning", _change(_GROK, vision=True)),
    (r"grok-4", _change(_GROK, vision=True, reasoning=True)),
    (r"grok-code-fast|grok-3-mini", _change(_GROK, reasoning=True)),
    (r"grok", _GROK),
    # Open weights, whoever serves them. Qwen2.5-Coder was measured: its calls come as text, never as native ones.
    (
        r"qwen2\.5-coder|smollm|tinyllama|phi-?[123]|gemma-?[12](?!\d)|codellama|opt-125m",
        _change(_OPEN_WITHOUT_TOOLS, vision=False),
    ),
    (r"gemma-?4", _change(_OPEN, vision=True)),
    (r"gemma", _change(_OPEN_WITHOUT_TOOLS, vision=True, window=128 * K)),
    (r"qwen.*(?:vl|omni)", _change(_OPEN, vision=True)),
    (r"qwq|qwen-?3(?!.*instruct)|kimi-k2.*thinking|glm-[45]|minimax-m", _OPEN_THINKS),
    (r"qwen|kimi|moonshot", _OPEN),
    (r"llama-?4", _change(_OPEN, vision=True)),
    (r"llama-?3\.[123]|hermes-?[234]|command-[ra]|granite-?[34]|nemotron", _OPEN),
)
_UNKNOWN = Profile(tool_call=True)
_THRESHOLDS = "_local.thresholds:with_thresholds"
_SERVED = ("json_mode", "json_schema", "strict_schema", "grammar", "forced_tool", "streaming", "logprobs")


def profile_for(provider: Provider, name: str) -> Profile:
    """The facts about a model at a provider. An unlisted model has what its server offers for all models, and native
    calls are tried first: the run takes another dialect where they do not work."""
    from treadle._models.catalog.prices import updated_entry  # imported with the first model

    profile = _served_profile(provider, name)
    if entry := updated_entry(provider.name, name, own=provider.serves is None):
        profile = entry.applied(profile)
    size = parameters_in(name)
    own_server = not provider.needs_key and provider.serves is not None  # not a cloud without a key
    return profile if size is None else with_thresholds(sized(profile, size, own_server=own_server))


def sized(profile: Profile, parameters: float, *, own_server: bool) -> Profile:
    """The profile of a model of so many billions of parameters. An assisted one writes its native calls as text more
    often than not, so on the user's own server, where its replies can be constrained, it is asked as one in process
    is."""
    profile = profile.with_parameters(parameters)
    constrained = own_server and profile.assisted and profile.constrained
    return msgspec.structs.replace(profile, **_NO_TOOLS) if constrained else profile


def with_thresholds(profile: Profile) -> Profile:
    """The profile of an assisted model with its decision thresholds; others have none."""
    return load(_THRESHOLDS)(profile) if profile.assisted else profile


def _served_profile(provider: Provider, name: str) -> Profile:
    fact = _fact(name)
    server = provider.serves
    if server is None:  # the owner's own server: what the table says of native calls was seen there
        return msgspec.structs.replace(fact, calls_known=fact.tool_call) if fact is not None else _UNKNOWN
    if fact is None:
        return msgspec.structs.replace(server, tool_call=True)
    # The model decides what it can do, the server what it enforces.
    served = {field: getattr(server, field) for field in _SERVED}
    if provider.name == "openrouter":  # it passes constraints on to servers that support them
        served |= {"json_schema": fact.json_schema, "forced_tool": fact.forced_tool}
    if not fact.tool_call:
        served["forced_tool"] = False
    plain: dict[str, Any] = {
        "token_cap_name": "max_tokens",
        "system_role": "user" if fact.system_role == "user" else "system",
    }
    if not provider.needs_key:
        plain["window"] = None  # on the user's own machine the server's settings decide, not the model's maximum
    prices = fact.prices if provider.name == "openrouter" else server.prices
    replay = server.replay_reasoning or fact.replay_reasoning
    return msgspec.structs.replace(fact, **served, **plain, prices=prices, replay_reasoning=replay)


def _fact(name: str) -> Profile | None:
    from treadle._models.catalog.prices import built_in_prices

    # Routers write claude-sonnet-4.5 for claude-sonnet-4-5, and put an owner in front.
    plain = re.sub(r"(claude\S*-\d)\.(\d)", r"\1-\2", name.lower()).replace("@", "-")
    profile, entry = _first(FACTS, plain), _first(built_in_prices().models.items(), plain)
    return profile if profile is None or entry is None else entry.applied(profile)


def _first(table: Iterable[tuple[str, T]], name: str) -> T | None:
    return next((facts for pattern, facts in table if re.search(pattern, name)), None)


def wants_responses(name: str) -> bool:
    """Tell whether an OpenAI model needs the Responses API, for tools or at all: `pro` models, all since gpt-5.4."""
    return bool(
        re.search(
            r"^(?:gpt-5\.(?:[4-9]|\d\d)|gpt-[6-9]|gpt-5[\d.]*-(?:pro|codex)|o\d-pro|o\d.*deep-research|codex)",
            name.lower(),
        )
    )
