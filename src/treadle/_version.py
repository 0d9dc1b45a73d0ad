"""The version of the package, in a module that imports nothing: every layer may name it."""

__version__ = "0.2.0"
