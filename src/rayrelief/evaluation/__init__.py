"""Evaluation: alignment, metrics, formulation residuals."""
