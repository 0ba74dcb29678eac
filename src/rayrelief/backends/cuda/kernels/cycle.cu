// Conjugate gradients in single precision for the correction d, preconditioned by a V-cycle:
// Chebyshev smoothing of degree PIXEL_STEPS on pixels, in shared memory, and of degree 2 below.
#define FAR (PIXEL_STEPS + 1)
#define CX (TILE_X + 2 * FAR)
#define CY (TILE_Y + 2 * FAR)

// r . z without the free constant, and the mean of z, of cycles of one parity.
DEVICE double product_rz(const Grid& g, int parity, double& mean) {
  double total[3];
  totals<3>(g, SUM_RZ + 3 * parity, g.parts, total);
  mean = total[2] / g.s->nodes;
  return total[0] - total[1] * mean;
}

DEVICE double ratio(double above, double below) { return below > 0. ? above / below : 0.; }

DEVICE float step_length(const Grid& g, int parity) {
  double mean, pq[1], rz = product_rz(g, parity, mean);
  totals<1>(g, SUM_PQ + parity, g.direction_parts, pq);
  return (float)ratio(rz, pq[0]);
}

// What flows out of a pixel in shared memory, for values v.
#define FLOW(v, s)                                                               \
  (R[s] * (v[s] - v[s + 1]) + R[s - 1] * (v[s] - v[s - 1]) + B[s] * (v[s] - v[s + CX]) + \
   B[s - CX] * (v[s] - v[s - CX]))
// Pixels of a block, and so many around it.
#define AT_MOST(around, s)                                                             \
  (s % CX >= FAR - (around) && s % CX < CX - FAR + (around) && s / CX >= FAR - (around) && \
   s / CX < CY - FAR + (around))

DEVICE void load_conductances(const Grid& g, Block block, float* R, float* B, float* inverse) {
  EACH(s, CX * CY) {
    i64 i = pixel_at(g, block.x + s % CX - FAR, block.y + s / CX - FAR);
    R[s] = i >= 0 ? g.right[i] : 0.f;
    B[s] = i >= 0 ? g.below[i] : 0.f;
  }
  SYNC();
  EACH(s, CX * CY) {
    // The first row and the first column have no neighbour here.
    i64 left = s % CX ? -1 : pixel_at(g, block.x - FAR - 1, block.y + s / CX - FAR);
    i64 above = s / CX ? -1 : pixel_at(g, block.x + s % CX - FAR, block.y - FAR - 1);
    float sum = R[s] + B[s] + (s % CX ? R[s - 1] : left >= 0 ? g.right[left] : 0.f) +
                (s / CX ? B[s - CX] : above >= 0 ? g.below[above] : 0.f);
    inverse[s] = sum > 1e-30f ? 1.f / sum : 0.f;
  }
}

// Residual after the last step, first smoothing, residual, restriction to the first level.
KERNEL(down, 256) {
  SHARED float R[CX * CY], B[CX * CY], inverse[CX * CY], r[CX * CY], d[2][CX * CY], z[CX * CY];
  if (g.s->done) return;
  float alpha = g.s->cycles > 0 ? step_length(g, 1 - a) : 0.f;
  Block block = block_of(g);
  double sums[1] = {0};
  load_conductances(g, block, R, B, inverse);
  EACH(s, CX * CY) {
    int x = block.x + s % CX - FAR, y = block.y + s / CX - FAR;
    i64 i = pixel_at(g, x, y);
    float v = 0.f;
    if (i >= 0) {
      v = g.r[a][i];
      if (alpha != 0.f) v -= alpha * g.q[i];
      if (AT_MOST(0, s) && x < g.width && y < g.height) {
        g.r[1 - a][i] = v;
        sums[0] += (double)v * v;
      }
    }
    r[s] = v;
    z[s] = d[0][s] = g.first * inverse[s] * v;
  }
  SYNC();
  UNROLL for (int k = 0; k < PIXEL_STEPS; k++) {
    float *old = d[k & 1], *next = d[1 - (k & 1)];
    EACH(s, CX * CY) if (AT_MOST(PIXEL_STEPS - k, s)) {
      r[s] -= FLOW(old, s);
      if (k + 1 < PIXEL_STEPS) {
        next[s] = g.turn[k] * old[s] + g.step[k] * inverse[s] * r[s];
        z[s] += next[s];
      }
    }
    SYNC();
  }
  // r is right one pixel around the block: what these interpolate from it they give back.
  float* given = d[0];
  EACH(s, CX * CY) if (AT_MOST(0, s)) {
    int x = block.x + s % CX - FAR, y = block.y + s / CX - FAR;
    given[s] = 0.f;
    if (x >= g.width || y >= g.height) continue;
    i64 i = (i64)y * g.width + x;
    g.z[i] = z[s];
    g.residual[i] = r[s];
    float sum = own_share(g.shares[i]) * r[s];
    const int step[4] = {1, -1, CX, -CX}, dx[4] = {1, -1, 0, 0}, dy[4] = {0, 0, 1, -1};
    UNROLL for (int k = 0; k < 4; k++) {
      i64 j = pixel_at(g, x + dx[k], y + dy[k]);
      if (j >= 0) sum += share_of(g.shares[j], k ^ 1) * r[s + step[k]];
    }
    given[s] = sum * (1.f / WHOLE);
  }
  SYNC();
  const Level& L = g.level[1];
  EACH(t, TILE_X / 3 * (TILE_Y / 3)) {
    int column = block.x / 3 + t % (TILE_X / 3), row = block.y / 3 + t / (TILE_X / 3);
    if (column >= L.columns || row >= L.rows) continue;
    int start = L.tile_start[row * L.columns + column];
    int nodes = L.tile_start[row * L.columns + column + 1] - start;
    for (int n = 0; n < nodes && start + n < L.room; n++) {
      float sum = 0.f;
      UNROLL for (int k = 0; k < 9; k++) {
        int x = 3 * column + k % 3, y = 3 * row + k / 3;
        bool mine = x < g.width && y < g.height && g.label[(i64)y * g.width + x] == n;
        sum += mine ? given[(y - block.y + FAR) * CX + x - block.x + FAR] : 0.f;
      }
      L.b[start + n] = sum;
      L.d[start + n] = g.first * L.inverse[start + n] * sum;
    }
  }
  SYNC();
  put_partial<1>(g, sums, SUM_RR);
}

// Interpolation from the first level, last smoothing.
KERNEL(up, 256) {
  SHARED float R[CX * CY], B[CX * CY], inverse[CX * CY], r[CX * CY], d[2][CX * CY], z[CX * CY];
  if (g.s->done) return;
  const Level& L = g.level[1];
  Block block = block_of(g);
  double sums[3] = {0, 0, 0};
  float* coarse = d[1];
  EACH(s, CX * CY) {
    int x = block.x + s % CX - FAR, y = block.y + s / CX - FAR;
    i64 i = pixel_at(g, x, y);
    float v = 0.f;
    if (i >= 0 && g.label[i] != NO_AGGREGATE) {
      int node = L.tile_start[y / 3 * L.columns + column_of(g, x) / 3] + g.label[i];
      if (node < L.room) v = L.x[node];
    }
    coarse[s] = v;
  }
  load_conductances(g, block, R, B, inverse);
  SYNC();
  EACH(s, CX * CY) {
    i64 i = pixel_at(g, block.x + s % CX - FAR, block.y + s / CX - FAR);
    float v = 0.f;
    if (i >= 0 && AT_MOST(FAR - 1, s)) {
      u32 shares = g.shares[i];
      v = (own_share(shares) * coarse[s] + share_of(shares, RIGHT) * coarse[s + 1] +
           share_of(shares, LEFT) * coarse[s - 1] + share_of(shares, BELOW) * coarse[s + CX] +
           share_of(shares, ABOVE) * coarse[s - CX]) *
          (1.f / WHOLE);
    }
    z[s] = d[0][s] = v;
    r[s] = i >= 0 ? g.residual[i] : 0.f;
  }
  SYNC();
  UNROLL for (int k = 0; k < PIXEL_STEPS; k++) {
    float *old = d[k & 1], *next = d[1 - (k & 1)];
    EACH(s, CX * CY) if (AT_MOST(PIXEL_STEPS - 1 - k, s)) {
      r[s] -= FLOW(old, s);
      float turned = k ? g.turn[k - 1] * old[s] : 0.f;
      next[s] = turned + (k ? g.step[k - 1] : g.first) * inverse[s] * r[s];
      z[s] += next[s];
    }
    SYNC();
  }
  EACH(t, TILE_X * TILE_Y) {
    int x = block.x + t % TILE_X, y = block.y + t / TILE_X;
    if (x >= g.width || y >= g.height) continue;
    i64 i = (i64)y * g.width + x;
    float v = g.z[i] + z[(t / TILE_X + FAR) * CX + t % TILE_X + FAR], rest = g.r[1 - a][i];
    g.z[i] = v;
    sums[0] += (double)v * rest;
    sums[1] += rest;
    sums[2] += v;
  }
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
    int x = (int)(i % g.width), y = (int)(i / g.width);
#define DIRECTION(j) (z[j] - shift + (begins ? 0.f : beta * old[j]))
    float p = DIRECTION(i), flow = 0.f;
    i64 j = pixel_at(g, x + 1, y);
    if (j >= 0 && g.right[i] > 0.f) flow += g.right[i] * (p - DIRECTION(j));
    j = pixel_at(g, x - 1, y);
    if (j >= 0 && g.right[j] > 0.f) flow += g.right[j] * (p - DIRECTION(j));
    j = i + g.width;
    if (y + 1 < g.height && g.below[i] > 0.f) flow += g.below[i] * (p - DIRECTION(j));
    j = i - g.width;
    if (y > 0 && g.below[j] > 0.f) flow += g.below[j] * (p - DIRECTION(j));
#undef DIRECTION
    g.d[i] = begins ? 0.f : g.d[i] + alpha * old[i];
    g.p[1 - a][i] = p;
    g.q[i] = flow;
    sums[0] += (double)p * flow;
  }
  put_partial<1>(g, sums, SUM_PQ + a);
}

// ---- levels below: functions of a row, for threads of a grid and of one block
DEVICE float row_flow(const Level& L, const float* v, int i) {
  float here = FRESH(&v[i]), sum = 0.f;
  int n = L.length[i];
  for (int k0 = 0; k0 < n; k0 += 8) {
    u32 column[8];
    float value[8], there[8];
    UNROLL for (int k = 0; k < 8; k++) {
      bool entry = k0 + k < n;
      i64 at = (i64)(k0 + k) * L.room + i;
      column[k] = entry ? L.column[at] & INDEX : i;
      value[k] = entry ? L.value[at] : 0.f;
    }
    UNROLL for (int k = 0; k < 8; k++) there[k] = FRESH(&v[column[k]]);
    UNROLL for (int k = 0; k < 8; k++) sum += value[k] * (here - there[k]);
  }
  return sum;
}

DEVICE void smooth_down(const Grid& g, const Level& L, int i) {
  float d = L.d[i], r = L.b[i] - row_flow(L, L.d, i);
  float next = g.turn[0] * d + g.step[0] * L.inverse[i] * r;
  L.r[i] = r;
  L.e[i] = next;
  L.x[i] = d + next;
}
DEVICE void residual_down(const Level& L, int i) { L.r[i] -= row_flow(L, L.e, i); }
DEVICE void restrict_to(const Grid& g, const Level& L, const Level& M, int node) {  // a warp
  i64 at = (i64)node * M.from_width;
  int n = M.from_length[node];
  float sum = 0.f;
  EACH_LANE(k, n) sum += M.from_share[at + k] * FRESH(&L.r[M.from[at + k]]);
  sum = warp_sum(sum);
  if (LANE == 0) {
    M.b[node] = sum;
    M.d[node] = g.first * M.inverse[node] * sum;
  }
}
DEVICE void interpolate_to(const Level& L, const Level& M, int i) {
  float e = 0.f;
  UNROLL for (int m = 0; m < INTERPOLATED; m++) {
    float share = L.share[(i64)m * L.room + i];
    e += share != 0.f ? share * FRESH(&M.x[L.to[(i64)m * L.room + i]]) : 0.f;
  }
  L.e[i] = e;
  L.x[i] += e;
}
DEVICE void smooth_up(const Grid& g, const Level& L, int i) {
  float r = L.r[i] - row_flow(L, L.e, i), d = g.first * L.inverse[i] * r;
  L.r[i] = r;
  L.d[i] = d;
  L.x[i] += d;
}
DEVICE void smooth_last(const Grid& g, const Level& L, int i) {
  float r = L.r[i] - row_flow(L, L.d, i);
  L.x[i] += g.turn[0] * L.d[i] + g.step[0] * L.inverse[i] * r;
}

#define ROWS_OF(name, step)                           \
  KERNEL(name, 128) {                                 \
    if (g.s->done) return;                            \
    const Level& L = g.level[a];                      \
    EVERYWHERE(i, *L.count) step;                     \
  }
ROWS_OF(level_down, smooth_down(g, L, (int)i))
ROWS_OF(level_residual, residual_down(L, (int)i))
ROWS_OF(level_interpolate, interpolate_to(L, g.level[a + 1], (int)i))
ROWS_OF(level_up, smooth_up(g, L, (int)i))
ROWS_OF(level_last, smooth_last(g, L, (int)i))
KERNEL(level_restrict, 128) {
  if (g.s->done) return;
  const Level& M = g.level[a + 1];
  for (int node = BLOCK * WARPS + WARP; node < *M.count; node += BLOCKS * WARPS)
    restrict_to(g, g.level[a], M, node);
}

// Whether the residual of `down` is small enough; if not, all levels from the tail on, by one block.
KERNEL(tail, 1024) {
  if (g.s->done) return;
  double rr[1];
  totals<1>(g, SUM_RR, g.parts, rr);
  bool done = !(rr[0] > g.s->limit);
  SYNC();
  if (THREAD == 0) {
    g.s->rr = rr[0];
    g.s->done = done;
    if (!done) g.s->cycles++;
  }
  if (done) return;
  int last = g.s->last;
  for (int l = g.tail; l < last; l++) {
    const Level &L = g.level[l], &M = g.level[l + 1];
    int n = *L.count;
    EACH(i, n) smooth_down(g, L, i);
    SYNC();
    EACH(i, n) residual_down(L, i);
    SYNC();
    for (int node = WARP; node < *M.count; node += WARPS) restrict_to(g, L, M, node);
    SYNC();
  }
  const Level& C = g.level[last];
  int n = *C.count;
  if (n <= DENSE && g.s->edges[last]) {
    for (int i = WARP; i < n; i += WARPS) {
      float sum = 0.f;
      EACH_LANE(k, n) sum += g.dense[i * n + k] * FRESH(&C.b[k]);
      sum = warp_sum(sum);
      if (LANE == 0) C.x[i] = sum;
    }
  } else {
    EACH(i, n) C.x[i] = C.d[i];
  }
  SYNC();
  for (int l = last - 1; l >= g.tail; l--) {
    const Level &L = g.level[l], &M = g.level[l + 1];
    int n = *L.count;
    EACH(i, n) interpolate_to(L, M, i);
    SYNC();
    EACH(i, n) smooth_up(g, L, i);
    SYNC();
    EACH(i, n) smooth_last(g, L, i);
    SYNC();
  }
}
