"""Formulations: what two neighbouring normals say about the difference of two depths."""
