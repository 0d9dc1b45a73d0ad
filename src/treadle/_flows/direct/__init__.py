"""Tools called without a model: by a program, or by a person."""
