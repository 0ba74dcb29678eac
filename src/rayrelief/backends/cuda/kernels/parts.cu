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
