"""Replies of Converse; what they are to Amazon's own parser, they are to ours."""

from __future__ import annotations

import json
from typing import Any

import botocore.session
import pytest
from botocore.eventstream import EventStream
from botocore.parsers import EventStreamJSONParser, create_parser

from kit import row
from models.asking import BOTH, CALLS, THOUGHT, ask, exchange, run
from models.clouds import BedrockWire
from models.frames import event_frame, exception_frame
from models.loopback import Loopback, reply, split
from models.wires import Sample
from treadle._models.bedrock.model import BedrockModel
from treadle._models.bedrock.reader import ConverseReader
from treadle._models.transport.failures import Origin
from treadle._types.errors import ContentFilteredError, RequestRefusedError, TransientModelError
from treadle._types.messages import AssistantMessage, UserMessage
from treadle._types.profile import Profile
from treadle._types.request import Reply, Request

WIRE = BedrockWire()
SAMPLE = Sample("Let me look.", (("a", "add", {"x": 1}),), "Hm.", "calls")


@pytest.fixture(scope="module")
def service() -> Any:
    return botocore.session.Session().get_service_model("bedrock-runtime")


def read(*documents: Any) -> Reply:
    reader = ConverseReader(Origin("bedrock", ""), Profile(), "m")
    for document in documents:
        reader.feed(json.dumps(document).encode())
    return reader.reply()


@pytest.mark.parametrize("sample", [SAMPLE, CALLS, THOUGHT, BOTH])
def test_a_whole_reply_to_botocore(service: Any, sample: Sample):
    answer = b"".join(WIRE.whole(sample).pieces)
    shape = service.operation_model("Converse").output_shape
    parsed = create_parser("rest-json").parse({"body": answer, "headers": {}, "status_code": 200}, shape)
    ours = read(json.loads(answer))
    blocks = parsed["output"]["message"]["content"]
    assert ours.text == "".join(block.get("text", "") for block in blocks)
    uses = [block["toolUse"] for block in blocks if "toolUse" in block]
    assert [(call.id, call.name, json.loads(call.arguments)) for call in ours.calls] == [
        (use["toolUseId"], use["name"], use["input"]) for use in uses
    ]
    assert ours.usage.output_tokens == parsed["usage"]["outputTokens"]


class Raw:
    """What botocore's stream reads from."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def stream(self) -> list[bytes]:
        return split(self.data, 11)


@pytest.mark.parametrize("sample", [SAMPLE, CALLS, THOUGHT, BOTH])
def test_a_stream_to_botocore(service: Any, sample: Sample):
    shape = service.operation_model("ConverseStream").output_shape.members["stream"]
    data = b"".join(WIRE.encoded(sample))
    theirs = list(EventStream(Raw(data), shape, EventStreamJSONParser(), "ConverseStream"))
    text = "".join(item["contentBlockDelta"]["delta"].get("text", "") for item in theirs if "contentBlockDelta" in item)
    ours, _ = exchange(WIRE, WIRE.stream(sample), Request([UserMessage("q")], stream=True))
    assert ours.text == text
    assert theirs[-1]["metadata"]["usage"]["outputTokens"] == ours.usage.output_tokens


def test_thoughts_are_kept_with_their_signature():
    for document in ([json.loads(b"".join(WIRE.whole(SAMPLE).pieces))], WIRE.documents(SAMPLE)):
        kept = read(*document).opaque
        assert kept is not None
        assert kept["content"][0] == {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
        assert [list(block) for block in kept["content"]] == [["reasoningContent"], ["text"], ["toolUse"]]
    assert read(*WIRE.documents(BOTH)).opaque is None


def test_hidden_thoughts():
    place = {"contentBlockIndex": 0}
    hidden = read(
        {"contentBlockDelta": {**place, "delta": {"reasoningContent": {"redactedContent": "YWJj"}}}},
        {"contentBlockStop": place},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "Yes."}}},
        {"messageStop": {"stopReason": "end_turn"}},
    )
    assert hidden.text == "Yes."
    assert hidden.opaque is not None
    assert hidden.opaque["content"] == [{"reasoningContent": {"redactedContent": "YWJj"}}, {"text": "Yes."}]


def test_a_tool_of_the_providers_own_is_not_a_call_of_ours():
    place = {"contentBlockIndex": 0}
    use = {"toolUseId": "s1", "name": "nova_grounding", "type": "server_tool_use"}
    found = read(
        {"contentBlockStart": {**place, "start": {"toolUse": use}}},
        {"contentBlockDelta": {**place, "delta": {"toolUse": {"input": '{"query": "x"}'}}}},
        {"contentBlockStop": place},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "It rains."}}},
        {"messageStop": {"stopReason": "end_turn"}},
    )
    assert (found.text, found.calls, found.finish) == ("It rains.", (), "stop")
    assert found.opaque is not None
    assert found.opaque["content"][0] == {"toolUse": {**use, "input": {"query": "x"}}}


def test_a_withheld_reply():
    for reason in ["guardrail_intervened", "content_filtered"]:
        with row(reason):
            message = {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": reason, "usage": {}}
            with pytest.raises(ContentFilteredError, match=reason):
                read(message)
            message["output"] = {"message": {"role": "assistant", "content": [{"text": "I cannot say."}]}}
            assert read(message).finish == "filter"


def test_a_reply_that_broke_off():
    with pytest.raises(TransientModelError, match="malformed_tool_use"):
        read({"messageStop": {"stopReason": "malformed_tool_use"}})


def test_exceptions_inside_a_stream():
    for kind, error in [
        ("throttlingException", TransientModelError),
        ("internalServerException", TransientModelError),
        ("modelStreamErrorException", TransientModelError),
        ("validationException", RequestRefusedError),
        ("accessDeniedException", RequestRefusedError),
    ]:
        with row(kind, error):
            answer = WIRE.send(event_frame("messageStart", {"role": "assistant"}), exception_frame(kind, "no luck"))
            with pytest.raises(error, match="no luck"):
                exchange(WIRE, answer, Request([UserMessage("q")], stream=True))


def test_the_thoughts_of_one_round_go_into_the_next():
    async def main() -> None:
        async with Loopback([WIRE.stream(THOUGHT), WIRE.whole(THOUGHT)]) as server:
            model = WIRE.model(server.url)
            first, _ = await ask(model, Request([UserMessage("q")], stream=True))
            kept = AssistantMessage(first.text, opaque=first.opaque)
            await ask(model, Request([UserMessage("q"), kept, UserMessage("and?")]))
            sent = server.received[1].json["messages"][1]["content"]
            assert sent[0] == {"reasoningContent": {"reasoningText": {"text": THOUGHT.reasoning, "signature": "c2ln"}}}

    run(main())


def test_cached_tokens_count_as_input_and_cost_less():
    usage = {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 1000}
    answer = {"output": {"message": {"content": [{"text": "x"}]}}, "stopReason": "end_turn", "usage": usage}

    async def main() -> None:
        async with Loopback([reply(answer)]) as server:
            model = BedrockModel("us.anthropic.claude-sonnet-4-5-v1:0", base_url=server.url, api_key="k")
            spent = (await ask(model))[0].usage
            assert (spent.input_tokens, spent.cached_tokens, spent.cache_write_tokens) == (1110, 100, 1000)
            assert spent.cost == pytest.approx((10 * 3 + 5 * 15 + 100 * 0.3 + 1000 * 3.75) / 1e6)

    run(main())
