"""Where Treadle keeps what it remembers when it is not told."""

from treadle._types.paths import state_folder

__all__ = ["state_folder"]
