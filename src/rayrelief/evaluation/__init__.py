"""Evaluation: alignment and metrics."""
