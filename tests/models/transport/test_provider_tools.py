"""Tools that run at the provider: declared, recorded, sent back in the provider's own form, never executed here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from models.asking import TOOLS, ask, run
from models.loopback import Answer, Loopback, Received, reply, split, stream
from models.wires import event
from treadle import Agent, tool
from treadle._models.anthropic.model import AnthropicModel
from treadle._models.gemini.model import GeminiModel
from treadle._models.http_model import HttpModel
from treadle._models.openai.chat import OpenAIModel
from treadle._models.openai.responses import ResponsesModel
from treadle._models.transport.provider_tools import MAX_SHOWN, shown
from treadle._models.vertex.model import VertexModel
from treadle._types.errors import ConfigError
from treadle._types.messages import AssistantMessage, UserMessage
from treadle._types.request import Citation, ProviderCall, Request
from treadle.events import ProviderToolsUsed

ANTHROPIC: list[Any] = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rain in Oslo"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [
            {"type": "web_search_result", "url": "https://yr.no/oslo", "title": "Yr", "encrypted_content": "Zm9v"}
        ],
    },
    {
        "type": "text",
        "text": "It rains.",
        "citations": [
            {
                "type": "web_search_result_location",
                "url": "https://yr.no/oslo",
                "title": "Yr",
                "encrypted_index": "aWR4",
                "cited_text": "rain, 7 degrees",
            }
        ],
    },
]
RESPONSES: list[Any] = [
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "rain"}},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [
            {
                "type": "output_text",
                "text": "It rains.",
                "annotations": [
                    {
                        "type": "url_citation",
                        "url": "https://yr.no/oslo",
                        "title": "Yr",
                        "start_index": 0,
                        "end_index": 9,
                    },
                    {
                        "type": "url_citation",
                        "url": "https://yr.no/oslo",
                        "title": "Yr",
                        "start_index": 3,
                        "end_index": 9,
                    },
                ],
            }
        ],
    },
]
GROUNDING = {
    "webSearchQueries": ["rain in Oslo"],
    "groundingChunks": [
        {"web": {"uri": "https://vertexaisearch.cloud.google.com/grounding-api-redirect/x", "title": "yr.no"}}
    ],
}


def anthropic_answer(blocks: list[Any], stop: str = "end_turn") -> Answer:
    usage = {"input_tokens": 10, "output_tokens": 5}
    return reply({"id": "m", "type": "message", "model": "m", "content": blocks, "stop_reason": stop, "usage": usage})


def responses_answer(items: list[Any]) -> Answer:
    usage = {"input_tokens": 10, "output_tokens": 5}
    return reply({"id": "r", "object": "response", "status": "completed", "output": items, "usage": usage})


def gemini_answer(parts: list[Any], grounding: dict[str, Any]) -> Answer:
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "groundingMetadata": grounding}
    return reply({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5}})


def anthropic(url: str, **options: Any) -> HttpModel:
    return AnthropicModel("claude-sonnet-4-5", base_url=url, api_key="k", **options)


def responses(url: str, **options: Any) -> HttpModel:
    return ResponsesModel("gpt-5", base_url=url, api_key="k", **options)


def gemini(url: str, **options: Any) -> HttpModel:
    return GeminiModel("gemini-2.5-flash", base_url=url, api_key="k", **options)


CASES = [
    pytest.param(anthropic, anthropic_answer(ANTHROPIC), "https://yr.no/oslo", id="anthropic"),
    pytest.param(responses, responses_answer(RESPONSES), "https://yr.no/oslo", id="responses"),
    pytest.param(
        gemini,
        gemini_answer([{"text": "It rains."}], GROUNDING),
        GROUNDING["groundingChunks"][0]["web"]["uri"],  # type: ignore[index]
        id="gemini",
    ),
]
DECLARED = {
    "anthropic": {"type": "web_search_20250305", "name": "web_search"},
    "openai-responses": {"type": "web_search"},
    "gemini": {"googleSearch": {}},
}


def tools_in(request: Received) -> list[Any]:
    """The tools of a request, without the mark for the provider's cache."""
    return [{key: value for key, value in one.items() if key != "cache_control"} for one in request.json["tools"]]


@pytest.mark.parametrize(("make", "answer", "url"), CASES)
def test_a_search_of_the_providers_own(make: Any, answer: Answer, url: str):
    async def main() -> None:
        async with Loopback([answer]) as server:
            model = make(server.url, provider_tools=["web_search"])
            got, _ = await ask(model, Request([UserMessage("Does it rain?")], TOOLS))
            assert (got.text, got.calls, got.finish) == ("It rains.", (), "stop")
            assert [call.tool for call in got.used] == ["web_search"]
            assert "rain" in got.used[0].input
            assert [cited.url for cited in got.citations] == [url]
            sent = tools_in(server.received[0])
            assert sent[-1] == DECLARED[model.provider]
            assert len(sent) == (2 if model.provider == "gemini" else 3)
            await ask(model, Request([UserMessage("hi")]))
            assert tools_in(server.received[1]) == [DECLARED[model.provider]]
            await ask(model, Request([UserMessage("hi")], component="planner"))
            assert "tools" not in server.received[2].json

    run(main())


@pytest.mark.parametrize(
    ("make", "answer", "kept"),
    [
        pytest.param(anthropic, anthropic_answer(ANTHROPIC), ANTHROPIC, id="anthropic"),
        pytest.param(responses, responses_answer(RESPONSES), RESPONSES, id="responses"),
        pytest.param(
            gemini,
            gemini_answer(
                [
                    {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
                    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
                    {"text": "It is 1."},
                ],
                {},
            ),
            [
                {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
                {"text": "It is 1."},
            ],
            id="gemini",
        ),
    ],
)
def test_they_go_back_in_the_providers_own_form(make: Any, answer: Answer, kept: list[Any]):
    async def main() -> None:
        async with Loopback([answer]) as server:
            model = make(server.url)
            first, _ = await ask(model)
            said = AssistantMessage(first.text, opaque=first.opaque)
            await ask(model, Request([UserMessage("q"), said, UserMessage("and?")]))
            body = server.received[1].json
            if model.provider == "anthropic":
                assert body["messages"][1]["content"] == kept
            elif model.provider == "gemini":
                assert body["contents"][1]["parts"] == kept
            else:
                assert body["input"][1:-1] == kept

    run(main())


def test_code_that_ran_at_the_provider():
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "bash_code_execution", "input": {"command": "ls"}},
        {
            "type": "bash_code_execution_tool_result",
            "tool_use_id": "s1",
            "content": {"type": "bash_code_execution_result", "stdout": "a.txt\n", "stderr": "", "return_code": 0},
        },
        {"type": "server_tool_use", "id": "s2", "name": "web_search", "input": {}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s2",
            "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
        },
        {"type": "text", "text": "Done."},
    ]
    items = [
        {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1+1", "outputs": None},
        {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["a"], "results": None},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "2", "annotations": [
            {"type": "file_citation", "file_id": "file-1", "filename": "a.pdf", "index": 0}]}]},
    ]  # fmt: skip

    async def main() -> None:
        async with Loopback([anthropic_answer(blocks), responses_answer(items)]) as server:
            ours, _ = await ask(anthropic(server.url))
            assert ours.used == (
                ProviderCall("code_execution", "s1", '{"command":"ls"}', "a.txt\n"),
                ProviderCall("web_search", "s2", error="max_uses_exceeded"),
            )
            ours, _ = await ask(responses(server.url))
            assert [call.tool for call in ours.used] == ["code_execution", "file_search"]
            assert ours.citations == (Citation(title="a.pdf", file="file-1"),)

    run(main())


@pytest.mark.parametrize("size", [1, 7])
def test_a_stream_with_a_search_in_it(size: int):
    start = {"id": "m", "type": "message", "model": "m", "content": [], "usage": {"input_tokens": 1}}
    events: list[Any] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(ANTHROPIC):
        empty = {**block, **({"input": {}} if "input" in block else {}), **({"text": ""} if "text" in block else {})}
        empty.pop("citations", None)
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        if "input" in block:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        if "text" in block:
            for citation in block["citations"]:
                delta = {"type": "citations_delta", "citation": citation}
                events.append({"type": "content_block_delta", "index": index, "delta": delta})
            events.append(
                {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": block["text"]}}
            )
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}})
    events.append({"type": "message_stop"})
    data = "".join(event(item, item["type"]) for item in events).encode()

    async def main() -> None:
        async with Loopback([stream(*split(data, size))]) as server:
            got, deltas = await ask(anthropic(server.url), Request([UserMessage("q")], stream=True))
            assert got.opaque is not None
            assert got.opaque["content"] == ANTHROPIC
            assert [call.tool for call in got.used] == ["web_search"]
            assert len(got.citations) == 1
            assert "".join(getattr(delta, "text", "") for delta in deltas) == "It rains."

    run(main())


def test_a_run_records_them_and_executes_nothing():
    sent: list[str] = []

    @tool(effect="unsafe")
    def send_mail(text: str) -> str:
        """Send a mail."""
        sent.append(text)
        return "sent"

    use = {"type": "tool_use", "id": "t1", "name": "send_mail", "input": {"text": "a storm in Bergen"}}

    def script(request: Received) -> Answer:
        if b"tool_result" in request.body.replace(b"web_search_tool_result", b""):
            return anthropic_answer([{"type": "text", "text": "Done."}])
        return anthropic_answer([*ANTHROPIC, use], "tool_use")

    async def main() -> None:
        async with Loopback(script) as server:
            agent = Agent(anthropic(server.url, provider_tools=["web_search"]), tools=[send_mail], provenance="deny")
            events = [record async for record in agent.stream("Does it rain? Tell Ann.")]
            used = [one for one in events if isinstance(one, ProviderToolsUsed)]
            assert [(call.tool, call.id) for call in used[0].calls] == [("web_search", "srvtoolu_1")]
            assert used[0].sources == ("yr.no",)
            result = await agent.run("Does it rain? Tell Ann.")
            assert [step.tool for step in result.steps] == ["send_mail"]
            assert result.answer.startswith(
                "Done.\n\n[not done: send_mail (text a storm in Bergen): after reading yr.no"
            )
            assert result.steps[0].error
            assert result.sources == ("yr.no",)
            # What the provider read on the web is a stranger's word: the call that followed it was not made.
            assert sent == []

    run(main())


def test_what_is_not_offered_is_refused_when_the_model_is_made():
    with pytest.raises(ConfigError, match=r"anthropic has no tool 'file_search'.*web_search, web_fetch"):
        anthropic("http://127.0.0.1:9", provider_tools=["file_search"])
    with pytest.raises(ConfigError, match="those are none"):
        OpenAIModel("gpt-4o", api_key="k", provider_tools=["web_search"])
    search = {"type": "file_search", "vector_store_ids": ["vs_1"]}
    model = responses("http://127.0.0.1:9", provider_tools=[search])
    assert json.loads(model.body_of(Request([UserMessage("q")])))["tools"] == [search]


def test_what_needs_a_header_gets_it():
    model = anthropic("http://127.0.0.1:9", provider_tools=["code_execution", "web_fetch", "web_search"])
    wanted = {"web-fetch-2025-09-10", "code-execution-2025-08-25"}
    assert wanted <= set(model._endpoint(False).headers["anthropic-beta"].split(","))
    plain = anthropic("http://127.0.0.1:9", provider_tools=["web_search"])._endpoint(True).headers
    assert not wanted & set(plain.get("anthropic-beta", "").split(","))


def test_they_work_on_vertex_too():
    claude = VertexModel("claude-sonnet-4-5@20250929", project="p", access_token="t", provider_tools=["web_search"])
    body = json.loads(claude.body_of(Request([UserMessage("q")])))
    assert body["tools"][0].items() >= DECLARED["anthropic"].items()


def test_what_is_recorded_is_bounded():
    assert len(shown("x" * 10_000)) == MAX_SHOWN
    assert shown({"a": 1}) == '{"a":1}'
    assert shown(None) == ""
