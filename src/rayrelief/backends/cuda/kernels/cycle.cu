// Conjugate gradients in single precision for the correction d, preconditioned by a V-cycle:
// Chebyshev smoothing of degree PIXEL_STEPS on pixels, and of degree 2 below.
//
// On pixels a block has a tile and PIXEL_STEPS + 1 pixels around it. Each thread keeps HELD pixels
// of a column in registers; shared memory tells it what its neighbours hold. With every step one
// more ring around the tile is wrong: the last one is right in the tile. Where pixels are anchored,
// no constant is free: none is taken off.
#define FAR (PIXEL_STEPS + 1)
#define ACROSS (TILE_X + 2 * FAR > 32 ? 64 : 32)
#define TILE_THREADS (8 * ACROSS)
#define HELD ((TILE_Y + 2 * FAR) / 8)
#define PAD (ACROSS + DIRECTIONS / 8)  // before the first cell: the place of its last neighbour
#define CELLS (TILE_THREADS * HELD + 2 * PAD)

// r . z without the free constant, and the mean of z, of cycles of one parity.
DEVICE double product_rz(const Grid& g, int parity, double& mean) {
  double total[3];
  totals<3>(g, SUM_RZ + 3 * parity, g.parts, total);
  mean = ANCHORED ? 0. : total[2] / g.s->nodes;
  return total[0] - total[1] * mean;
}

DEVICE double ratio(double above, double below) { return below > 0. ? above / below : 0.; }

DEVICE float step_length(const Grid& g, int parity) {
  double mean, pq[1], rz = product_rz(g, parity, mean);
  totals<1>(g, SUM_PQ + parity, g.direction_parts, pq);
  return (float)ratio(rz, pq[0]);
}

struct Held {
  float r[HELD], z[HELD], d[HELD], right[HELD], left[HELD], below[HELD], above, inverse[HELD];
#if DIRECTIONS == 8
  float diagonal[4][HELD];
#endif
#if ANCHORED
  float anchor[HELD];
#endif
};

// Pixel k of a thread: its place in shared memory, and in the image.
#define CELL(k) (PAD + (thread / ACROSS * HELD + (k)) * ACROSS + thread % ACROSS)
#define PIXEL_X (block.x + thread % ACROSS - FAR)
#define PIXEL_Y(k) (block.y + thread / ACROSS * HELD + (k) - FAR)

DEVICE bool in_tile(const Grid& g, Block block, int x, int y) {
  bool within = x >= block.x && x < block.x + TILE_X && y >= block.y && y < block.y + TILE_Y;
  return within && x < g.width && y < g.height;
}

DEVICE void hold_conductances(const Grid& g, Held& held, Block block, int thread) {
  i64 i = pixel_at(g, PIXEL_X, PIXEL_Y(-1));
  held.above = i >= 0 ? g.c[1][i] : 0.f;
  UNROLL for (int k = 0; k < HELD; k++) {
    i = pixel_at(g, PIXEL_X, PIXEL_Y(k));
    i64 left = pixel_at(g, PIXEL_X - 1, PIXEL_Y(k));
    held.right[k] = i >= 0 ? g.c[0][i] : 0.f;
    held.left[k] = left >= 0 ? g.c[0][left] : 0.f;
    held.below[k] = i >= 0 ? g.c[1][i] : 0.f;
    float sum = held.right[k] + held.left[k] + held.below[k] + (k ? held.below[k - 1] : held.above);
#if DIRECTIONS == 8
    UNROLL for (int d = 4; d < 8; d++) {
      i64 j = i >= 0 ? neighbour_of(g, PIXEL_X, PIXEL_Y(k), d) : -1;
      sum += held.diagonal[d - 4][k] = conductance(g, i, j, d);
    }
#endif
#if ANCHORED
    sum += held.anchor[k] = i >= 0 ? g.anchor[i] : 0.f;
#endif
    held.inverse[k] = sum > 1e-30f ? 1.f / sum : 0.f;
  }
}

// Residual after a step d, which shared memory holds too.
DEVICE void subtract_flow(Held& held, const float* d, int thread) {
  UNROLL for (int k = 0; k < HELD; k++) {
    float here = held.d[k];
    float up = k ? held.d[k - 1] : d[CELL(0) - ACROSS];
    float down = k + 1 < HELD ? held.d[k + 1] : d[CELL(k) + ACROSS];
    held.r[k] -= held.right[k] * (here - d[CELL(k) + 1]) + held.left[k] * (here - d[CELL(k) - 1]) +
                 held.below[k] * (here - down) + (k ? held.below[k - 1] : held.above) * (here - up);
#if DIRECTIONS == 8
    UNROLL for (int e = 4; e < 8; e++)
      held.r[k] -= held.diagonal[e - 4][k] * (here - d[CELL(k) + STEP(e, ACROSS)]);
#endif
#if ANCHORED
    held.r[k] -= held.anchor[k] * here;
#endif
  }
}

// A step of smoothing: the residual after the one before, and the next, also for the neighbours.
DEVICE void smooth(Held& held, const float* d, float* next, float turn, float step, int thread) {
  subtract_flow(held, d, thread);
  UNROLL for (int k = 0; k < HELD; k++) {
    held.d[k] = turn * held.d[k] + step * held.inverse[k] * held.r[k];
    held.z[k] += held.d[k];
    next[CELL(k)] = held.d[k];
  }
}

// Residual after the last step, first smoothing, residual, restriction to the first level.
KERNEL(down, TILE_THREADS) {
  SHARED float shared[2][CELLS];
  KEPT(Held, held, TILE_THREADS);
  if (g.s->done) return;
  float alpha = g.s->cycles > 0 ? step_length(g, 1 - a) : 0.f;
  Block block = block_of(g);
  double sums[1] = {0};
  PHASE(Held, held, TILE_THREADS)
    hold_conductances(g, held, block, thread);
    UNROLL for (int k = 0; k < HELD; k++) {
      i64 i = pixel_at(g, PIXEL_X, PIXEL_Y(k));
      float v = 0.f;
      if (i >= 0) {
        v = g.r[a][i];
        if (alpha != 0.f) v -= alpha * g.q[i];
        if (in_tile(g, block, PIXEL_X, PIXEL_Y(k))) {
          g.r[1 - a][i] = v;
#if ANCHORED
          float share = resisted(held.anchor[k], held.inverse[k]);
#else
          float share = 1.f;
#endif
          sums[0] += (double)(share * v) * (share * v);
        }
      }
      held.r[k] = v;
      held.z[k] = held.d[k] = shared[0][CELL(k)] = g.first * held.inverse[k] * v;
    }
  END_PHASE
  UNROLL for (int n = 0; n + 1 < PIXEL_STEPS; n++) {
    PHASE(Held, held, TILE_THREADS)
      smooth(held, shared[n & 1], shared[1 - (n & 1)], g.turn[n], g.step[n], thread);
    END_PHASE
  }
  float *r = shared[PIXEL_STEPS & 1], *given = shared[1 - (PIXEL_STEPS & 1)];
  PHASE(Held, held, TILE_THREADS)
    subtract_flow(held, given, thread);
    UNROLL for (int k = 0; k < HELD; k++) r[CELL(k)] = held.r[k];
  END_PHASE
  // The residual is right one pixel around the tile: what these interpolate from it they give back.
  PHASE(Held, held, TILE_THREADS)
    UNROLL for (int k = 0; k < HELD; k++) {
      int x = PIXEL_X, y = PIXEL_Y(k), s = CELL(k);
      if (!in_tile(g, block, x, y)) continue;
      i64 i = (i64)y * g.width + x;
      g.z[i] = held.z[k];
      g.residual[i] = r[s];
      float sum = own_share(g.shares[i]) * r[s];
      UNROLL for (int d = 0; d < DIRECTIONS; d++) {
        i64 j = neighbour_of(g, x, y, d);
        if (j >= 0) sum += share_of(g.shares[j], d ^ 1) * r[s + STEP(d, ACROSS)];
      }
      given[s] = sum * (1.f / WHOLE);
    }
  END_PHASE
  const Level& L = g.level[1];
  EACH(t, TILE_X / 3 * (TILE_Y / 3)) {
    int column = block.x / 3 + t % (TILE_X / 3), row = block.y / 3 + t / (TILE_X / 3);
    if (column >= L.columns || row >= L.rows) continue;
    int start = L.tile_start[row * L.columns + column];
    int nodes = L.tile_start[row * L.columns + column + 1] - start;
    u8 label[9];
    float part[9];
    UNROLL for (int k = 0; k < 9; k++) {
      int x = 3 * column + k % 3, y = 3 * row + k / 3;
      bool within = x < g.width && y < g.height;
      label[k] = within ? g.label[(i64)y * g.width + x] : NO_AGGREGATE;
      part[k] = within ? given[PAD + (y - block.y + FAR) * ACROSS + x - block.x + FAR] : 0.f;
    }
    for (int n = 0; n < nodes && start + n < L.room; n++) {
      float sum = 0.f;
      UNROLL for (int k = 0; k < 9; k++) sum += label[k] == n ? part[k] : 0.f;
      L.b[start + n] = sum;
      L.d[start + n] = g.first * L.inverse[start + n] * sum;
    }
  }
  put_partial<1>(g, sums, SUM_RR);
}

// Interpolation from the first level, last smoothing.
KERNEL(up, TILE_THREADS) {
  SHARED float shared[2][CELLS];
  KEPT(Held, held, TILE_THREADS);
  if (g.s->done) return;
  const Level& L = g.level[1];
  Block block = block_of(g);
  double sums[3] = {0, 0, 0};
  PHASE(Held, held, TILE_THREADS)
    UNROLL for (int k = 0; k < HELD; k++) {
      int x = PIXEL_X, y = PIXEL_Y(k);
      i64 i = pixel_at(g, x, y);
      float v = 0.f;
      if (i >= 0 && g.label[i] != NO_AGGREGATE) {
        int node = L.tile_start[y / 3 * L.columns + column_of(g, x) / 3] + g.label[i];
        if (node < L.room) v = L.x[node];
      }
      shared[1][CELL(k)] = v;
    }
    hold_conductances(g, held, block, thread);
  END_PHASE
  PHASE(Held, held, TILE_THREADS)
    UNROLL for (int k = 0; k < HELD; k++) {
      i64 i = pixel_at(g, PIXEL_X, PIXEL_Y(k));
      const float* v = shared[1] + CELL(k);
      Shares shares = i >= 0 ? g.shares[i] : 0;
      float e = own_share(shares) * v[0];
      UNROLL for (int d = 0; d < DIRECTIONS; d++) e += share_of(shares, d) * v[STEP(d, ACROSS)];
      e *= 1.f / WHOLE;
      held.z[k] = held.d[k] = shared[0][CELL(k)] = e;
      held.r[k] = i >= 0 ? g.residual[i] : 0.f;
    }
  END_PHASE
  UNROLL for (int n = 0; n < PIXEL_STEPS; n++) {
    float turn = n ? g.turn[n - 1] : 0.f, step = n ? g.step[n - 1] : g.first;
    PHASE(Held, held, TILE_THREADS)
      smooth(held, shared[n & 1], shared[1 - (n & 1)], turn, step, thread);
    END_PHASE
  }
  PHASE(Held, held, TILE_THREADS)
    UNROLL for (int k = 0; k < HELD; k++) {
      if (!in_tile(g, block, PIXEL_X, PIXEL_Y(k))) continue;
      i64 i = (i64)PIXEL_Y(k) * g.width + PIXEL_X;
      float v = g.z[i] + held.z[k], rest = g.r[1 - a][i];
      g.z[i] = v;
      sums[0] += (double)v * rest;
      sums[1] += rest;
      sums[2] += v;
    }
  END_PHASE
  put_partial<3>(g, sums, SUM_RZ + 3 * a);
}

// Next direction and what flows along it; the last step is made on the way.
KERNEL(turn, 256) {
  if (g.s->done) return;
  double mean, before, pq[1], sums[1] = {0}, rz = product_rz(g, a, mean);
  float alpha = 0.f, beta = 0.f;
  bool begins = g.s->cycles <= 1;  // this one counts already
  if (!begins) {
    double old = product_rz(g, 1 - a, before);
    totals<1>(g, SUM_PQ + 1 - a, g.direction_parts, pq);
    alpha = (float)ratio(old, pq[0]);
    beta = (float)ratio(rz, old);
  }
  const float *z = g.z, *old = g.p[a], shift = (float)mean;
  EVERYWHERE(i, pixels(g)) {
    int x = x_of(g, i), y = y_of(g, i);
#define DIRECTION(j) (z[j] - shift + (begins ? 0.f : beta * old[j]))
    // Everything is fetched at once; what is not there has no conductance.
    float c[DIRECTIONS], there[DIRECTIONS], p = DIRECTION(i), flow = 0.f;
    UNROLL for (int d = 0; d < DIRECTIONS; d++) {
      i64 j = neighbour_of(g, x, y, d);
      c[d] = conductance(g, i, j, d);
      there[d] = DIRECTION(j >= 0 ? j : i);
    }
    UNROLL for (int d = 0; d < DIRECTIONS; d++) flow += c[d] * (p - there[d]);
#if ANCHORED
    flow += g.anchor[i] * p;
#endif
#undef DIRECTION
    g.d[i] = begins ? 0.f : g.d[i] + alpha * old[i];
    g.p[1 - a][i] = p;
    g.q[i] = flow;
    sums[0] += (double)p * flow;
  }
  put_partial<1>(g, sums, SUM_PQ + a);
}
