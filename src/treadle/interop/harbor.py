"""An agent for Harbor (`pip install "treadle[harbor]"`)."""

from treadle._interop.harbor import HarborAgent as HarborAgent

__all__ = ["HarborAgent"]
