from .base import Backend as Backend
from .base import Computation as Computation
from .base import Final as Final
from .cpu import CPU as CPU
from .cuda.backend import CUDA as CUDA
