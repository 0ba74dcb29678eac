// Parts of the surface that fitting edges join, and the edges that leave them. A part is known by
// its first pixel; those that may move also by their rank, larger ones first.
DEVICE double residual_of(const Grid& g, i64 i, i64 there, int d) {
  return (g.x[i] - g.x[there] - (double)g.offset[d][i]) * g.gamma[d][i];
}

KERNEL(parts_begin, 256) {
  EVERYWHERE(i, pixels(g)) {
    g.part_of[i] = g.component[i] >= 0 ? (int)i : -1;
    g.part_size[i] = 0;
  }
  if (BLOCK == 0 && THREAD == 0) {
    g.s->moves = g.s->listed = g.s->turn[0] = g.s->turn[1] = 0;
    for (int size = 0; size < 4; size++) g.s->sized[size] = 0;
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

// How many parts there are of 1, 2 and 3 pixels, and of more.
KERNEL(parts_count, 256) {
  EVERYWHERE(i, pixels(g)) {
    int size = g.part_size[i];
    if (size > 0) add_to(&g.s->sized[size < 4 ? size - 1 : 3], 1);
  }
}

// Parts that are large enough for all of their size to have room, in any order; the others have the
// size 0 from now on.
KERNEL(parts_list, 256) {
  i64 room = pixels(g) / g.evidence.pixels_per_part;
  if (room > g.evidence.most) room = g.evidence.most;
  int smallest = 4, count = g.s->sized[3];
  while (smallest > 1 && count + g.s->sized[smallest - 2] <= room) count += g.s->sized[--smallest - 1];
  EVERYWHERE(i, pixels(g)) if (g.part_size[i] > 0) {
    int size = g.part_size[i];
    if (size < smallest) {
      g.part_size[i] = 0;
      continue;
    }
    int at = take_one(&g.s->listed);
    g.listed[at] = (u64)size << 32 | (u64)(0xffffffffu - (u32)i);  // of two alike, the first
  }
}

// Rank of each part; its first pixel has it plus one, in place of the size.
KERNEL(parts_rank, 256) {
  int count = g.s->listed;
  EVERYWHERE(k, count) {
    u64 own = g.listed[k];
    int rank = 0;
    for (int other = 0; other < count; other++) rank += g.listed[other] > own;
    g.part_size[0xffffffffu - (u32)own] = rank + 1;
    g.border_count[rank] = g.border_start[rank] = g.turns[rank] = g.moved[rank] = 0;
    g.part_shift[rank] = 0.;
  }
}

// Rank of the part of a pixel, -1 if that is too small to be moved.
DEVICE int rank_at(const Grid& g, i64 i) { return g.part_size[g.part_of[i]] - 1; }

// Every edge that leaves a part which is moved, from a pixel on either side.
template <class Visit> DEVICE void visit_borders(const Grid& g, i64 i) {
  int x = x_of(g, i), y = y_of(g, i);
  UNROLL for (int d = 0; d < DIRECTIONS; d += 2) {
    if (g.gamma[d][i] == 0.f) continue;
    i64 there = neighbour_of(g, x, y, d);
    if (g.part_of[i] == g.part_of[there]) continue;
    int ranks[2] = {rank_at(g, i), rank_at(g, there)};
    UNROLL for (int k = 0; k < 2; k++)
      if (ranks[k] > 0) Visit::edge(g, ranks[k], i, d);
  }
}

#define STAYS (1 << 30)
struct Counted {
  static DEVICE_MEMBER void edge(const Grid& g, int rank, i64, int) { add_to(&g.border_count[rank], 1); }
};
struct Listed {
  static DEVICE_MEMBER void edge(const Grid& g, int rank, i64 i, int d) {
    if (g.moved[rank] == STAYS) return;
    g.border[g.border_start[rank] + take_one(&g.border_count[rank])] = (u32)(i * PAIRS + d / 2);
  }
};

// The largest part stays where it is, and so do those that are held: they need no border.
KERNEL(borders_count, 256) {
  EVERYWHERE(i, pixels(g)) if (g.component[i] >= 0) {
#if ANCHORED
    if (g.anchor[i] > 0.f && rank_at(g, i) >= 0) g.moved[rank_at(g, i)] = STAYS;
#endif
    visit_borders<Counted>(g, i);
  }
}

// Where the border of each part begins; those for which there is no room stay.
KERNEL(borders_start, 1024) {
  int count = g.s->listed, run = 0;
  for (int first = 0; first < count; first += THREADS) {
    int rank = first + THREAD, sum;
    int own = rank < count ? g.border_count[rank] : 0, before = block_scan(own, sum);
    if (rank < count) {
      bool fits = run + before + own <= g.border_room;
      if (!fits || rank == 0) g.moved[rank] = STAYS;
      g.border_start[rank] = run + before;
      g.border_count[rank] = 0;
    }
    run += sum;
  }
}
KERNEL(borders_fill, 256) {
  EVERYWHERE(i, pixels(g)) if (g.component[i] >= 0) visit_borders<Listed>(g, i);
}

// Sorts in place by comparing pairs, those of a round all at once; what is beyond counts as large.
template <class T> DEVICE void sort_block(T* values, int n) {
  for (int run = 2; run < 2 * n; run *= 2)
    for (int apart = run / 2; apart > 0; apart /= 2) {
      SYNC();
      EACH(k, (n + 2 * apart - 1) / (2 * apart) * apart) {
        int low = k / apart * 2 * apart + k % apart;
        // The first round of a run compares its halves from both ends.
        int high = apart == run / 2 ? low + run - 1 - 2 * (k % apart) : low + apart;
        if (high >= n || low >= n) continue;
        T left = values[low], right = values[high];
        if (right < left) {
          values[low] = right;
          values[high] = left;
        }
      }
    }
  SYNC();
}

// In the order of the image: sums must not depend on which thread was first.
KERNEL(borders_sort, 256) {
  for (int rank = BLOCK + 1; rank < g.s->listed; rank += BLOCKS)
    if (g.moved[rank] != STAYS) sort_block(g.border + g.border_start[rank], g.border_count[rank]);
}

KERNEL(parts_shift, 256) {
  EVERYWHERE(i, pixels(g)) if (g.component[i] >= 0) {
    int rank = rank_at(g, i);
    if (rank > 0) g.x[i] += g.part_shift[rank];
  }
}
