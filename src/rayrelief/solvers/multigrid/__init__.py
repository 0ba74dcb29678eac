"""Multigrid: conjugate gradients preconditioned by smoothed aggregation, linear in the pixels."""

from rayrelief.solvers.multigrid.solver import Multigrid

__all__ = ["Multigrid"]
