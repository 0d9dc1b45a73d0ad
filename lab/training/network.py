"""The base model with low-rank adapters on an accelerator: constrained decoding in batches."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import llguidance
import llguidance.numpy as masks
import numpy as np
import torch
import torch.nn.functional as functional
from torch import nn

from training import adapter_file
from training.adapter_file import AdapterFile
from training.asking import Job, Written, decides_next
from training.weights import DEVICE, PROJECTIONS, Weights

RANK, ALPHA = 16, 32
DECIDED_BY = 12
"""Tokens of a reply that can stand before its decision."""


class Adapter(nn.Module):
    """A projection with a low-rank addition that can be switched off."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(RANK, base.in_features, device=DEVICE) / math.sqrt(base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, RANK, device=DEVICE))
        self.on = True
        self.dropped = 0.0
        """Part of what it sees that is left out while it learns, so that it does not learn by heart."""
        self.merged: torch.Tensor | None = None
        """The weights with the addition, while nothing is learnt: a third of the work for each token."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.on and self.merged is not None:
            return functional.linear(x, self.merged, self.base.bias)
        plain = self.base(x)
        if not self.on:
            return plain
        x = functional.dropout(x, self.dropped, self.training)
        return plain + functional.linear(functional.linear(x, self.a.to(x.dtype)), self.b.to(x.dtype)) * (ALPHA / RANK)


class Network:
    def __init__(self, path: Path) -> None:
        self.weights = Weights(path)
        self.tokenizer, self.model = self.weights.tokenizer, self.weights.model
        self.end = self.tokenizer.token_to_id("<|im_end|>")
        self.vocabulary = int(self.model.config.vocab_size)
        self.adapters: dict[str, Adapter] = {}
        for index, layer in enumerate(self.model.model.layers):
            for short, long in PROJECTIONS.items():
                parent, name = long.split(".")
                module = getattr(layer, parent)
                adapter = Adapter(getattr(module, name))
                setattr(module, name, adapter)
                self.adapters[f"blk.{index}.{short}"] = adapter
        self._guide = llguidance.LLTokenizer(self.tokenizer.to_str(), n_vocab=self.vocabulary, eos_token=self.end)
        self._executor = llguidance.LLExecutor()
        self._bits = torch.arange(32, device=DEVICE, dtype=torch.int32)

    @property
    def parameters(self) -> list[nn.Parameter]:
        return [parameter for adapter in self.adapters.values() for parameter in (adapter.a, adapter.b)]

    def switch(self, on: bool) -> None:
        for adapter in self.adapters.values():
            adapter.on = on

    def reset(self, seed: int) -> None:
        """Untrained adapters, which change nothing."""
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        with torch.no_grad():
            for adapter in self.adapters.values():
                adapter.a.copy_(
                    torch.randn(adapter.a.shape, device=DEVICE, generator=generator) / math.sqrt(adapter.a.shape[1])
                )
                adapter.b.zero_()

    def merge(self, on: bool) -> None:
        """With `on`, what is learnt is added to copies of the weights: faster to decode, not to be trained."""
        with torch.no_grad():
            for adapter in self.adapters.values():
                change = adapter.b @ adapter.a * (ALPHA / RANK) if on else None
                weight = adapter.base.weight
                adapter.merged = None if change is None else (weight.float() + change).to(weight.dtype)

    def restore(self, path: Path, share: float = 1.0) -> None:
        """Adapters that `save` has written, or a mean of such, of any rank; of their change, `share`."""
        file = adapter_file.read(path)
        for key, adapter in self.adapters.items():
            a, b = (torch.from_numpy(part.astype(np.float32)) for part in file.parts(f"{key}.weight"))
            scale = share * file.alpha / len(a) * RANK / ALPHA
            adapter.a.data = a.to(DEVICE)
            adapter.b.data = (self.weights.rows_as_used(_projection(key), b) * scale).to(DEVICE)

    def encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def save(self, path: Path, name: str, notes: dict[str, str]) -> None:
        """The adapters in the form llama.cpp loads."""
        tensors: dict[str, Any] = {}
        for key, adapter in self.adapters.items():
            b = self.weights.rows_as_stored(_projection(key), adapter.b.detach())
            for part, tensor in (("a", adapter.a.detach()), ("b", b)):
                tensors[f"{key}.weight.lora_{part}"] = tensor.to(torch.float16).cpu().numpy()
        texts = adapter_file.described(self.weights.architecture, name, notes)
        adapter_file.write(path, AdapterFile(texts, float(ALPHA), tensors))

    def generate_in_parts(self, jobs: list[Job], limit: int) -> list[Written]:
        """The same in smaller batches where memory is short: a training beside it takes what it needs."""
        try:
            return self.generate(jobs, limit)
        except torch.OutOfMemoryError:
            if len(jobs) == 1:
                raise
        torch.cuda.empty_cache()
        half = len(jobs) // 2
        return self.generate_in_parts(jobs[:half], limit) + self.generate_in_parts(jobs[half:], limit)

    @torch.inference_mode()
    def generate(self, jobs: list[Job], limit: int) -> list[Written]:
        """Greedy, each under its grammar."""
        encoded = [self.encode(job.prompt) for job in jobs]
        count, width = len(encoded), max(map(len, encoded))
        ids = torch.full((count, width), self.end)
        attention = torch.zeros(count, width, dtype=torch.long)
        for index, tokens in enumerate(encoded):
            ids[index, width - len(tokens) :] = torch.tensor(tokens)
            attention[index, width - len(tokens) :] = 1
        ids, attention = ids.to(DEVICE), attention.to(DEVICE)
        positions = (attention.cumsum(1) - 1).clamp(min=0)
        matchers = [self._matcher(job.grammar) for job in jobs]
        options: list[dict[str, float]] = [{} for _ in jobs]
        output: list[list[int]] = [[] for _ in jobs]
        done = [False] * count
        least = [1.0] * count
        bits = masks.allocate_token_bitmask(count, self.vocabulary)
        state = self.model.model(input_ids=ids, attention_mask=attention, position_ids=positions, use_cache=True)
        last = positions[:, -1:]
        for _ in range(limit):
            logits = self.model.lm_head(state.last_hidden_state[:, -1]).float()
            self._read_options(jobs, output, logits, options)
            chosen, certain = self._choose(logits, matchers, done, bits)
            for index, (token, probability) in enumerate(zip(chosen.tolist(), certain.tolist(), strict=True)):
                if done[index]:
                    continue
                least[index] = min(least[index], probability)
                if token == self.end:
                    done[index] = True
                    continue
                output[index].append(token)
                matcher = matchers[index]
                if matcher is not None:
                    matcher.consume_token(token)
                    done[index] = matcher.is_stopped()
            if all(done):
                break
            attention = torch.cat([attention, torch.ones(count, 1, dtype=torch.long, device=DEVICE)], 1)
            last = last + 1
            state = self.model.model(
                input_ids=chosen[:, None],
                attention_mask=attention,
                position_ids=last,
                past_key_values=state.past_key_values,
                use_cache=True,
            )
        return [
            Written(self.tokenizer.decode(tokens, skip_special_tokens=False), end, wanted, round(probability, 3))
            for tokens, end, wanted, probability in zip(output, done, options, least, strict=True)
        ]

    def _read_options(
        self, jobs: list[Job], output: list[list[int]], logits: torch.Tensor, options: list[dict[str, float]]
    ) -> None:
        for index, (job, tokens) in enumerate(zip(jobs, output, strict=True)):
            if not job.decision_after or options[index] or len(tokens) >= DECIDED_BY:
                continue
            if decides_next(self.tokenizer.decode(tokens), job.decision_after):
                top = torch.softmax(logits[index], -1).topk(20)
                options[index] = {
                    self.tokenizer.decode([token]): round(probability, 4)
                    for token, probability in zip(top.indices.tolist(), top.values.tolist(), strict=True)
                }

    def _matcher(self, grammar: str | None) -> Any:
        if not grammar:
            return None
        matcher = llguidance.LLMatcher(self._guide, llguidance.LLMatcher.grammar_from_lark(grammar))
        if matcher.is_error():
            raise RuntimeError(f"the grammar was refused: {matcher.get_error()}")
        return matcher

    def _choose(
        self, logits: torch.Tensor, matchers: list[Any], done: list[bool], bits: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The most probable tokens that are permitted, and their probabilities among these."""
        live = [(matcher, index) for index, matcher in enumerate(matchers) if matcher is not None and not done[index]]
        if live:
            bits[:] = -1
            if len(live) > 1:
                masks.fill_next_token_bitmask_par(self._executor, live, bits)
            else:
                masks.fill_next_token_bitmask(live[0][0], bits, live[0][1])
            packed = torch.from_numpy(bits).to(DEVICE)
            allowed = ((packed.unsqueeze(-1) >> self._bits) & 1).bool().view(len(done), -1)[:, : self.vocabulary]
            logits = logits.masked_fill(~allowed, float("-inf"))
        best, chosen = logits.max(-1)
        return chosen, (best - logits.logsumexp(-1)).exp()


def _projection(key: str) -> str:
    """`attn_q` of `blk.3.attn_q`."""
    return key.rpartition(".")[2]
