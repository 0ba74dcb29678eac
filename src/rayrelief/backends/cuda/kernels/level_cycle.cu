// The cycle below the pixels: functions of a row, for threads of a grid and of one block.
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
#if ANCHORED
  sum += L.anchor[i] * here;
#endif
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
// Restriction to nodes first, first + stride ..., a group of lanes each; all lanes of a warp call it.
DEVICE void restrict_to(const Grid& g, const Level& L, const Level& M, int first, int stride) {
  int count = *M.count, lane = LANE % GROUP;
  for (int node0 = first; node0 < count; node0 += stride) {
    int node = node0 + LANE / GROUP;
    float sum = 0.f;
    if (node < count) {
      i64 at = (i64)node * M.from_width;
      int n = M.from_length[node];
      for (int k = lane; k < n; k += GROUP) sum += M.from_share[at + k] * FRESH(&L.r[M.from[at + k]]);
    }
    sum = group_sum(sum);
    if (node < count && lane == 0) {
      M.b[node] = sum;
      M.d[node] = g.first * M.inverse[node] * sum;
    }
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
  const int each = LANES / GROUP;
  restrict_to(g, g.level[a], g.level[a + 1], (BLOCK * WARPS + WARP) * each, BLOCKS * WARPS * each);
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
    restrict_to(g, L, M, WARP * (LANES / GROUP), WARPS * (LANES / GROUP));
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
