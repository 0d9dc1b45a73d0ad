# pyright: basic
"""An agent as a solver of Inspect (`pip install "treadle[inspect]"`)."""

from treadle._interop.inspect import solver as solver

__all__ = ["solver"]
