"""What a model makes of five tiny repositories with the preset `coding`: each has one failing test.

    python3 tasks.py measure tiny_repositories local:qwen2.5-coder-1.5b [--iterations 20] [--only area last]

A repository counts as mended when the tests as they were given pass on the files that the agent has left: a test that
it has changed is put back first. Whether it said so itself is reported beside it. Commands run in a sandbox, or where
that cannot be had in a copy, where each that acts is allowed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from treadle import Model
from treadle._models.catalog.registry import resolve_model
from treadle.interop import run_repository

_TEST = f"{sys.executable} -m unittest -q"
QUESTION = "A test of this project fails. Find out why, mend the code (not the test), and run the tests again."
REPOSITORIES = {
    "area": {
        "shapes.py": "def area(width, height):\n    return width + height\n",
        "test_shapes.py": "self.assertEqual(shapes.area(3, 4), 12)",
    },
    "last": {
        "pages.py": "def last(pages):\n    '''The last page, None where there is none.'''\n    return pages[-1]\n",
        "test_pages.py": "self.assertIsNone(pages.last([]))\n        self.assertEqual(pages.last([1, 2]), 2)",
    },
    "names": {
        "names.py": "def initials(name):\n    return ''.join(part[0] for part in name.split())\n",
        "test_names.py": "self.assertEqual(names.initials('ada king lovelace'), 'AKL')",
    },
    "prices": {
        "prices.py": "from rates import RATE\n\n\ndef with_tax(price):\n    return round(price * RATE, 2)\n",
        "rates.py": "# Twenty per cent on top.\nRATE = 0.2\n",
        "test_prices.py": "self.assertEqual(prices.with_tax(10), 12.0)",
    },
    "words": {
        "words.py": "def count(text):\n    many = {}\n    for one in text.split():\n        many[one] = 1\n    return many",  # noqa: E501
        "test_words.py": "self.assertEqual(words.count('a b a'), {'a': 2, 'b': 1})",
    },
}


def write(files: dict[str, str], task: Path) -> None:
    for name, text in files.items():
        folders = ("repository", "tests") if name.startswith("test_") else ("repository",)
        if name.startswith("test_"):
            module = name.removeprefix("test_").removesuffix(".py")
            body = f"class Test(unittest.TestCase):\n    def test_{module}(self):\n        {text}\n"
            text = f"import unittest\n\nimport {module}\n\n\n{body}"
        for folder in folders:
            (task / folder).mkdir(parents=True, exist_ok=True)
            (task / folder / name).write_text(text)
    (task / "issue.md").write_text(QUESTION)
    (task / "test.sh").write_text(_TEST)


async def mended(model: Model, files: dict[str, str], task: Path, iterations: int) -> tuple[bool, str]:
    """Whether the model has mended a repository, and what it took."""
    began = time.monotonic()
    write(files, task)
    done = await run_repository(model, task, seconds=60, max_iterations=iterations)
    assert not done.solved_before
    result, used = done.result, done.result.usage
    said = "answer: " + " ".join(result.answer.split())[:100]
    line = f"{len(result.steps)} calls, {used.input_tokens} tokens in, {used.cached_tokens} of them cached, "
    line += f"{used.output_tokens} out, ended with {result.stop_reason}, {time.monotonic() - began:.0f} s; {said}"
    return done.solved, line


async def main(name: str, iterations: int, only: Sequence[str]) -> int:
    model, total = resolve_model(name), 0
    for repository, files in ((one, REPOSITORIES[one]) for one in only):
        with tempfile.TemporaryDirectory(prefix="treadle-tiny-") as place:
            right, line = await mended(model, files, Path(place), iterations)
        total += right
        print(f"{repository:8} {'mended' if right else 'NOT mended'}: {line}", flush=True)
    print(f"{name}: {total} of {len(only)}")
    await model.aclose()
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--only", nargs="+", choices=REPOSITORIES, default=list(REPOSITORIES))
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.model, options.iterations, options.only)))
