"""Where code that a model wrote may run. `monty` is the default, `bwrap` has all of CPython; neither has a network."""
