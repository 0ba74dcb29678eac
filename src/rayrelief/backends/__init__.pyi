from .base import Backend as Backend
from .base import Computation as Computation
from .cpu import CPU as CPU
