"""`native`: structured calls, calls that local models write into their text, and answers that only look like calls."""

from __future__ import annotations

from itertools import product

from dialects.samples import ARGS, CALL, TOOLS, decode, executable
from kit import row
from treadle._dialects.base import Prompts
from treadle._dialects.registry import get_dialect
from treadle._types.messages import AssistantMessage, ToolCall, ToolMessage
from treadle._types.profile import Profile
from treadle._types.request import RawCall, Reply

NATIVE = get_dialect("native")


def one(arguments: str, finish: str = "calls", name: str = "search") -> ToolCall:
    reply = Reply(calls=(RawCall("a", name, arguments),), finish=finish)  # pyright: ignore[reportArgumentType]
    (call,) = NATIVE.decode(reply, TOOLS).calls
    return call


def test_tools_go_in_the_request_and_stay_there():
    encoding = NATIVE.encode(TOOLS, Profile(tool_call=True))
    assert (encoding.tools, encoding.tool_choice, encoding.format) == (TOOLS, "auto", None)
    forced = NATIVE.encode(TOOLS, Profile(tool_call=True), must_answer=True)
    assert (forced.tools, forced.tool_choice) == (TOOLS, "none")
    assert NATIVE.encode((), Profile(), must_answer=True).tool_choice == "auto"


def test_the_system_prompt_is_the_users_own():
    assert NATIVE.system(" Be brief. ", TOOLS, Prompts()) == "Be brief."
    assert NATIVE.system("Be brief.", TOOLS, Prompts({"dialect.native": "Use tools."})) == "Be brief.\n\nUse tools."


def test_arguments_are_read_tolerantly():
    want = {"query": "red pandas", "limit": 3}
    for text in (
        ARGS,
        "{'query': 'red pandas', 'limit': 3,}",
        '"{\\"query\\": \\"red pandas\\", \\"limit\\": 3}"',
        f"```json\n{ARGS}\n```",
        f"[{ARGS}]",
        f"{{}}{ARGS}",
        f"{ARGS}<|im_end|>",
    ):
        call = one(text)
        assert (call.args, call.problem) == (want, ""), text
    assert one("", name="now").args == {}
    assert one("null", name="now").problem == ""
    assert one('"red pandas"').args == {"query": "red pandas"}


def test_broken_arguments_are_a_problem_of_their_call():
    for text in ('{"query": "red', '{"query": ', "{", "red pandas {", '{"query": "a" "b" c}{'):
        call = one(text, "length")
        assert call.problem
        assert call.args == {}
        assert call.raw == text
    assert one("", "length").problem
    assert one('{"query": "red').problem
    assert one("[1, 2]", name="add").problem


def test_one_broken_call_does_not_spoil_the_others():
    reply = Reply(calls=(RawCall("a", "search", ARGS), RawCall("b", "search", '{"query": "re')), finish="length")
    decision = NATIVE.decode(reply, TOOLS)
    assert executable(decision) == CALL
    assert [call.problem == "" for call in decision.calls] == [True, False]
    assert not decision.problem


def test_ids_are_kept_and_made_unique():
    names = [RawCall(identity, "now") for identity in ("x", "", "x", "call_1", "")]
    ids = [call.id for call in NATIVE.decode(Reply(calls=tuple(names)), TOOLS).calls]
    assert ids[0] == "x"
    assert ids[3] == "call_1"
    assert len(set(ids)) == 5
    assert all(ids)


def test_thought_is_the_text_beside_the_calls_else_the_reasoning():
    call = (RawCall("a", "now", "{}"),)
    assert NATIVE.decode(Reply("Let me look.", call, "deep"), TOOLS).thought == "Let me look."
    assert NATIVE.decode(Reply("<think>deep</think>Let me look.", call), TOOLS).thought == "Let me look."
    assert NATIVE.decode(Reply("<think>deep</think>", call), TOOLS).thought == "deep"
    assert NATIVE.decode(Reply("", call, "deep"), TOOLS).thought == "deep"
    assert NATIVE.decode(Reply("42", (), "deep"), TOOLS).thought == "deep"


def test_an_answer_that_shows_a_call_is_an_answer():
    for text in [
        "Paris.",
        f'To call it you would send {{"name": "search", "arguments": {ARGS}}} to the server.',
        f'Here is an example:\n```json\n{{"name": "search", "arguments": {ARGS}}}\n```',
        f'```json\n{{"name": "search", "arguments": {ARGS}}}\n```\nThis is how a call looks.',
        f'A model writes `<tool_call>{{"name": "search", "arguments": {ARGS}}}</tool_call>` for this.',
        f'The page says "<tool_call>{{"name": "search", "arguments": {ARGS}}}</tool_call>", which I ignored.',
        f'It said:\n> <tool_call>{{"name": "search", "arguments": {ARGS}}}</tool_call>',
        f"Like so:\n```xml\n<tool_call>{ARGS}</tool_call>\n```",
        "The token <tool_call> opens a call and </tool_call> closes it.",
        "Use `search(query='x')` here.",
        '{"city": "Paris", "country": "France"}',
        '[{"name": "Ann", "arguments": ["for", "against"]}]',
        "{broken json of the user",
        "f(x) = 3",
    ]:
        with row(text):
            decision = decode("native", text)
            assert decision.calls == ()
            assert decision.problem == ""
            assert decision.answer == text


def test_a_malformed_call_is_a_problem_and_no_answer():
    for text, finish in product(
        [
            '{"name": "search", "arguments": {"query": "red',
            '```json\n{"name": "search", "arguments": {"query": "red',
            '{"name": "search", "arguments": {"query": red pandas and so on}',
            '<tool_call>{"name": "search", "arguments": {"query": "red',
            "<tool_call>\n<function=search>\n<parameter=query>\nred",
            '[search(query="red',
        ],
        ["stop", "length"],
    ):
        with row(text, finish):
            decision = decode("native", text, finish)
            assert decision.calls == ()
            assert decision.answer is None
            assert decision.problem


def test_a_reply_that_is_nothing_but_a_call_is_one_even_of_a_tool_that_is_not_there():
    """It was given to the user as the answer."""
    for key, form in product(["arguments", "parameters"], ["{}", "```json\n{}\n```", "[{}]"]):
        with row(key, form):
            text = form.replace("{}", f'{{"name": "film_titles", "{key}": {{"year": 1999}}}}')
            (call,) = decode("native", text).calls
            assert (call.name, call.args) == ("film_titles", {"year": 1999})
            assert NATIVE.decode(Reply(text), ()).answer == text, "without tools it is what was asked for"


def test_nothing_at_all_is_a_problem():
    for text in ("", "  \n", "<think>hm</think>", "<think>hm"):
        assert decode("native", text).problem
        assert decode("native", text).answer is None


def test_an_answer_cut_by_length_is_still_the_answer():
    assert decode("native", "The first half of", "length").answer == "The first half of"


def test_the_same_message_is_sent_as_it_is():
    message = AssistantMessage("Let me look.", (ToolCall("a", "now"),), opaque={"signature": "s"})
    assert NATIVE.assistant(message) is message


def test_results_are_themselves():
    results = (ToolMessage("a", "now", "12:00"),)
    assert NATIVE.results(results) is results


def test_reformat_says_what_was_wrong_and_offers_both():
    text = NATIVE.reformat("it was cut off.", Prompts())
    assert "it was cut off." in text
    assert "tool" in text
    assert "answer" in text
    assert NATIVE.reformat("x", Prompts({"dialect.native.reformat": "Again: {problem}"})) == "Again: x"


def test_a_name_that_is_given_twice_is_a_guess():
    assert one('{"query":"a","query":"b"}').repaired
    assert one('{"query" : "a", "limit": 3, "query" :"b"}').repaired
    assert not one('{"query":"a\\":b"}').repaired
