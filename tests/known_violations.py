"""What tests/test_house.py still lets pass. Only take entries out: it fails when one of them is no longer true."""

from __future__ import annotations

CIRCLES: list[frozenset[str]] = []

LONG_FILES: set[str] = set()

LONG_FUNCTIONS: set[str] = set()

MISSING_TEST_FILES: set[str] = {
}

MISSING_TEST_FOLDERS: set[str] = set()
