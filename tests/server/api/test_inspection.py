"""Records, exact requests and artifacts of a run."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from kit import add, call
from server.serving import ANN, BOB, HTML, TOKENS, adder, report, serving
from treadle import Agent, Artifact, ScriptedModel, tool


def test_artifacts_are_shown_in_a_sandbox():
    model = ScriptedModel([call("report"), "ok"])
    with serving(Agent(model, tools=[report])) as client:
        run = client.start()
        body = client.wait(run)
        assert [(a["name"], a["mime"]) for a in body["artifacts"]] == [
            ("report.html", "text/html"),
            ("dot.png", "image/png"),
        ]
        shown = client.ask("GET", f"/api/runs/{run}/artifacts/report.html")
        assert shown.data.decode() == HTML
        assert shown.headers["content-type"].startswith("text/html")
        policy = shown.headers["content-security-policy"]
        assert policy.startswith("sandbox; default-src 'none'")
        assert "script" not in policy
        assert "frame-ancestors 'self'" in policy
        assert shown.headers["x-content-type-options"] == "nosniff"
        assert client.ask("GET", f"/api/runs/{run}/artifacts/dot.png").data == b"hi"
        saved = client.ask("GET", f"/api/runs/{run}/artifacts/report.html?download=true")
        assert saved.headers["content-disposition"] == "attachment; filename*=utf-8''report.html"
        assert client.ask("GET", f"/api/runs/{run}/artifacts/nothing.html").status == 404
        done = next(e["data"] for e in client.events(run) if e["data"].get("artifacts"))
        assert done["artifacts"][0] == {"name": "report.html", "mime": "text/html", "summary": "", "size": len(HTML)}


def test_an_artifact_cannot_be_served_under_a_name_that_climbs():
    @tool
    def climb() -> Artifact:
        return Artifact("..\\../etc/\u202epasswd", "text")

    with serving(Agent(ScriptedModel([call("climb"), "ok"]), tools=[climb])) as client:
        run = client.start()
        assert [artifact["name"] for artifact in client.wait(run)["artifacts"]] == ["etc/passwd"]
        saved = client.ask("GET", f"/api/runs/{run}/artifacts/etc/passwd?download=true")
        assert saved.headers["content-disposition"] == "attachment; filename*=utf-8''passwd"
        records = client.get(f"/api/runs/{run}/records")["records"]
        assert "../" not in str(records)


def test_the_exact_request_of_any_step():
    model = ScriptedModel([call("add", a=2, b=3), "It is 5.", "**Five**."])
    with serving(Agent(model, tools=[add], system="You add.", answer="synthesize")) as client:
        run = client.ran("2+3?")
        listed = client.get(f"/api/runs/{run}/records?limit=4")
        assert listed["more"] is True
        assert [record["seq"] for record in listed["records"]] == [0, 1, 2, 3]
        records = client.get(f"/api/runs/{run}/records")["records"]
        asked = [record["seq"] for record in records if record["type"] == "think_started"]
        for seq, sent in zip(asked, model.requests, strict=True):
            shown = client.get(f"/api/runs/{run}/requests/{seq}")
            assert shown["verified"] is True
            assert len(shown["messages"]) == len(sent.messages)
            assert [offered["name"] for offered in shown["tools"]] == [offered.name for offered in sent.tools]
        assert client.get(f"/api/runs/{run}/requests/{asked[1]}")["messages"][-1]["from"] == "tool:add"
        assert client.ask("GET", f"/api/runs/{run}/requests/0").status == 409
        assert client.ask("GET", f"/api/runs/{run}/requests/999").status == 404
        assert client.ask("GET", f"/api/runs/{run}/requests/x").status == 400


def test_what_was_sent_with_a_question_can_be_had_again_by_its_owner():
    with serving(Agent(ScriptedModel(lambda r: "Seen."), tools=None), tokens=TOKENS) as client:
        ann, bob = client.as_user(ANN), client.as_user(BOB)
        parts = [
            {"type": "text", "text": "What is this?"},
            {"type": "image", "data": "aGk=", "mime": "image/png", "name": "dot.png"},
            {"type": "image", "url": "https://example.com/dot.png"},
        ]
        run = ann.post("/api/runs", {"question": parts}, 201)["run_id"]
        ann.wait(run)
        (turn,) = ann.get(f"/api/conversations/{run}")["runs"]
        assert [(file["kind"], file["name"]) for file in turn["files"]] == [("image", "dot.png"), ("image", "")]
        shown = ann.ask("GET", f"/api/runs/{run}/files/0")
        assert (shown.status, shown.data, shown.headers["content-type"]) == (200, b"hi", "image/png")
        assert shown.headers["content-security-policy"].startswith("sandbox;")
        assert ann.ask("GET", f"/api/runs/{run}/files/1").status == 409, "only its address is known"
        for number in ("2", "-1", "x", "99999"):
            assert ann.ask("GET", f"/api/runs/{run}/files/{number}").status == 404
        assert bob.ask("GET", f"/api/runs/{run}/files/0").status == 404


PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(3_001)


def test_contents_are_references_in_every_view_and_can_be_had_by_their_owner():
    """Neither records nor requests nor events send the content of a picture; the reference leads to it."""
    data = b64encode(PICTURE).decode()
    digest = sha256(PICTURE).hexdigest()
    question = [{"type": "text", "text": "what is it?"}, {"type": "image", "data": data, "name": "dot.png"}]
    model = ScriptedModel(["a dot"], abilities={"vision": True})
    with serving(Agent(model, tools=None), tokens=TOKENS) as server:
        client = server.as_user(ANN)
        run = client.post("/api/runs", {"question": question}, 201)["run_id"]
        client.wait(run)
        records = client.get(f"/api/runs/{run}/records")["records"]
        asked = next(record["seq"] for record in records if record["type"] == "think_started")
        request = client.get(f"/api/runs/{run}/requests/{asked}")
        assert request["verified"]
        for shown in (records, request, client.get(f"/api/runs/{run}"), client.events(run)):
            assert data[100:200] not in str(shown)
        assert f"'blob': '{digest}'" in str(records)
        assert f"'blob': '{digest}'" in str(request)
        got = client.ask("GET", f"/api/runs/{run}/contents/{digest}")
        assert got.data == PICTURE
        assert got.headers["content-type"] == "image/png"
        assert got.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        saved = client.ask("GET", f"/api/runs/{run}/contents/{digest}?download=true")
        assert saved.headers["content-disposition"] == "attachment; filename*=utf-8''dot.png"
        assert client.ask("GET", f"/api/runs/{run}/contents/{'0' * 64}").status == 404
        assert server.as_user(BOB).ask("GET", f"/api/runs/{run}/contents/{digest}").status == 404
        assert server.ask("GET", f"/api/runs/{run}/contents/{digest}").status == 401


def test_a_fork_beside_its_origin_and_the_requests_of_a_run():
    with serving(adder(), tokens=TOKENS) as server:
        ann, bob = server.as_user(ANN), server.as_user(BOB)
        run = ann.ran("add")
        fork = ann.post(f"/api/runs/{run}/fork", {"at": 2}, 201)["run_id"]
        ann.wait(fork)
        seen = ann.get(f"/api/compare?first={run}&second={fork}")
        assert (seen["first"], seen["second"], seen["common"]) == (run, fork, 3)
        assert {pair["change"] for pair in seen["steps"]} == {"same"}
        requests = ann.get(f"/api/runs/{run}/prefixes")["requests"]
        assert [use["broke_at"] for use in requests] == [-1, -1]
        assert requests[1]["kept_messages"] == requests[0]["messages"]
        assert bob.ask("GET", f"/api/compare?first={run}&second={fork}").status == 404
        assert bob.ask("GET", f"/api/runs/{run}/prefixes").status == 404
        assert ann.ask("GET", f"/api/compare?first={run}").status == 400
