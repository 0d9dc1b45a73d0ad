"""python -m training.check MODEL.gguf [--adapter ADAPTER.gguf]

Whether the network that is trained is the model that is run: the same tokens as llama.cpp, and about the same
probabilities of the next one, without an adapter and with one. Without `--adapter`, one of random numbers is tried.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from training.network import Network
from training.render import plain_prompt
from treadle._local.dialects.compact import ADAPTER_FORMAT
from treadle._local.runtime.runtime import InProcess, Options

TOP = 20
ALLOWED = 0.15
"""Greatest difference between two probabilities. llama.cpp rounds activations to 8 bits."""
TEXTS = (
    plain_prompt("What is the capital of Iceland?"),
    plain_prompt("Wie heißt die Hauptstadt von Island? Ça coûte 1234,56 €, isn't it?\n\n  x = [1, 22, 333]"),
    plain_prompt("Write one line of Python that prints the numbers 10 to 19.") + "```python\nfor",
    '<|im_start|>user\nPrice of LB-0042 in 2026-03-14?<|im_end|>\n<|im_start|>assistant\n{"action": "',
)


def ours(network: Network, text: str) -> tuple[list[int], dict[int, float]]:
    ids = network.encode(text)
    with torch.inference_mode():
        hidden = network.model.model(input_ids=torch.tensor([ids], device=network.model.device)).last_hidden_state
        probabilities = torch.softmax(network.model.lm_head(hidden[:, -1]).float(), -1)[0]
    top = probabilities.topk(TOP)
    return ids, dict(zip(top.indices.tolist(), top.values.tolist(), strict=True))


def theirs(runtime: InProcess, text: str, strength: float) -> tuple[list[int], dict[int, float]]:
    body = {"content": text, "add_special": False, "parse_special": True}
    ids = runtime._post("/tokenize", json.dumps(body).encode())["tokens"]
    asked: dict[str, Any] = {"prompt": ids, "max_tokens": 1, "n_probs": TOP, "temperature": 0, "cache_prompt": False}
    asked["lora"] = [{"id": 0, "scale": strength}]
    answer: list[dict[str, Any]] = []
    runtime.complete(json.dumps(asked).encode(), lambda chunk: bool(answer.append(json.loads(chunk))))
    found = answer[0]["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    return ids, {entry["id"]: math.exp(entry["logprob"]) for entry in found}


def differences(network: Network, runtime: InProcess, on: bool) -> list[str]:
    problems: list[str] = []
    network.switch(on)
    for text in TEXTS:
        (ids, mine), (tokens, other) = ours(network, text), theirs(runtime, text, float(on))
        if ids != tokens:
            problems.append(f"other tokens for {text[-60:]!r}: {ids} and {tokens}")
            continue
        worst = max(abs(mine.get(token, 0) - other.get(token, 0)) for token in {*mine, *other})
        best = [max(side, key=lambda token: side[token]) for side in (mine, other)]
        words = [network.tokenizer.decode([token]) for token in best]
        print(f"adapter {'on' if on else 'off'}: {len(ids)} tokens, next {words}, differ by {worst:.4f}", flush=True)
        if worst > ALLOWED:
            problems.append(f"probabilities differ by {worst:.3f} after {text[-60:]!r}")
    return problems


def random_adapter(network: Network, path: Path) -> None:
    """Strong enough to change what comes next, weak enough to leave a language model."""
    network.reset(1)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for adapter in network.adapters.values():
            adapter.b.copy_(torch.randn(adapter.b.shape, generator=generator) * 0.02)
    network.save(path, "noise", {"format": ADAPTER_FORMAT})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--adapter", type=Path)
    options = parser.parse_args()
    network = Network(options.model)
    with tempfile.TemporaryDirectory() as folder:
        path = options.adapter or Path(folder) / "noise.gguf"
        if options.adapter is None:
            random_adapter(network, path)
        network.restore(path)  # from the file, so that reading and writing are part of it
        runtime = InProcess(Options(str(options.model), n_ctx=1024, threads=2, slots=1, batch=None, adapter=str(path)))
        problems = [problem for on in (False, True) for problem in differences(network, runtime, on)]
        network.merge(True)
        problems += differences(network, runtime, True)
        runtime.close()
    print("\n".join(problems) or "the same model")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
