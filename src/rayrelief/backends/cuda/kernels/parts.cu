// Parts of the surface that fitting edges join; each is known by its first pixel, which has its size.
DEVICE double residual_of(const Grid& g, i64 i, i64 there, int d) {
  return (g.x[i] - g.x[there] - (double)g.offset[d][i]) * g.gamma[d][i];
}

KERNEL(parts_begin, 256) {
  EVERYWHERE(i, pixels(g)) {
    g.part_of[i] = g.component[i] >= 0 ? (int)i : -1;
    g.part_size[i] = 0;
  }
}

// Ridges join however wide they are: a body bends there, and hides nothing but itself.
KERNEL(parts_join, 256) {
  EVERYWHERE(i, pixels(g)) {
    int x = x_of(g, i), y = y_of(g, i);
    UNROLL for (int d = 0; d < DIRECTIONS; d += 2) {
      if (g.gamma[d][i] == 0.f) continue;
      i64 there = neighbour_of(g, x, y, d);
      bool near = fabs(residual_of(g, i, there, d)) < (double)g.deviations * g.sigma[d / 2][i];
      if (near && g.half_width[d / 2][i] < g.widest) join(g.part_of, (int)i, (int)there);
    }
  }
}
KERNEL(parts_label, 256) {
  EVERYWHERE(i, pixels(g)) if (g.part_of[i] >= 0) {
    int root = root_of(g.part_of, (int)i);
    g.part_of[i] = root;
    count_one(g.part_size, root);
  }
}

KERNEL(parts_leave, 256) {
  EVERYWHERE(i, pixels(g)) {
    int x = x_of(g, i), y = y_of(g, i), here = g.part_of[i];
    UNROLL for (int d = 0; d < DIRECTIONS; d += 2) {
      bool leaves = false;
      if (here >= 0 && g.gamma[d][i] != 0.f) {
        int there = g.part_of[neighbour_of(g, x, y, d)];
        leaves = here != there && (g.part_number[here] >= 0 || g.part_number[there] >= 0);
      }
      g.leaves[d / 2 * pixels(g) + i] = leaves;
    }
  }
}

DEVICE int number_of(const Grid& g, i64 i) {
  int number = g.part_number[g.part_of[i]];
  return number < 0 ? -1 - number : number;
}
KERNEL(parts_edges, 256) {  // the a edges of the list
  EVERYWHERE(k, a) {
    int pair = (int)(g.crossing[k] / pixels(g));
    i64 i = g.crossing[k] % pixels(g);
    i64 there = neighbour_of(g, x_of(g, i), y_of(g, i), 2 * pair);
    BorderEdge& edge = g.border[k];
    edge.residual = residual_of(g, i, there, 2 * pair);
    edge.here = number_of(g, i);
    edge.there = number_of(g, there);
    edge.focal = g.gamma[2 * pair][i];
    edge.half_width = g.half_width[pair][i];
    edge.sigma = g.sigma[pair][i];
    edge.lead = g.lead[pair][i];
  }
}
