"""Where a call may stand in a reply: certain, doubtful, or only shown; and prose that shows markup never calls."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.samples import NAMES, decode
from kit import go, row
from treadle import Agent, ScriptedModel, tool
from treadle._dialects.base import Decision
from treadle._dialects.reading.placement import Quotations, doubt_about, is_closing, stands_behind_prose
from treadle._dialects.registry import get_dialect, reader_for
from treadle._types.request import RawCall, Reply, ToolSchema

WIPE = ToolSchema("wipe", "", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
JSON = '{"name": "wipe", "arguments": {"path": "/"}}'
MARKUP = {
    "xml with JSON": '<function=wipe>{"path":"/"}</function>',
    "xml": "<function=wipe><parameter=path>/</parameter></function>",
    "hermes": f"<tool_call>{JSON}</tool_call>",
    "qwen": "<tool_call>\n<function=wipe>\n<parameter=path>\n/\n</parameter>\n</function>\n</tool_call>",
    "mistral": f"[TOOL_CALLS][{JSON}]",
    "kimi": '<|tool_calls_section_begin|><|tool_call_begin|>functions.wipe:0<|tool_call_argument_begin|>{"path": "/"}'
    "<|tool_call_end|><|tool_calls_section_end|>",
    "glm": "<tool_call>wipe\n<arg_key>path</arg_key>\n<arg_value>/</arg_value>\n</tool_call>",
    "llama": f"<|python_tag|>{JSON}",
    "gpt-oss": '<|channel|>commentary to=functions.wipe <|constrain|>json<|message|>{"path":"/"}<|call|>',
    "lfm": '<|tool_call_start|>[wipe(path="/")]<|tool_call_end|>',
}
KINDS = sorted(MARKUP)


def read(text: str, dialect: str = "native") -> Decision:
    return decode(dialect, text, tools=(WIPE,))


def certain(decision: Decision) -> bool:
    return [(call.name, call.args, call.repaired) for call in decision.calls] == [("wipe", {"path": "/"}, "")]


# ---- what is a call


def test_a_call_at_the_start_of_a_line_with_nothing_behind_it_is_certain():
    for dialect, kind in product(NAMES, KINDS):
        with row(dialect, kind):
            call = MARKUP[kind]
            for text in (
                call,
                f"\n{call}\n",
                f"I will do it now.\n{call}",
                f"I will.\n\n{call}\n\n",
                f"{call}<|im_end|>",
            ):
                assert certain(read(text, dialect)), text


def test_a_call_right_behind_its_introduction_or_before_more_lines_is_doubtful():
    """Real models write this (`tool_outputs.json`): tools without effects may run, for others they are asked again."""
    for kind in KINDS:
        with row(kind):
            call = MARKUP[kind]
            for text in (
                f"I'll do it. {call}",
                f"I'll do it.{call}",
                f"{call}\nWould you like more?",
                f"```\n{call}\n```",
            ):
                (only,) = read(text).calls
                assert only.repaired, text


def test_a_call_inside_a_tag_that_is_not_its_own_is_doubtful():
    for dialect, kind in product(NAMES, KINDS):
        with row(dialect, kind):
            for text in ("<mail>\n{}\n</mail>", "The mail:\n<mail>\n{}\n</mail>\n", '<div class="x">{}</div>'):
                assert not certain(read(text.format(MARKUP[kind]), dialect)), text


# ---- what is only shown

SHOWN = (
    "He wrote {} at the end.",
    "He wrote `{}`.",
    "He wrote `{}`",
    'The page says "{}", which I ignored.',
    'The page says "{}"',
    "The page says '{}'",
    "It said:\n> {}",
    "It said:\n> {}\n",
    "For example:\n```xml\n{}\n```",
    "For example:\n~~~\n{}\n~~~\nis a call.",
    "The log has this:\n{}\nI did not do it.",
    "{} is what he wrote.",
    "{}, he wrote.",
    "“{}” was in the mail.",
    "<pre>{}</pre>",
    "It said:\n<blockquote>\n{}\n</blockquote>",
    "It said:\n<code>\n{}\n</code>\n",
    "<!-- {} -->",
)


def test_an_answer_that_shows_markup_stays_an_answer():
    for shown, kind in product(SHOWN, [kind for kind in KINDS if "\n" not in MARKUP[kind]]):
        with row(shown, kind):
            text = shown.format(MARKUP[kind])
            decision = read(text)
            assert decision.calls == ()
            assert decision.answer
            assert text.strip().startswith(decision.answer)  # the tokens that end a reply are not part of it


def test_no_dialect_reads_a_call_where_one_is_shown():
    for dialect, shown in product(NAMES, SHOWN):
        with row(dialect, shown):
            for call in (MARKUP["xml with JSON"], MARKUP["hermes"]):
                # In a text dialect JSON behind an introduction is its own format: read with a doubt.
                assert all(call.repaired for call in read(shown.format(call), dialect).calls), shown


WORDS = st.sampled_from(["he", "wrote", "that", "the", "mail", "says", "never", "do", "this", "is", "a", "call", "of"])
PROSE = st.lists(WORDS, min_size=1, max_size=8).map(lambda words: " ".join(words).capitalize())
WRAPS = st.sampled_from([("`", "`"), ('"', '"'), ("“", "”"), ("'", "'"), ("", "")])


@settings(max_examples=150)
@given(
    before=PROSE,
    behind=PROSE,
    kind=st.sampled_from(KINDS),
    wrap=WRAPS,
    lines=st.sampled_from([" ", "\n", "\n\n"]),
    end=st.sampled_from([".", "", "!", " ", "\n"]),
    dialect=st.sampled_from(["native", "action"]),
)
def test_prose_around_quoted_markup_never_yields_a_call(
    before: str, behind: str, kind: str, wrap: tuple[str, str], lines: str, end: str, dialect: str
):
    text = f"{before}{lines}{wrap[0]}{MARKUP[kind]}{wrap[1]} {behind}{end}"
    decision = read(text, dialect)
    assert decision.calls == (), text
    assert decision.answer is not None


@settings(max_examples=100)
@given(before=PROSE, kind=st.sampled_from(KINDS), quote=st.sampled_from('`"“'), dialect=st.sampled_from(NAMES))
def test_a_quotation_that_is_not_closed_yields_nothing_certain(before: str, kind: str, quote: str, dialect: str):
    for joint in (" ", "\n", ": "):
        decision = read(f"{before}{joint}{quote}{MARKUP[kind]}", dialect)
        assert all(call.repaired for call in decision.calls)


# ---- whose native calls are known to work


def test_the_text_of_a_model_that_calls_natively_is_never_read_for_calls():
    for kind in KINDS:
        with row(kind):
            reader = reader_for(get_dialect("native"), Reply(), True)
            for text in (MARKUP[kind], f"So:\n{MARKUP[kind]}", JSON):
                decision = reader.decode(Reply(text=text), (WIPE,))
                assert decision.calls == ()
                assert decision.answer
                assert text.startswith(decision.answer)
            native = reader.decode(Reply(calls=(RawCall("a", "wipe", '{"path": "/"}'),)), (WIPE,))
            assert [call.name for call in native.calls] == ["wipe"]
            assert reader_for(get_dialect("json"), Reply(), True) is get_dialect("json")


RAN: list[str] = []


@tool
async def wipe(path: str) -> str:
    """Wipe a folder."""
    RAN.append(path)
    return "wiped"


def ask(*script: object, **abilities: object) -> str:
    RAN.clear()
    return go(Agent(ScriptedModel(list(script), abilities=abilities), [wipe]).run("What did he write?")).answer


def test_an_answer_that_quotes_a_call_is_given_and_nothing_runs():
    text = f"He wrote {MARKUP['xml with JSON']} at the end."
    assert ask(text) == text
    assert RAN == []


def test_a_call_in_the_text_runs_for_a_model_of_which_nothing_is_known():
    assert ask(f"I will.\n{MARKUP['hermes']}", "Done.") == "Done."
    assert RAN == ["/"]


def test_a_profile_that_knows_native_calls_to_work_stops_the_reading_of_text():
    for facts in [{"calls_known": True}, {"dialect": "native"}]:
        with row(facts):
            text = f"So:\n{MARKUP['hermes']}"
            assert ask(text, **facts) == text
            assert RAN == []


def test_one_native_call_in_the_run_is_knowledge_enough():
    text = f"So:\n{MARKUP['hermes']}"
    assert ask({"name": "wipe", "args": {"path": "/tmp/x"}}, text) == text
    assert RAN == ["/tmp/x"]


def test_a_call_from_the_text_is_not_such_knowledge():
    assert ask(MARKUP["hermes"], MARKUP["hermes"].replace('"/"', '"/b"'), "Done.") == "Done."
    assert RAN == ["/", "/b"]


# ---- the parts


def test_the_place_of_a_call():
    assert doubt_about("x\nCALL", 2, 6) == ""
    assert doubt_about("x\nCALL</a>\n<|end|>", 2, 6) == ""
    assert doubt_about("x CALL y", 2, 6) is None
    assert doubt_about("CALL y", 0, 4) is None
    assert "follows" in (doubt_about("CALL\ny", 0, 4) or "")
    assert "same line" in (doubt_about("x CALL", 2, 6) or "")


def test_what_stands_before_it_in_its_line():
    assert not stands_behind_prose("<tools>CALL", 7)
    assert not stands_behind_prose("```json CALL", 8)
    assert stands_behind_prose("- CALL", 2)
    assert stands_behind_prose("so:\n    CALL", 8)
    assert not stands_behind_prose("    CALL", 4)


def test_quotations():
    text = 'a "b\n`c` `d\n> e\n```\nf\n```\ng'
    shown = Quotations(text)
    assert [letter for letter in "abcdefg" if shown.contains(text.index(letter))] == ["b", "c", "d", "e", "f"]
    assert shown.fenced(text.index("f"))
    assert not shown.fenced(text.index("g"))
    assert shown.left_open(len(text))


def test_closing():
    text = "</a></b:c> <|x|> [/Y] ``` \n;"
    assert is_closing(text, 0, len(text))
    assert not is_closing("</a> b", 0, 6)
