"""Meshes: what they are, and what can be done to any of them."""

from rayrelief.mesh.base import Mesh

__all__ = ["Mesh"]
