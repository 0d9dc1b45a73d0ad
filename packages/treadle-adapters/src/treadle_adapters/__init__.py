"""Holds the adapters for Treadle's local models as data files. There is no code to call."""
