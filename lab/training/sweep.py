"""python -m training.sweep MODEL.gguf OUT --data CONVERSATIONS.jsonl.xz --held HELD.jsonl.xz --seconds 120
                         --recipes "rate=4e-4; rate=2e-4,dropout=0.1" [--begin ADAPTER.gguf]

One short training for each recipe, measured in worlds that nothing was learnt from (`training.held`), best last.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from training import held
from training.network import Network
from training.recipe import recipe_of
from training.sequences import TOKENS_A_BATCH, read_conversations, sequences
from training.train import Limits, faster, save, say, train


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--held", type=Path, required=True)
    parser.add_argument("--recipes", required=True, help="separated by semicolons, each as in training.train")
    parser.add_argument("--seconds", type=float, default=120, help="for each recipe")
    parser.add_argument("--batch", type=int, default=TOKENS_A_BATCH)
    parser.add_argument("--most", type=int, default=0, help="conversations of each file, at most")
    parser.add_argument("--begin", type=Path, help="an adapter to begin with; without: from nothing")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    network = Network(options.model)
    faster(network)
    data = sequences(network, read_conversations(options.data)[: options.most or None])
    judged = sequences(network, read_conversations(options.held)[: options.most or None])
    found: list[tuple[held.Held, str]] = []
    if options.begin:
        network.restore(options.begin)
        found.append((held.measured(network, judged), "what it begins with"))
        say(found[-1][1], found[-1][0])
    for place, text in enumerate(part.strip() for part in options.recipes.split(";")):
        path = options.out / f"recipe-{place + 1}.gguf"
        limits = Limits(options.seconds, batch=options.batch)
        train(network, data, recipe_of(text), limits, 1, path.with_suffix(".state"), options.begin)
        save(network, path, path.stem, 1)
        found.append((held.measured(network, judged), f"{path.stem} {text}"))
        say(found[-1][1], found[-1][0])
    for figures, name in sorted(found, key=lambda each: (each[0].right, -each[0].loss_of_calls)):
        say(name, figures)


if __name__ == "__main__":
    main()
