"""Closed-form shapes in the OpenCV camera frame that tell where a ray meets them."""

from rayrelief.synthetic.shapes.algebraic import Revolution, Torus
from rayrelief.synthetic.shapes.base import Ball, Hits, Shape, Vector, dot, nearest
from rayrelief.synthetic.shapes.flat import Box, Plane, Steps, Tent
from rayrelief.synthetic.shapes.quadric import Ellipsoid, Sphere

__all__ = [
    "Ball",
    "Box",
    "Ellipsoid",
    "Hits",
    "Plane",
    "Revolution",
    "Shape",
    "Sphere",
    "Steps",
    "Tent",
    "Torus",
    "Vector",
    "dot",
    "nearest",
]
