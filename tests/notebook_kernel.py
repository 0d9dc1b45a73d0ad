"""A real notebook kernel: the program that runs a notebook's cells, asked as a notebook asks it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from waiting import GUARD_SECONDS


class Shown(NamedTuple):
    """What a cell showed."""

    text: str
    """What it printed and what it wrote to stderr, warnings included."""
    result: Mapping[str, str]
    """Its last value, by MIME type."""
    error: str


class Kernel:
    def __init__(self, client: Any) -> None:
        self._client = client

    def run(self, cell: str) -> Shown:
        texts: list[str] = []
        values: dict[str, str] = {}
        errors: list[str] = []

        def take(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "stream":
                texts.append(content["text"])
            elif message["msg_type"] in ("execute_result", "display_data"):
                values.update(content["data"])
            elif message["msg_type"] == "error":
                errors.append(f"{content['ename']}: {content['evalue']}")

        self._client.execute_interactive(cell, timeout=GUARD_SECONDS, output_hook=take)
        return Shown("".join(texts), values, "".join(errors))


@contextmanager
def kernel(folder: Path, **variables: str) -> Iterator[Kernel]:
    """A kernel with this interpreter, started in a folder; it ends with the block.

    What it says outside of cells is in `stderr.txt`.
    """
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import KernelManager

    class Own(KernelManager):
        """Without a kernel that is installed somewhere in the user's home."""

        @property
        def kernel_spec(self) -> KernelSpec:
            command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=command, display_name="Python", language="python")

    manager = Own()
    env = {**os.environ, "HOME": str(folder), "IPYTHONDIR": str(folder / ".ipython"), **variables}
    with (folder / "stderr.txt").open("w") as stderr:
        manager.start_kernel(cwd=str(folder), env=env, stderr=stderr)
        client = manager.client()
        try:
            client.start_channels()
            client.wait_for_ready(timeout=GUARD_SECONDS)
            yield Kernel(client)
        finally:
            manager.shutdown_kernel()  # it is asked to end, as by a notebook that is closed
            client.stop_channels()
            manager.cleanup_resources()
