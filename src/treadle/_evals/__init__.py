"""Evaluation of models and settings: task files, checks, runs, reports."""
