"""Parts of a block: what moves as one."""

import numpy as np

from rayrelief.graph import pixel_graph
from rayrelief.large.equations import parts


def test_a_small_body_is_a_part_of_its_own_however_large_the_block():
    """One that hangs on tiny conductances, and would be the slowest mode of the sweeps."""
    graph = pixel_graph(np.ones((200, 200), bool))
    bodies = np.zeros((200, 200), np.int64)
    bodies[90:96, 120:126] = 1
    bodies[40:44, 40:44] = 2  # of too few pixels
    conductance = np.ones((2, 200, 200), np.float32)
    conductance[0, :, :-1][bodies[:, :-1] != bodies[:, 1:]] = 1e-5
    conductance[1, :-1][bodies[:-1] != bodies[1:]] = 1e-5
    labels, bending = parts(graph, conductance)
    np.testing.assert_array_equal(labels, bodies == 1)
    assert bending == 1
