"""rayrelief: depth and a 3D surface from a normal map and any camera.

The public names are listed once, in ``__init__.pyi``, for type checkers and for the interpreter
alike. They load at first use: importing the package imports nothing heavy.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
