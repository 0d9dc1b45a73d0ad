"""Operations on many runs: pages, sums, notes; each user sees their own."""

from __future__ import annotations

from server.serving import ANN, BOB, TOKENS, adder, serving, talker


def test_pages_and_filters():
    with serving({"one": talker(), "two": adder()}) as client:
        runs = [client.start(f"question {number}", agent="two" if number == 4 else "one") for number in range(5)]
        for run in runs:
            client.wait(run)
        seen: list[str] = []
        after = ""
        while True:
            page = client.get(f"/api/runs?limit=2&after={after}")
            seen += [line["run_id"] for line in page["runs"]]
            after = page["next"]
            if not after:
                break
        assert seen == runs[::-1]
        assert [line["run_id"] for line in client.get("/api/runs?text=Question%203")["runs"]] == [runs[3]]
        (line,) = client.get("/api/runs?agent=two&status=finished")["runs"]
        assert line["run_id"] == runs[4]
        assert (line["summary"]["success"], line["summary"]["tool_calls"]) == (True, 1)
        for wrong in ("after=x", "limit=0", "status=lost", "since=nan", "colour=red", "text=" + "x" * 300):
            assert client.ask("GET", f"/api/runs?{wrong}").status == 400, wrong


def test_sums():
    with serving({"one": talker(), "two": adder()}) as client:
        for agent in ("one", "two", "two"):
            client.wait(client.start(agent=agent))
        seen = client.get("/api/overview")
        assert (seen["runs"], seen["succeeded"], seen["pending"]) == (3, 3, 0)
        assert [(group["name"], group["runs"]) for group in seen["agents"]] == [("two", 2), ("one", 1)]
        assert [(tool["name"], tool["calls"]) for tool in seen["tools"]] == [("add", 2)]
        assert client.get("/api/overview?agent=one")["runs"] == 1
        assert client.ask("GET", "/api/overview?limit=3").status == 400


def test_notes():
    with serving(talker()) as client:
        run = client.ran()
        noted = client.post(f"/api/runs/{run}/annotations", {"tags": ["good", "x"], "note": "fine", "thumb": "up"})
        assert (noted["tags"], noted["note"], noted["thumb"]) == (["good", "x"], "fine", "up")
        client.post(f"/api/runs/{run}/annotations", {"thumb": "down"})
        body = client.get(f"/api/runs/{run}")
        assert (body["tags"], body["note"], body["thumb"]) == (["good", "x"], "fine", "down")
        assert len(client.get("/api/runs?tag=good&thumb=down")["runs"]) == 1
        assert client.get("/api/overview")["tags"] == {"good": 1, "x": 1}
        for wrong in ({"thumb": "left"}, {"tags": ["x" * 61]}, {"tags": "x"}, {"mood": 1}):
            assert client.ask("POST", f"/api/runs/{run}/annotations", wrong).status == 400
        assert client.ask("POST", "/api/runs/nothing/annotations", {"note": "x"}).status == 404


def test_each_user_sees_their_own():
    with serving(talker(), tokens=TOKENS) as server:
        ann, bob = server.as_user(ANN), server.as_user(BOB)
        run = ann.ran("mine")
        bob.wait(bob.start("other"))
        assert ann.get("/api/overview")["runs"] == 1
        assert [line["question"] for line in bob.get("/api/runs")["runs"]] == ["other"]
        assert bob.ask("POST", f"/api/runs/{run}/annotations", {"note": "x"}).status == 404
        assert server.ask("GET", "/api/overview").status == 401
