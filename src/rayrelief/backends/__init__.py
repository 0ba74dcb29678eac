"""Backends: who computes what a loop needs. The public names are listed in ``__init__.pyi``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
