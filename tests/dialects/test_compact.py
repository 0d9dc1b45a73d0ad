"""`compact`: what adapters have been trained on. A change of what it writes leaves them behind."""

from __future__ import annotations

import hashlib

from treadle._dialects.base import Decision, Prompts
from treadle._dialects.compact import CompactDialect
from treadle._types.messages import ToolCall, ToolMessage, UserMessage
from treadle._types.request import Reply, ToolSchema

DIALECT = CompactDialect()
PRICE = ToolSchema(
    "price",
    "The price of a thing.",
    {"type": "object", "properties": {"thing": {"type": "string", "description": "Its name"}}, "required": ["thing"]},
)
FORMAT = "6f846010"
"""Of everything below. When it changes, the adapters have to be trained again (`training/README.md`)."""


def everything() -> str:
    call = DIALECT.write(Decision(calls=(ToolCall("1", "price", {"thing": "a lamp"}),)))
    final = DIALECT.write(Decision(answer="A lamp costs 20 euros.", task_successful=True))
    results = DIALECT.results([ToolMessage("1", "price", "20\neuros")], "What does a lamp cost?")
    failure = DIALECT.results([ToolMessage("1", "price", "Tool 'price' failed: no lamp", error=True)], "")
    shown = [message.content for message in (*results, *failure) if isinstance(message, UserMessage)]
    return "\n---\n".join([DIALECT.system("Be kind.", [PRICE], Prompts()), call, final, *map(str, shown)])


def test_the_form_that_adapters_have_learnt():
    assert hashlib.sha256(everything().encode()).hexdigest()[:8] == FORMAT, everything()


def test_a_result_and_a_failure_are_one_labelled_line_each():
    assert "price says: 20\n  euros" in everything()
    assert "price failed: no lamp" in everything()


def test_it_reads_what_it_writes():
    call = Decision(calls=(ToolCall("call_0", "price", {"thing": "a lamp"}),))
    assert DIALECT.decode(Reply(DIALECT.write(call)), [PRICE]).calls[0].args == {"thing": "a lamp"}
    assert DIALECT.decode(Reply(DIALECT.write(Decision(answer="Hi"))), [PRICE]).answer == "Hi"


def test_the_prompt_is_short():
    assert len(DIALECT.system("", [], Prompts())) < 350
