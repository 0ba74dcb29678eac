"""Cameras: which ray belongs to which pixel."""
