"""Proof-carrying answers: which record each sentence and number of an answer came from."""
