"""`compact`: what adapters have been trained on. A change of what it writes leaves them behind."""

from __future__ import annotations

import hashlib

from treadle._dialects.base import Decision, Prompts
from treadle._dialects.registry import show_assistant
from treadle._local.dialects.compact import ADAPTER_FORMAT, CompactDialect
from treadle._types.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from treadle._types.profile import DecisionThresholds, Profile
from treadle._types.request import DecisionNames, Reply, ToolSchema

DIALECT = CompactDialect()
PRICE = ToolSchema(
    "price",
    "The price of a thing.",
    {"type": "object", "properties": {"thing": {"type": "string", "description": "Its name"}}, "required": ["thing"]},
)


def everything() -> str:
    call = DIALECT.write(Decision(calls=(ToolCall("1", "price", {"thing": "a lamp"}),)))
    final = DIALECT.write(Decision(answer="A lamp costs 20 euros.", task_successful=True))
    results = DIALECT.results([ToolMessage("1", "price", "20\neuros")], "What does a lamp cost?")
    failure = DIALECT.results([ToolMessage("1", "price", "Tool 'price' failed: no lamp", error=True)], "")
    shown = [message.content for message in (*results, *failure) if isinstance(message, UserMessage)]
    plain = DIALECT.write(Decision(answer="", own_words=True))
    return "\n---\n".join([DIALECT.system("Be kind.", [PRICE], Prompts()), call, final, plain, *map(str, shown)])


def test_the_form_that_adapters_have_learnt():
    """When this fails, the adapters have to be trained again (`lab/README.md`), and `ADAPTER_FORMAT` says so."""
    assert hashlib.sha256(everything().encode()).hexdigest()[:8] == ADAPTER_FORMAT, everything()


def test_a_result_and_a_failure_are_one_labelled_line_each():
    assert "price says: 20\n  euros" in everything()
    assert "price failed: no lamp" in everything()


def test_it_reads_what_it_writes():
    call = Decision(calls=(ToolCall("call_0", "price", {"thing": "a lamp"}),))
    assert DIALECT.decode(Reply(DIALECT.write(call)), [PRICE]).calls[0].args == {"thing": "a lamp"}
    assert DIALECT.decode(Reply(DIALECT.write(Decision(answer="Hi"))), [PRICE]).answer == "Hi"


def test_what_needs_no_tool_is_left_to_the_model_without_its_adapter():
    decision = DIALECT.decode(Reply('{"action": "no_tool"}'), [PRICE])
    assert (decision.own_words, decision.answer, decision.problem) == (True, "", "")
    own = ToolSchema("no_tool", "A tool of that name.", {"type": "object", "properties": {}})
    assert DIALECT.decode(Reply('{"action": "no_tool", "args": {}}'), [own]).calls[0].name == "no_tool"


def test_that_it_wants_no_tool_is_an_answer_where_it_decides():
    decide = DecisionThresholds(0.5, 0.5, "compact", "taught")
    profile = Profile(grammar=True, logprobs=True, adapter="taught", decide=decide)
    tools = (ToolSchema("add", "Adds.", {}),)
    assert DIALECT.encode(tools, profile).decision_names == DecisionNames(("final_answer", "no_tool"), ("add",))


def test_after_a_long_text_it_calls_or_leaves_the_words():
    profile = Profile(grammar=True)

    def actions(*tools: ToolSchema, **wanted: bool) -> list[bool]:
        written = str(DIALECT.encode_after_text(tools, profile, **wanted).format)
        return [f"'{name}'" in written for name in ("price", "no_tool", "final_answer", "task_successful")]

    assert actions(PRICE) == [True, True, True, False], "that it would answer now, and not in which words"
    assert actions(PRICE, must_answer=True) == [False, True, True, False]
    assert actions(PRICE, must_act=True) == [True, False, False, False]
    assert actions() == [False, True, True, False]
    own = ToolSchema("no_tool", "A tool of that name.", {"type": "object", "properties": {}})
    assert actions(own) == [False, True, True, True], "it could not answer otherwise"
    assert DIALECT.decode(Reply('{"action": "final_answer"}'), [PRICE]).own_words


def test_the_prompt_is_short():
    assert len(DIALECT.system("", [], Prompts())) < 400


def test_the_thoughts_of_other_models_are_left_out():
    text, calls = '{"thought": "Hm.", "action": "price", "args": {"n": 1}}', (ToolCall("1", "price", {"n": 1}),)
    assert show_assistant(AssistantMessage(text, calls, dialect="schema"), DIALECT).text == (
        '{"action":"price","args":{"n":1}}'
    )
    assert show_assistant(AssistantMessage(text, calls, dialect="compact"), DIALECT).text == text
