"""Servers of eight kinds on loopback: each lists its models, describes itself and refuses as the real one is documented
to. The model behind them adds 2 and 3 with the tool `add`: by native calls, under a schema, or in free text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from models.loopback import Answer, Received, reply

QUESTION = "What is 2 + 3?"
VLLM_REFUSAL = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'


@dataclass
class Kind:
    title: str
    listed: list[dict[str, Any]]
    own: dict[str, Any] = field(default_factory=dict[str, Any])
    """The path of its own interface -> the document there."""
    refusal: tuple[int, str] | None = None
    """What it answers to a request with tools."""
    status: int = 200
    """Of its chat; another one is a server that cannot be used."""
    list_status: int = 200
    """Of its list of models; another one is a server that answers nobody without a key."""
    received: list[Received] = field(default_factory=list[Received])

    def __call__(self, request: Received) -> Answer:
        self.received.append(request)
        path = request.path.partition("?")[0]
        if path == "/v1/models" and self.listed:
            return reply({"object": "list", "data": self.listed})
        if self.list_status != 200:
            return reply({"error": {"message": "invalid api key"}}, self.list_status)
        if path in self.own:
            return reply(self.own[path])
        if path != "/v1/chat/completions":
            return reply({"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}}, 404)
        if self.status != 200:
            return reply({"error": {"message": "invalid api key"}}, self.status)
        return self.chat(request.json)

    def chat(self, body: dict[str, Any]) -> Answer:
        if body.get("tools") and self.refusal is not None:
            status, text = self.refusal
            return reply({"error": {"message": text, "type": "invalid_request_error", "code": status}}, status)
        message = _reply(body)
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
        return reply({"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage})

    @property
    def chats(self) -> list[dict[str, Any]]:
        return [request.json for request in self.received if request.path.endswith("/chat/completions")]


def _reply(body: dict[str, Any]) -> dict[str, Any]:
    last = body["messages"][-1]
    if "2 + 3" not in json.dumps(body["messages"]):
        return _probed(body, last)
    done = last["role"] == "tool" or ("2 + 3" not in str(last["content"]) or "5" in str(last["content"]))
    if body.get("tools"):
        if done:
            return {"role": "assistant", "content": "The sum is 5."}
        function = {"name": "add", "arguments": json.dumps({"a": 2, "b": 3})}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}],
        }
    schema = body.get("json_schema") or body.get("response_format", {}).get("json_schema", {}).get("schema")
    if schema is not None:
        return {"role": "assistant", "content": json.dumps(_instance(schema, done))}
    if done:
        return {"role": "assistant", "content": '{"type": "final_answer", "answer": "The sum is 5."}'}
    call = {"type": "tool_call", "tool_name": "add", "tool_args": {"a": 2, "b": 3}}
    return {"role": "assistant", "content": f"```json\n{json.dumps(call)}\n```"}


def _probed(body: dict[str, Any], last: dict[str, Any]) -> dict[str, Any]:
    """What the model says to a probe."""
    if last["role"] == "tool":
        return {"role": "assistant", "content": "It is 31 degrees in Paris."}
    if body.get("tools"):
        function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
        return {"role": "assistant", "tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]}
    stone = '{"stone": "quartz-7", "count": 1}'
    return {"role": "assistant", "content": stone if "response_format" in body else "Paris"}


def _instance(schema: dict[str, Any], done: bool) -> dict[str, Any]:
    """The step that the schema allows: a call, or the answer."""
    steps: list[dict[str, Any]] = schema.get("anyOf", [schema])
    wanted = next(step for step in steps if ("final_answer" in step["properties"]) == done)
    values: dict[str, Any] = {
        "final_answer": "The sum is 5.",
        "args": {"a": 2, "b": 3},
        "task_successful": True,
        "thought": "",
    }
    return {
        name: values.get(name, part.get("const") or next(iter(part.get("enum", [""]))))
        for name, part in wanted["properties"].items()
    }


def _entry(name: str, owner: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 1_790_000_000, "owned_by": owner, **more}


def eight_kinds() -> list[Kind]:
    """One server of each kind, with a model as its users have one."""
    return [
        Kind(
            "llama.cpp, 0.5B",
            [_entry("model.gguf", "llamacpp", meta={"n_ctx_train": 32768, "n_params": 494_032_768, "ftype": "Q4_K"})],
            {
                "/props": {
                    "default_generation_settings": {"n_ctx": 4096},
                    "model_path": "/models/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                    "chat_template": "{% if tools %}...{% endif %}",
                    "chat_template_caps": {"supports_tool_calls": True},
                }
            },
        ),
        Kind(
            "Ollama, 3B",
            [_entry("llama3.2:latest", "library")],
            {
                "/api/show": {
                    "parameters": 'num_ctx                        8192\nstop    "<|eot_id|>"',
                    "details": {"family": "llama", "parameter_size": "3.2B", "quantization_level": "Q4_K_M"},
                    "model_info": {"general.parameter_count": 3_212_749_888, "llama.context_length": 131_072},
                    "capabilities": ["completion", "tools"],
                }
            },
        ),
        Kind(
            "vLLM without a tool parser",
            [_entry("assistant", "vllm", root="Qwen/Qwen3-8B", parent=None, max_model_len=40_960)],
            refusal=(400, VLLM_REFUSAL),
        ),
        Kind(
            "LM Studio, 7B",
            [_entry("qwen2.5-7b-instruct", "organization_owner")],
            {
                "/api/v0/models": {
                    "data": [
                        {
                            "id": "qwen2.5-7b-instruct",
                            "type": "llm",
                            "arch": "qwen2",
                            "state": "loaded",
                            "max_context_length": 32_768,
                            "loaded_context_length": 4096,
                            "capabilities": ["tool_use"],
                        }
                    ]
                }
            },
        ),
        Kind(
            "TGI",
            [_entry("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct")],
            {"/info": {"model_id": "meta-llama/Llama-3.1-8B-Instruct", "max_total_tokens": 8192, "version": "3.3.4"}},
        ),
        Kind(
            "LiteLLM",
            [_entry("fast", "openai") | {"created": 1677610602}],
            {
                "/model/info": {
                    "data": [
                        {
                            "model_name": "fast",
                            "litellm_params": {"model": "openai/gpt-4o-mini"},
                            "model_info": {
                                "max_input_tokens": 128_000,
                                "supports_function_calling": True,
                                "input_cost_per_token": 1.5e-07,
                                "output_cost_per_token": 6e-07,
                            },
                        }
                    ]
                }
            },
        ),
        Kind("unknown, native calls", [_entry("my-finetune", "somebody")]),
        Kind("unknown, refuses tools", [_entry("my-finetune", "somebody")], refusal=(422, "Extra field: tools")),
    ]
