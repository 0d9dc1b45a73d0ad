"""The worker's side: what it answers, whatever happens in the database."""

from __future__ import annotations

from treadle._tools.builtin.sql.rows import Limits, Rows, Schema
from treadle._tools.builtin.sql.worker import Question, answer
from treadle._types.errors import ToolError

LIMITS = Limits(max_rows=5, timeout=1.0, read_only=True, memory=2**20)


class Failing:
    dialect = "Toy"

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def query(self, query: str) -> Rows:
        raise self._error

    def schema(self, table: str = "") -> Schema:
        return Schema(())


def test_every_failure_is_an_answer():
    question = Question("query", "SELECT 1")
    assert answer(Failing(ToolError("refused")), question, LIMITS).error == "refused"
    assert answer(Failing(KeyError("x")), question, LIMITS).error == "Toy: KeyError: 'x'"
    full = answer(Failing(MemoryError()), question, LIMITS)
    assert full.error == "the query needs more than 1 MB of memory: ask for fewer or smaller values"
    assert full.last
    assert answer(Failing(KeyError()), Question("schema", ""), LIMITS).schema == Schema(())
