from .base import EdgeTerms as EdgeTerms
from .base import FixedWeights as FixedWeights
from .base import FusedLaw as FusedLaw
from .base import Law as Law
from .bilateral import Bilateral as Bilateral
from .ordered import OrderedHuber as OrderedHuber
from .ordered import Redescending as Redescending
from .sparse_jumps import SparseJumps as SparseJumps
