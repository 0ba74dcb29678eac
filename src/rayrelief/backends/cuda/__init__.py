"""CUDA: the loop on a GPU, resident from the equations to the surface."""
