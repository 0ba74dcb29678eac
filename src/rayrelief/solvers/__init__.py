"""Linear solvers for weighted graph Laplacians, one per file behind one small protocol."""
