"""Where Treadle keeps what it remembers when it is not told."""

from treadle.types.paths import state_folder

__all__ = ["state_folder"]
