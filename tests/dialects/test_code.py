"""`code`: which part of a reply is the code, how tools are named in it, and what is an answer."""

from __future__ import annotations

import time

from dialects.samples import NOW, SEARCH, TOOLS
from kit import row
from treadle._dialects.base import Decision, Prompts
from treadle._dialects.code import CodeDialect, find_code, function_name
from treadle._dialects.registry import show_assistant
from treadle._types.messages import AssistantMessage, ToolCall
from treadle._types.profile import Profile
from treadle._types.request import Reply, ToolSchema

CODE = CodeDialect()


def code_of(text: str, finish: str = "stop") -> str | None:
    """The code that a reply would run; None when it is not a call."""
    calls = CODE.decode(Reply(text, finish=finish), TOOLS).calls  # pyright: ignore[reportArgumentType]
    return calls[0].args["code"] if calls else None


def test_the_code_of_a_reply():
    for text, code in [
        ("```python\nprint(1)\n```", "print(1)"),
        ("```py\nprint(1)\n```", "print(1)"),
        ("~~~python\nprint(1)\n~~~", "print(1)"),
        ("````python\nprint('```')\n````", "print('```')"),
        ("Look:\n```tool_code\nx = now()\n```", "x = now()"),
        ("```\nprint(now())\n```", "print(now())"),
        ("```python\na = 1\n```\nand then\n```python\nprint(a)\n```", "a = 1\nprint(a)"),
        ("```python\na = 1\n```\nObservation: 1\n```python\nb = 2\n```", "a = 1"),
        ("```bash\nls\n```\n```python\nprint(1)\n```", "print(1)"),
        ("```python\nprint(1)", "print(1)"),
        ("<code>\nprint(1)\n</code>", "print(1)"),
        ("I run <execute>print(1)</execute> now", "print(1)"),
        ("<think>first ```python\nno\n```</think>\n```python\nprint(1)\n```", "print(1)"),
        ('```python\nx = 1\n```\n<result tool="python">\n9\n</result>\n```python\nfinal_answer(9)\n```', "x = 1"),
        ("```python\ntext = '''\n~~~\n'''\n```", "text = '''\n~~~\n'''"),
    ]:
        with row(text, code):
            assert code_of(text) == code


def test_a_reply_without_python_is_prose_that_nobody_marked_as_the_answer():
    for text in ["Paris.", "```bash\nls\n```", "```\nnothing that calls a tool\n```", "Write <code> before code."]:
        with row(text):
            decision = CODE.decode(Reply(text), TOOLS)
            assert (decision.calls, decision.answer, decision.unmarked) == ((), text, True)


def test_an_answer_is_marked_as_one():
    for text, answer, thought in [
        ("<__final_answer__>Paris</__final_answer__>", "Paris", ""),
        ("Easy.\nFinal answer: Paris", "Paris", "Easy."),
        ('{"thought": "Easy.", "final_answer": "Paris"}', "Paris", "Easy."),
        ('{"final_answer": [1, 2], "task_successful": false}', "[1,2]", ""),
    ]:
        with row(text, answer, thought):
            decision = CODE.decode(Reply(text), TOOLS)
            assert (decision.answer, decision.thought, decision.unmarked) == (answer, thought, False)


def test_code_without_a_fence():
    for text, code in [
        ("print(now())", "print(now())"),
        ("I look first.\n\nimport math\nx = math.pi\nx", "import math\nx = math.pi\nx"),
        ('{"thought": "t", "code": "x = 1"}', "x = 1"),
        ('```json\n{"thought": "t", "code": "x = 1"}\n```', "x = 1"),
        ("x = 1 and this is no program", None),
        ("Paris", None),
        ("from what I see, yes", None),
    ]:
        with row(text, code):
            assert code_of(text) == code


def test_code_that_is_empty_is_a_problem():
    for text in ["```python\n```", "Look:\n```python\n\n```", '{"thought": "t", "code": ""}']:
        with row(text):
            assert "is empty" in CODE.decode(Reply(text), TOOLS).problem


def test_code_that_was_cut_off_does_not_run_and_nothing_at_all_is_a_problem():
    assert "cut off" in CODE.decode(Reply("```python\nx = [1,", finish="length"), TOOLS).problem
    assert code_of("```python\nx = [1]\n```", "length") == "x = [1]"
    assert CODE.decode(Reply("<think>hm</think>"), TOOLS).problem
    assert CODE.decode(Reply(""), TOOLS).problem


def test_the_text_before_the_code_is_the_thought():
    assert CODE.decode(Reply("Look first.\n```python\nx = 1\n```"), TOOLS).thought == "Look first."
    assert CODE.decode(Reply("```python\nx = 1\n```", reasoning="deep"), TOOLS).thought == "deep"
    assert find_code("no code", set()) == ("", None, True)


def test_tools_are_named_as_functions():
    names = {"search": "search", "a-b": "a_b", "print": "print_", "class": "class_", "2x": "_2x"}
    for tool, name in {**names, "final_answer": "final_answer_"}.items():
        assert function_name(tool) == name


def test_the_prompt_lists_functions_and_shows_one_call():
    python = ToolSchema("python", "Run code.", {})
    text = CODE.system("Be kind.", (SEARCH, python, NOW), Prompts())
    assert text.startswith("Be kind.\n\n")
    assert "- search(query: string" in text
    assert "- python(" not in text
    assert "print(search(query='<query>'))" in text
    assert "{" not in text.replace("{...}", "")
    assert "print(" in CODE.system("", (), Prompts())
    assert CODE.encode(TOOLS, Profile(grammar=True)).format is None


def test_calls_of_another_dialect_are_shown_as_code():
    native = AssistantMessage("Look.", (ToolCall("1", "my-tool", {"q": "x"}),))
    assert show_assistant(native, CODE).text == "Look.\n```python\nprint(my_tool(q='x'))\n```"


def test_a_decision_is_written_as_code():
    calls = (ToolCall("1", "python", {"code": "x = 1"}), ToolCall("2", "a-b", {"q": "it's"}))
    assert CODE.write(Decision("Look.", calls)) == 'Look.\n```python\nx = 1\nprint(a_b(q="it\'s"))\n```'
    assert CODE.write(Decision("hm", answer="Paris")) == "hm\n<__final_answer__>Paris</__final_answer__>"
    assert CODE.write(Decision("hm")) == "hm"


def test_hostile_replies_are_read_soon():
    for text in [
        "<code>" * 50_000,
        "```python\n" * 20_000,
        "`" * 200_000,
        "```" + "a" * 200_000,
        "``` " + " " * 200_000,
        "```a\n~~~\n" * 20_000,
    ]:
        with row(text):
            started = time.process_time()
            CODE.decode(Reply(text=text), ())
            assert time.process_time() - started < 2  # a hundred times what it takes; quadratic work would take minutes
