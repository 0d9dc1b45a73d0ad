"""What the probe finds out about servers with certain abilities."""

from __future__ import annotations

import asyncio
from typing import Any

from kit import go, row
from models.catalog.servers import EVERYTHING, Server, examine, findings, note
from models.loopback import Loopback
from treadle import Reply, ScriptedModel
from treadle._models.catalog.probe import probe
from treadle._models.catalog.probe_target import target_of
from treadle._types.profile import Profile


def test_a_server_that_can_do_everything():
    server = Server(EVERYTHING | {"think"}, entry={"max_model_len": 8192})
    report = examine(server)
    assert findings(report) == dict.fromkeys(
        (
            "usage",
            "answers",
            "streaming",
            "tool_call",
            "tool_result",
            "parallel_calls",
            "forced_tool",
            "json_mode",
            "json_schema",
            "logprobs",
            "reasoning",
        ),
        True,
    )
    assert (report.dialect, report.window, report.model) == ("native", 8192, "small-model")
    assert report.usage.requests == 9
    assert report.usage.input_tokens == 99
    assert all(not finding.note for finding in report.findings if finding.ability != "reasoning")
    assert (
        next(finding for finding in report.findings if finding.ability == "tool_call").claimed is True
    )  # the table of models does not have it: native calls are tried first
    sent = [request.json for request in server.received if request.body]
    assert [body["tool_choice"] for body in sent if "tool_choice" in body] == [
        {"type": "function", "function": {"name": "get_weather"}}
    ]
    assert {body["response_format"]["type"] for body in sent if "response_format" in body} == {
        "json_object",
        "json_schema",
    }


def test_calls_that_come_as_text_make_it_schema():
    report = examine(Server(EVERYTHING - {"tools", "forced"}))
    assert report.works("tool_call") is False
    assert note(report, "tool_call").startswith("the call came as text: ```json")
    assert report.works("parallel_calls") is False
    assert report.works("forced_tool") is False
    assert note(report, "forced_tool") == "the choice was ignored"
    assert report.dialect == "schema"


def test_a_forced_call_may_work_where_a_free_one_does_not():
    report = examine(Server(EVERYTHING - {"tools"}))
    assert (report.works("tool_call"), report.works("forced_tool"), report.dialect) == (False, True, "schema")


def test_tools_that_are_refused_and_no_constraint_make_it_json():
    report = examine(Server({"stream", "usage", "list"}, refuses=("tools",)))
    assert note(report, "tool_call").startswith("refused: ")
    assert "tools is not supported here" in note(report, "tool_call")
    assert note(report, "forced_tool").startswith("not tried")
    assert (report.works("json_mode"), note(report, "json_mode")) == (False, "JSON with other text around it")
    assert report.works("json_schema") is False
    assert note(report, "json_schema").startswith("the schema was ignored")
    assert report.dialect == "json"


def test_probabilities_count_when_they_are_those_before_the_constraint():
    for can, expected in [
        (set[str](), "the server tells no probabilities"),
        ({"constrained_logprobs"}, "only of what the constraint leaves"),
    ]:
        with row(can, expected):
            report = examine(Server((EVERYTHING - {"logprobs"}) | can))
            assert (report.works("logprobs"), note(report, "logprobs")) == (False, expected)
            refused = examine(Server(refuses=("logprobs",)))
            assert (refused.works("logprobs"), refused.works("json_schema")) == (False, True)


def test_a_schema_that_is_only_json_mode_does_not_count():
    report = examine(Server({"list", "json", "usage"}))
    assert (report.works("json_mode"), report.works("json_schema"), report.dialect) == (True, False, "json")


def test_usage():
    for can, works, expected_note in [
        (EVERYTHING - {"usage", "stream_usage"}, False, "the server does not report token counts"),
        (EVERYTHING - {"stream_usage"}, True, "only in whole replies, not in streams"),
        (EVERYTHING, True, ""),
    ]:
        with row(can, works, expected_note):
            report = examine(Server(can))
            assert (report.works("usage"), note(report, "usage")) == (works, expected_note)


def test_a_stream_in_one_piece_does_not_count_as_streaming():
    report = examine(Server(EVERYTHING - {"stream"}))
    assert (report.works("streaming"), note(report, "streaming")) == (False, "the whole reply came in one piece")


def test_a_stream_that_breaks_off_is_not_known_to_work():
    report = examine(Server((EVERYTHING - {"stream"}) | {"half_stream"}))
    assert report.works("streaming") is None
    assert note(report, "streaming")
    assert report.works("tool_call") is True  # one failure does not end the probe


def test_a_server_that_takes_no_temperature():
    report = examine(Server(refuses=("temperature",)))
    assert report.answers
    assert report.accepts_temperature is False
    assert note(report, "answers") == "it accepts no temperature"
    assert report.works("tool_call") is True
    assert report.probed_profile().accepts_temperature is False


def test_a_server_that_takes_no_cap_under_this_name():
    server = Server(refuses=("max_tokens",))
    report = examine(server)
    assert report.answers
    assert report.works("tool_call") is True
    assert report.accepts_temperature is None
    assert server.received[-1].json["temperature"] == 0.0


def test_a_model_that_thinks_long_gets_a_higher_token_limit():
    def answer(request: Any) -> Reply:
        return Reply("Paris", reasoning="hm") if request.max_tokens > 1000 else Reply("", finish="length")

    model = ScriptedModel(answer)
    report = go(probe(model))
    assert report.answers
    assert report.works("reasoning") is True
    assert [request.max_tokens for request in model.requests[:3]] == [512, 4096, 4096]


def test_one_call_where_two_were_asked_for():
    report = examine(Server(EVERYTHING - {"parallel"}))
    assert (report.works("parallel_calls"), note(report, "parallel_calls")) == (False, "1 of 2 calls came")
    assert report.dialect == "native"


def test_a_silent_server_gives_no_finding_and_ends_the_probe():
    class Silent(ScriptedModel):
        async def stream(self, request: Any):
            self.requests.append(request)
            await asyncio.sleep(30)
            yield  # pragma: no cover

    model = Silent()
    report = go(probe(model, timeout=0.05), 5)
    assert not report.answers
    assert findings(report) == {"answers": None}
    assert note(report, "answers") == "no complete reply within 0.05 s"
    assert len(model.requests) == 1


def test_a_grammar_is_tried_where_it_is_claimed():
    def answer(request: Any) -> str:
        return "quartz-4" if request.format and request.format.kind == "grammar" else "Paris"

    report = go(probe(ScriptedModel(answer, abilities={"grammar": True})))
    assert (report.works("grammar"), report.works("json_schema"), report.dialect) == (True, False, "schema")


def test_findings_are_reported_as_they_come():
    seen: list[str] = []
    examine(Server(), on_finding=lambda finding: seen.append(finding.ability))
    assert seen[:3] == ["usage", "answers", "streaming"]
    assert seen[-1] == "reasoning"


def test_a_small_model_that_can_be_constrained_is_treated_as_in_process_whatever_its_native_calls_do():
    claimed = Profile(parameters=0.5, tiny=True, json_schema=True, strict_schema=True)

    async def main() -> None:
        async with Loopback(Server()) as loopback:
            target = await target_of(loopback.url)
            report = await probe(target.model, claimed)
            assert (report.works("tool_call"), report.dialect) == (True, "schema")

    go(main())
