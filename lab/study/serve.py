"""The same model file behind llama.cpp's own OpenAI-compatible server, for engines that want one.

    python3 tasks.py lab study.serve qwen2.5-coder-0.5b [--port 8080] [--adapter]

Prints its address, and serves until its standard input ends, which is at the latest when the process that started it
ends.
"""

from __future__ import annotations

import argparse
import sys

from treadle._local.runtime.runtime import add_adapter, library
from treadle._local.weights import weights
from treadle._local.weights.adapters import adapter_for, unpacked


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--n-ctx", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--adapter", action="store_true", help="with Treadle's adapter for tool use")
    options = parser.parse_args()
    adapter = adapter_for(options.model, True)
    if options.adapter and adapter is None:
        parser.error(f"there is no adapter for {options.model}")
    binding = library()  # also keeps idle threads from spinning, before the runtime is loaded
    params = binding.CommonParams()
    params.model.path = str(weights.ensure(options.model))
    params.port = options.port
    params.n_parallel, params.n_ctx = 1, options.n_ctx
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.use_jinja = True
    params.ui = False
    params.verbosity = -1
    if options.adapter:
        add_adapter(params, unpacked(adapter))
    server = binding.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
