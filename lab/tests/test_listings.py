"""Listings to learn from: the row that is meant is the one that the question says, in whatever form rows are shown."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from training.scenes import listings
from training.worlds import row_forms
from training.worlds.listings import Column, table
from training.worlds.row_forms import Row
from training.worlds.tools import shown


def test_of_a_listing_the_row_is_meant_that_the_question_says():
    for seed in range(300):
        r = random.Random(seed)
        given = table(r)
        for column in given.listing.columns:
            if not column.asks():
                continue
            picked = listings._picked(r, given, column)
            values = [row[column.key] for row in given.rows]
            value = picked.row[column.key]
            if column.kind == "category":
                assert values.count(value) == 1
                assert str(value) in picked.question
            elif column.kind == "limit":
                x = picked.bound
                assert [row for row in given.rows if (x >= row[column.key] if column.up else x <= row[column.key])] == [
                    picked.row
                ]
                assert str(x) in picked.question
            elif picked.question in column.least and picked.question not in column.most:
                assert value == min(values)
            else:
                assert value == max(values)


def _of(column: Column) -> Callable[[Row], Any]:
    return lambda row: row[column.key]


def test_a_condition_leaves_rows_out_before_most_or_least_is_asked_for():
    others = 0
    for seed in range(300):
        r = random.Random(seed)
        given = table(r)
        column = next((one for one in given.listing.columns if one.most), None)
        if column is None:
            continue
        given, picked = listings.conditioned(r, given, column)
        assert 2 <= len(picked.among) < len(given.rows)
        value = [min, max][picked.most](picked.among, key=_of(column))
        assert picked.row is value
        common = set(map(str, picked.row.values())).intersection(*(map(str, row.values()) for row in picked.among))
        amounts = [key for key in picked.row if not isinstance(picked.row[key], str)]
        bounds = {shown(min(row[key] for row in picked.among)) for key in amounts}
        assert any(word in picked.question for word in (*common, *bounds))
        others += picked.row is not [min, max][picked.most](given.rows, key=_of(column))
    assert others > 150


def test_all_rows_that_are_something_are_named():
    for seed in range(100):
        r = random.Random(seed)
        given = table(r)
        scenario = listings._all_of_them(r, given)
        answer = scenario.script[-1].text
        key = list(given.rows[0])[-1]
        value = next(str(row[key]) for row in given.rows if f" {row[key]}: " in answer)
        for row in given.rows:
            assert (row[key] == value) == (given.name(row) in answer), (row, answer)


def test_every_form_of_a_listing_tells_all_of_it():
    for seed in range(200):
        r = random.Random(seed)
        given = table(r)
        told = {column.key: column.told for column in given.columns()}
        for form, _ in row_forms.FORMS:
            text = form(r, given.rows, told)
            for row in given.rows:
                assert all(shown(value) in text for value in row.values()), (form, text)
