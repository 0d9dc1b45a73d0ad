"""Requests for Converse, checked against the description of the service that Amazon's own library carries."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import botocore.session
import pytest
from botocore.validate import ParamValidator

from models.asking import TOOLS
from models.test_contract import conversation
from treadle._models.bedrock.model import BedrockModel
from treadle._models.bedrock.wire import NO_CALLS
from treadle._types.errors import ConfigError
from treadle._types.messages import AssistantMessage, ImagePart, SystemMessage, TextPart, ToolMessage, UserMessage
from treadle._types.request import OutputFormat, Request

CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
PNG = "iVBORw0KGgo="


@pytest.fixture(scope="module")
def service() -> Any:
    return botocore.session.Session().get_service_model("bedrock-runtime")


def body(request: Request, name: str = CLAUDE, **options: Any) -> Any:
    model = BedrockModel(name, region="us-east-1", access_key="a", secret_key="b", **options)
    return json.loads(model.body_of(request))


@pytest.mark.parametrize("name", [CLAUDE, "amazon.nova-pro-v1:0", "meta.llama3-1-70b-instruct-v1:0"])
@pytest.mark.parametrize("choice", ["auto", "none", "required", "add"])
def test_the_service_accepts_it(service: Any, name: str, choice: str):
    picture = UserMessage((TextPart("And this?"), ImagePart(data=PNG, mime="image/jpg")))
    request = Request(
        [*conversation(), picture],
        TOOLS,
        tool_choice=choice,
        max_tokens=50,
        temperature=1.5,
        stop=("END", " "),
        format=OutputFormat("schema", SCHEMA),
    )
    written = body(request, name, abilities={"tool_call": True, "forced_tool": True, "json_schema": True})
    for message in written["messages"]:  # botocore takes bytes and encodes them itself
        for block in message["content"]:
            if "image" in block:
                block["image"]["source"]["bytes"] = b"png"
    report = ParamValidator().validate(written | {"modelId": name}, service.operation_model("Converse").input_shape)
    assert not report.has_errors(), report.generate_report()


def test_the_address_is_the_one_of_botocore():
    model = BedrockModel(CLAUDE, region="eu-central-1", access_key="a", secret_key="b")
    url = f"https://bedrock-runtime.eu-central-1.amazonaws.com/model/{quote(CLAUDE, safe='-_.~')}"
    assert model._endpoint(False).url == f"{url}/converse"
    assert model._endpoint(True).url == f"{url}/converse-stream"
    assert str(model._endpoint(False).prepared()[0]) == f"{url}/converse"


def test_no_call_is_wanted():
    plain = body(Request(conversation(), TOOLS))
    chosen = body(Request(conversation(), TOOLS, tool_choice="none"))
    assert chosen["system"][-1] == {"text": NO_CALLS}
    assert plain["toolConfig"] == chosen["toolConfig"]


def test_cache_points_stand_after_what_does_not_change():
    written = body(Request(conversation(), TOOLS))
    assert written["system"][-1] == {"cachePoint": {"type": "default"}}
    marked = [message for message in written["messages"] if {"cachePoint": {"type": "default"}} in message["content"]]
    assert [message["role"] for message in marked] == ["user", "user"]
    assert "cachePoint" not in json.dumps(body(Request([UserMessage("hi")])))
    assert "cachePoint" not in json.dumps(body(Request(conversation(), TOOLS), "meta.llama3-1-70b-instruct-v1:0"))


def test_the_tools_are_marked_where_there_is_no_system_prompt():
    written = body(Request([UserMessage("hi")], TOOLS))
    assert written["toolConfig"]["tools"][-1] == {"cachePoint": {"type": "default"}}


def test_an_error_of_a_tool_and_an_empty_result():
    messages = [*conversation()[:4], ToolMessage("call_b", "now", "", error=True)]
    result = body(Request(messages, TOOLS))["messages"][-1]["content"][1]["toolResult"]
    assert result == {"toolUseId": "call_b", "content": [{"text": "(no text)"}], "status": "error"}


def test_a_conversation_that_starts_with_the_assistant():
    written = body(Request([SystemMessage("s"), AssistantMessage("Hello.")]))
    assert [message["role"] for message in written["messages"]] == ["user", "assistant"]


def test_images_by_address():
    from_s3 = body(Request([UserMessage((ImagePart(url="s3://bucket/a.png", mime="image/png"),))]))
    assert from_s3["messages"][0]["content"][0]["image"]["source"] == {"s3Location": {"uri": "s3://bucket/a.png"}}
    inline = body(Request([UserMessage((ImagePart(url=f"data:image/png;base64,{PNG}"),))]))
    assert inline["messages"][0]["content"][0]["image"] == {"format": "png", "source": {"bytes": PNG}}
    with pytest.raises(ConfigError, match="s3://"):
        body(Request([UserMessage((ImagePart(url="https://example.com/a.png"),))]))


def test_fields_of_one_model():
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    written = body(
        Request([UserMessage("hi")], TOOLS, tool_choice="required", temperature=0.5),
        extra_body={"additionalModelRequestFields": thinking, "inferenceConfig": {"topP": 0.9}},
    )
    assert written["additionalModelRequestFields"] == thinking
    assert written["inferenceConfig"] == {"topP": 0.9, "maxTokens": 21_000}
    assert "toolChoice" not in written["toolConfig"]


def test_the_limit_of_a_reply_is_set_for_claude_only():
    streamed = BedrockModel(CLAUDE, region="us-east-1", access_key="a", secret_key="b")
    assert json.loads(streamed.body_of(Request([UserMessage("hi")]), streaming=True))["inferenceConfig"] == {
        "maxTokens": 64_000
    }
    assert "inferenceConfig" not in body(Request([UserMessage("hi")]), "amazon.nova-pro-v1:0")
    given = body(Request([UserMessage("hi")], max_tokens=5), "amazon.nova-pro-v1:0")
    assert given["inferenceConfig"] == {"maxTokens": 5}


def test_kept_thoughts_go_back_unchanged_to_the_same_model_only():
    thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
    kept = {"api": "bedrock.converse", "model": CLAUDE, "content": [thought, {"text": "Yes."}]}
    messages = [UserMessage("q"), AssistantMessage("Yes.", opaque=kept), UserMessage("and?")]
    assert body(Request(messages))["messages"][1]["content"] == [thought, {"text": "Yes."}]
    assert body(Request(messages), "amazon.nova-pro-v1:0")["messages"][1]["content"] == [{"text": "Yes."}]
    shortened = [UserMessage("q"), AssistantMessage("[cut]", opaque=kept)]
    assert body(Request(shortened))["messages"][1]["content"] == [thought, {"text": "[cut]"}]
