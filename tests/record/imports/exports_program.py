"""What the SDKs of LangSmith and Langfuse make of two calls of a model by LangChain: for the environment of
`python3 tasks.py peers`, which has them. Prints a JSON object with a document of each."""

import json
import sys
from datetime import UTC, datetime
from uuid import uuid4

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tracers.langchain import LangChainTracer
from langfuse.api.commons.types.observation_v2 import ObservationV2
from langfuse.api.observations.types.observations_v2response import ObservationsV2Response
from langfuse.langchain import CallbackHandler
from langfuse.openai import _extract_chat_prompt, _extract_chat_response, _parse_usage
from langsmith import Client
from langsmith.schemas import Run
from openai.types.chat import ChatCompletionMessage
from openai.types.completion_usage import CompletionUsage

SCHEMA = {"type": "object", "properties": {"item": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "price", "description": "A price.", "parameters": SCHEMA}}]
USED = AIMessage(
    "",
    tool_calls=[{"name": "price", "args": {"item": "lamp"}, "id": "c1"}],
    usage_metadata={"input_tokens": 90, "output_tokens": 5, "total_tokens": 95},
)
SAID = AIMessage("40 dollars.", usage_metadata={"input_tokens": 110, "output_tokens": 2, "total_tokens": 112})
FIRST = [SystemMessage("Be brief."), HumanMessage("What does the lamp cost?")]
SECOND = [*FIRST, USED, ToolMessage("40", tool_call_id="c1")]


def langsmith():
    """Stored runs, as `client.list_runs` gives them."""
    stored = {}

    class Kept(Client):
        def create_run(self, **fields):
            stored[fields["id"]] = fields

        def update_run(self, run_id, **fields):
            stored[run_id] |= {name: value for name, value in fields.items() if value}

    tracer = LangChainTracer(client=Kept(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False))
    model = GenericFakeChatModel(messages=iter([USED, SAID])).bind(tools=TOOLS)
    for asked in (FIRST, SECOND):
        model.invoke(asked, config={"callbacks": [tracer]})
    fields = Run.model_fields
    return [json.loads(Run(**{name: one[name] for name in one if name in fields}).json()) for one in stored.values()]


def observation(second, inputs, output, usage):
    return ObservationV2(
        id=uuid4().hex,
        trace_id="t",
        type="GENERATION",
        start_time=datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC),
        end_time=datetime(2026, 1, 1, 0, 0, second + 1, tzinfo=UTC),
        project_id="p",
        model="gpt-4o-mini",
        input=inputs,
        output=output,
        usage_details=usage,
    )


def page(*observations):
    tool = observation(2, {"item": "lamp"}, "40", {}).copy(update={"type": "TOOL"})
    response = ObservationsV2Response(data=[*reversed(observations), tool], meta={"cursor": None})
    return json.loads(response.json(by_alias=True))


def langfuse_of_langchain():
    convert = CallbackHandler()._convert_message_to_dict
    tools = [{"role": "tool", "content": TOOLS[0]}]
    return page(*(
        observation(at, [*map(convert, asked), *tools], convert(reply), {"input": counted, "output": 1, "total": 1})
        for at, asked, reply, counted in ((1, FIRST, USED, 90), (5, SECOND, SAID, 110))
    ))  # fmt: skip


def langfuse_of_openai():
    call = {"id": "c1", "type": "function", "function": {"name": "price", "arguments": '{"item": "lamp"}'}}
    first = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What does the lamp cost?"}]
    used = ChatCompletionMessage(role="assistant", content=None, tool_calls=[call])
    asked = used.model_dump(exclude_none=True)
    second = [*first, asked, {"role": "tool", "tool_call_id": "c1", "content": "40"}]
    said = ChatCompletionMessage(role="assistant", content="40 dollars.")

    def usage(counted):
        parsed = _parse_usage(CompletionUsage(prompt_tokens=counted, completion_tokens=5, total_tokens=counted + 5))
        return {name: value for name, value in parsed.items() if isinstance(value, int)}

    return page(*(
        observation(
            at,
            json.dumps(_extract_chat_prompt({"messages": messages, "tools": TOOLS})),
            json.dumps(_extract_chat_response(reply.__dict__), default=lambda one: one.model_dump()),
            usage(counted),
        )
        for at, messages, reply, counted in ((1, first, used, 90), (5, second, said, 110))
    ))  # fmt: skip


json.dump(
    {
        "langsmith": langsmith(),
        "langfuse_of_langchain": langfuse_of_langchain(),
        "langfuse_of_openai": langfuse_of_openai(),
    },
    sys.stdout,
)
