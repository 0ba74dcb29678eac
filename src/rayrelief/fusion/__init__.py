"""Fusion of normals and known depths."""
