"""Scenarios with the product's own tools over real files."""

from __future__ import annotations

import random
from pathlib import Path

from training.scenario import Say, Scenario, Step, act
from training.scenes.clock import clock
from training.worlds import words as w
from training.worlds.devices import compute
from training.worlds.questions import arithmetic
from training.worlds.tools import Facts
from treadle import Tool


def files_task(r: random.Random, facts: Facts, folder: Path) -> Scenario:
    """With the product's own file tools over real files."""
    from treadle._tools.builtin import builtin

    names = sorted({w.file_name(r) for _ in range(r.randint(3, 7))})
    lines = {
        name: [f"{r.choice(w.NOUNS)} {r.choice(w.ADJECTIVES)} {r.randint(1, 99)}" for _ in range(r.randint(1, 14))]
        for name in names
    }
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name, text in lines.items():
        (folder / name).write_text("\n".join(text) + "\n")
    tools = {tool.name: tool for tool in builtin("files", folder=str(folder), write=False)}
    listing, reading, searching = tools["list_files"], tools["read_file"], tools["search_files"]
    sizes = {name: (folder / name).stat().st_size for name in names}
    target = r.choice(names)
    calculator: Tool = builtin("calculator")
    kind = r.randrange(6)
    steps: list[Step]
    if kind == 0:
        question = r.choice(
            ("List the files here.", "Which files are there?", "What is in this folder?", "Show me the files.")
        )
        steps = [act(listing, {}), Say("The folder has these files: " + ", ".join(names) + ".")]
    elif kind == 1:
        largest = r.random() < 0.6
        best = (max if largest else min)(sizes, key=lambda name: (sizes[name], name))
        if list(sizes.values()).count(sizes[best]) > 1:
            return files_task(r, facts, folder)
        word = "largest" if largest else "smallest"
        question = r.choice(
            (
                f"Which file here is the {word}?",
                f"List the files and tell me which is the {word}.",
                f"What is the {word} file in this folder?",
            )
        )
        steps = [act(listing, {}), Say(f"The {word} file is {best} with {sizes[best]} bytes.")]
    elif kind == 2:
        question = r.choice((f"What does {target} say?", f"Read {target}.", f"Show me what is in {target}."))
        steps = [act(reading, {"path": target}), Say(f"{target} says:\n" + "\n".join(lines[target]))]
    elif kind == 3:
        word = lines[target][0].split()[0]
        hits = [name for name in names if any(word in line for line in lines[name])]
        question = r.choice(
            (f"Which files mention {word}?", f"Find the word {word} in my files.", f"Search the files for {word}.")
        )
        steps = [act(searching, {"text": word}), Say(f"{word} is mentioned in " + ", ".join(hits) + ".")]
    elif kind == 4:
        question = r.choice((f"How many lines does {target} have?", f"Count the lines of {target}."))
        steps = [act(reading, {"path": target}), Say(f"{target} has {len(lines[target])} lines.")]
    else:
        two = r.sample(names, 2)
        expression = f"{sizes[two[0]]} + {sizes[two[1]]}"
        question = r.choice(
            (f"How many bytes do {two[0]} and {two[1]} have together?", f"Add up the sizes of {two[0]} and {two[1]}.")
        )
        steps = [
            act(listing, {}),
            act(calculator, {"expression": expression}),
            Say(f"Together {two[0]} and {two[1]} have {compute(expression)} bytes."),
        ]
    return Scenario("files", [*tools.values(), calculator, clock(r)], question, steps, no_tool_for=("*calculate",))


def everyday_sum(r: random.Random, facts: Facts) -> Scenario:
    """With the product's own calculator beside its other tools."""
    from treadle._tools.builtin import builtin

    calculator: Tool = builtin("calculator")
    task = arithmetic(r)
    return Scenario(
        "everyday_sum",
        [calculator],
        task.question,
        [act(calculator, {"expression": task.expression}), Say(f"{task.answer}{w.number(compute(task.expression))}.")],
        no_tool_for=("*calculate",),
    )


def conversion_by_sum(r: random.Random, facts: Facts) -> Scenario:
    """No converter, but a calculator: the factor is common knowledge."""
    from treadle._tools.builtin import builtin

    calculator: Tool = builtin("calculator")
    known = {
        ("km", "miles"): "0.621371",
        ("miles", "km"): "1.609344",
        ("kg", "pounds"): "2.204623",
        ("hours", "minutes"): "60",
        ("feet", "metres"): "0.3048",
        ("inches", "cm"): "2.54",
        ("weeks", "days"): "7",
        ("days", "hours"): "24",
    }
    (source, target), factor = r.choice(list(known.items()))
    value = r.choice((r.randint(2, 300), round(r.uniform(1, 60), 1)))
    expression = f"{value} * {factor}"
    question = r.choice(
        (
            f"Convert {value} {source} to {target}.",
            f"How many {target} are {value} {source}?",
            f"What is {value} {source} in {target}?",
        )
    )
    return Scenario(
        "conversion_by_sum",
        [calculator],
        question,
        [
            act(calculator, {"expression": expression}),
            Say(f"{value} {source} are {w.number(compute(expression))} {target}."),
        ],
        no_tool_for=("*convert", "*calculate"),
    )
