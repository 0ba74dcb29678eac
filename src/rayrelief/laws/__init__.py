"""Laws: how much an edge weighs and what it asks for; names are listed in ``__init__.pyi``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
