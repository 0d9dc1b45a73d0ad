"""What servers say about themselves: the documents of llama.cpp, Ollama, vLLM, LM Studio, TGI and LiteLLM.

Nothing in them is trusted: a value of the wrong type or of an impossible size is as good as none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from treadle._models.catalog.profiles import parameters_in
from treadle._models.transport.wire import as_count, as_dict, as_list, as_text
from treadle._types.profile import Prices

MIN_WINDOW, MAX_WINDOW = 512, 100_000_000
MAX_NAME = 300
_WINDOWS = ("loaded_context_length", "max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")
_LITELLM_CREATED = 1677610602
"""The time that LiteLLM's list gives for every model."""


class Question(Struct, frozen=True):
    """A request to a server's own interface, beside the API that all have."""

    path: str
    body: dict[str, Any] | None = None


class Contact(Struct, frozen=True, omit_defaults=True):
    """What a server has told about itself and one of its models; what it has not told is None or empty."""

    server: str = ""
    """Its name in the table of providers."""
    name: str = ""
    models: tuple[str, ...] = ()
    family: str = ""
    """What the model is, where its name may be anything."""
    parameters: float | None = None
    """Billions."""
    window: int | None = None
    tools: bool | None = None
    """Whether its chat template has tools."""
    vision: bool | None = None
    prices: Prices | None = None
    tuning: str = ""
    """What the server has loaded beside the model, where we know it: it tunes the model for tool use."""


def kind_of(listed: list[dict[str, Any]]) -> str:
    """The server that has such a list of models, by its name in the table of providers; empty when many have."""
    return next((kind for entry in listed[:20] if (kind := _kind(entry))), "")


def _kind(entry: dict[str, Any]) -> str:
    owner, name = as_text(entry.get("owned_by")), as_text(entry.get("id"))
    if owner in ("llamacpp", "vllm"):
        return owner
    if owner == "organization_owner":
        return "lmstudio"
    if owner and owner == name:
        return "tgi"
    if entry.get("created") == _LITELLM_CREATED:
        return "litellm"
    return "ollama" if owner == "library" or re.search(r"[^/]:[\w.-]+$", name) else ""


def question_for(kind: str, name: str, count: int) -> Question | None:
    """Return what to ask such a server about a model of which its list does not tell all; `count` is the number it
    lists."""
    if kind not in _SERVERS:
        return None
    path = _SERVERS[kind][0]
    if kind == "ollama":
        return Question(path, {"model": name})
    return Question(f"{path}?model={_quoted(name)}" if kind == "llamacpp" and count > 1 else path)


def read_contact(kind: str, name: str, listed: list[dict[str, Any]], told: Mapping[str, Any]) -> Contact:
    """The facts in a list of models and in the answer to the question for such a server."""
    models = tuple(entry_name for entry in listed if (entry_name := _name(entry)) and "embed" not in entry_name.lower())
    entry = next((entry for entry in listed if entry.get("id") == name), as_dict(None))
    window = next((found for field in _WINDOWS if (found := _window(entry, field))), None)
    general: dict[str, Any] = {"server": kind, "name": name, "models": models, "window": window}
    general["family"] = as_text(entry.get("root"))[:MAX_NAME] or name
    specific = _SERVERS[kind][1](name, entry, dict(told)) if kind in _SERVERS else {}
    return Contact(**(general | {field: value for field, value in specific.items() if value not in (None, "")}))


def _llamacpp(name: str, entry: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    meta, caps = as_dict(entry.get("meta")), as_dict(told.get("chat_template_caps"))
    path = as_text(told.get("model_path")) or name
    # The list has the window the model was trained for; the one the server was started with is elsewhere.
    window = as_dict(told.get("default_generation_settings")).get("n_ctx") or meta.get("n_ctx")
    template = as_text(told.get("chat_template"))
    tools = caps.get("supports_tool_calls") if caps else "tools" in template if template else None
    return {
        "family": re.split(r"[/\\]", path)[-1][:MAX_NAME],
        "parameters": _billions(meta.get("n_params")),
        "window": _bounded(window),
        "tools": tools if isinstance(tools, bool) else None,
        "vision": as_dict(told.get("modalities")).get("vision") is True or None,
    }


def _ollama(name: str, entry: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    details, info = as_dict(told.get("details")), as_dict(told.get("model_info"))
    if not details and not info:
        return {"server": "" if entry.get("owned_by") != "library" else None}
    abilities = as_list(told.get("capabilities"))
    size = _billions(info.get("general.parameter_count")) or parameters_in(as_text(details.get("parameter_size")))
    wanted = re.search(r"^num_ctx\s+(\d{1,9})\s*$", as_text(told.get("parameters"))[:10_000], re.MULTILINE)
    family = as_text(info.get("general.basename")) or as_text(details.get("family"))
    return {
        # A model under a name of the user's own is told by what its file says.
        "family": f"{name} {family}"[:MAX_NAME],
        "parameters": size,
        "window": _bounded(int(wanted[1])) if wanted else None,
        "tools": "tools" in abilities if abilities else None,
        "vision": "vision" in abilities or None,
    }


def _lmstudio(name: str, entry: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    found = next((item for item in map(as_dict, as_list(told.get("data"))) if item.get("id") == name), as_dict(None))
    window = next((count for field in _WINDOWS if (count := _window(found, field))), None)
    abilities = found.get("capabilities")
    return {
        "family": f"{name} {as_text(found.get('arch'))}".strip()[:MAX_NAME],
        "window": window,
        "tools": "tool_use" in as_list(abilities) if isinstance(abilities, list) else None,
        "vision": found.get("type") == "vlm" or None,
    }


def _tgi(name: str, entry: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    if not told.get("model_id"):
        return {"server": None}
    window = told.get("max_total_tokens") or told.get("max_input_tokens") or told.get("max_input_length")
    return {"family": as_text(told.get("model_id"))[:MAX_NAME], "window": _bounded(window)}


def _litellm(name: str, entry: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    deployments = [as_dict(item) for item in as_list(told.get("data"))]
    found = next((item for item in deployments if item.get("model_name") == name), as_dict(None))
    info = as_dict(found.get("model_info"))
    tools = info.get("supports_function_calling")
    return {
        "family": (as_text(as_dict(found.get("litellm_params")).get("model")) or name)[:MAX_NAME],
        "window": _bounded(info.get("max_input_tokens") or info.get("max_tokens")),
        "tools": tools if isinstance(tools, bool) else None,
        "vision": info.get("supports_vision") is True or None,
        "prices": _prices(info),
    }


_SERVERS = {
    "llamacpp": ("/props", _llamacpp),
    "ollama": ("/api/show", _ollama),
    "lmstudio": ("/api/v0/models", _lmstudio),
    "tgi": ("/info", _tgi),
    "litellm": ("/model/info", _litellm),
}
"""Where each tells what its list does not, and how that is read."""


def _prices(info: dict[str, Any]) -> Prices | None:
    found = [info.get(f"{kind}_cost_per_token") for kind in ("input", "output")]
    dollars = [float(cost) * 1e6 for cost in found if isinstance(cost, (int, float)) and 0 <= cost < 1]
    return Prices(dollars[0], dollars[1]) if len(dollars) == len(found) else None


def _name(entry: dict[str, Any]) -> str:
    return as_text(entry.get("id"))[:MAX_NAME]


def _window(entry: dict[str, Any], field: str) -> int | None:
    return _bounded(entry.get(field)) or _bounded(as_dict(entry.get("meta")).get(field))


def _bounded(value: Any) -> int | None:
    count = as_count(value)
    return count if MIN_WINDOW <= count <= MAX_WINDOW else None


def _billions(value: Any) -> float | None:
    count = as_count(value)
    return count / 1e9 if 1_000_000 <= count <= 100_000_000_000_000 else None


def _quoted(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")
