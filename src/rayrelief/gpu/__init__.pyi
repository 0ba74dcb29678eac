from .batch import BatchIntegrator as BatchIntegrator
from .integrator import Integrator as Integrator
from .integrator import Surface as Surface
