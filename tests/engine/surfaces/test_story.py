"""A result as a story: what happened, in order, and nothing in it that a terminal or a notebook would obey."""

from __future__ import annotations

from kit import call, echo, go
from treadle import Agent, Artifact, ScriptedModel, ToolResponse, tool


@tool
def fail(text: str) -> str:
    """Fail."""
    raise RuntimeError("the disk is full")


def test_the_story_has_every_step_in_order():
    model = ScriptedModel([[call("echo", text="one"), call("fail", text="two")], "Done: one."])
    story = go(Agent(model, [echo, fail], name="teller").run("Say one", run_id="r1")).trace()
    expected = ["Run r1: answer", "2 calls", "user: Say one", '-> echo(text="one")', '-> fail(text="two")', "<- one"]
    expected += ["<- FAILED", "RuntimeError: the disk is full", "Done: one."]
    positions = [story.find(part) for part in expected]
    assert -1 not in positions, story
    assert positions == sorted(positions)
    assert story.count("Done: one.") == 1


def test_the_story_says_what_waits_and_what_failed():
    waiting = go(Agent(ScriptedModel([call("echo", text="x")]), [echo], ask=("all",)).run("q"))
    assert 'waiting: echo(text="x")' in waiting.trace()
    assert [pending.name for pending in waiting.pending] == ["echo"]
    failed = go(Agent(ScriptedModel([ValueError("no")]), tools=None, on_error="result").run("q"))
    assert "error: ModelError" in failed.trace()


def test_long_texts_are_cut_and_control_characters_shown():
    result = go(Agent(ScriptedModel([call("echo", text="\x1b[2J" + "x" * 5000), "ok"]), [echo]).run("q"))
    assert "\x1b" not in result.trace()
    assert "more characters" in result.trace()
    assert len(result.trace()) < 2000


def test_html_is_escaped():
    attack = "<script>alert(1)</script>"
    result = go(Agent(ScriptedModel([call("echo", text=attack), attack]), [echo]).run(attack, run_id=attack))
    assert "<script" not in result._repr_html_()
    assert "&lt;script&gt;" in result._repr_html_()


def test_html_shows_the_pictures_and_tables_that_a_run_has_made():
    @tool
    def draw() -> ToolResponse:
        """Draw."""
        table = Artifact("t.csv", "month,<b>\n1,2\n" + "3,4\n" * 50, "text/csv")
        page = Artifact("p.html", "<script>alert(1)</script>", "text/html")
        return ToolResponse("drawn", artifacts=(Artifact("<x>.svg", "<svg/>", "image/svg+xml"), table, page))

    shown = go(Agent(ScriptedModel([call("draw"), "Done."]), [draw]).run("q"))._repr_html_()
    assert "src='data:image/svg+xml;base64,PHN2Zy8+'>" in shown
    assert "(image/svg+xml, 6 bytes)" in shown
    assert "<x>" not in shown
    assert "<td>month</td><td>&lt;b&gt;</td>" in shown
    assert shown.count("<td>3</td>") == 4
    assert "<script" not in shown
