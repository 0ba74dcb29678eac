"""rayrelief: depth and a 3D surface from a normal map and any camera."""

__version__ = "0.1.0"
