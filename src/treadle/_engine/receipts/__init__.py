"""Receipts: what an answer says was done, held against the ledger of its run."""
