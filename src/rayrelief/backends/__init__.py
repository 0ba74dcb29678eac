"""Backends: who computes what a loop needs."""
