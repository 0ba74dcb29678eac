// The last levels by one block, which ends with a dense inverse.
#define LAST_THREADS 256
#define LAST_ROOM 500
#define HELD_DOWN 1e-5f  // anchors that weigh less are left to the balance of the whole (measure.cu)

// Dense inverse of level l by Gauss-Jordan. A constant is added to each component that no anchor
// holds, so that the matrix has an inverse; pivots that are rounding errors are left out.
DEVICE void invert(const Grid& g, int l) {
  SHARED float D[DENSE * (DENSE + 1)], diagonal[DENSE], row[DENSE], column[DENSE];
  SHARED int label[DENSE];
  const Level& L = g.level[l];
  const int stride = DENSE + 1;
  int n = FRESH(L.count);
  EACH(e, n * stride) D[e] = 0.f;
  SYNC();
  EACH(i, n) {
    float sum = 0.f;
    ENTRIES(L, i, L.length[i], {
      D[i * stride + (c & INDEX)] -= v;
      sum += v;
    })
#if ANCHORED
    sum += L.anchor[i];
#endif
    D[i * stride + i] += sum;
    diagonal[i] = sum;
    label[i] = i;
  }
  SYNC();
  SHARED int changed;
  for (int round = 0; round < n; round++) {  // labels fall to the first node of the component
    if (THREAD == 0) changed = 0;
    SYNC();
    for (int i = WARP; i < n; i += WARPS) {
      int least = label[i];
      EACH_LANE(j, n) {
        bool joined = D[i * stride + j] != 0.f || D[j * stride + i] != 0.f;
        if (joined && label[j] < least) least = label[j];
      }
      least = -warp_max(-least);
      if (LANE == 0 && least < label[i]) {
        label[i] = least;
        changed = 1;
      }
    }
    SYNC();
    int again = changed;
    SYNC();
    if (!again) break;
  }
  for (int i = WARP; i < n; i += WARPS) {
    float sum = 0.f, size = 0.f;
    EACH_LANE(j, n) if (label[j] == label[i]) {
      sum += diagonal[j];
      size += 1.f;
    }
    sum = warp_sum(sum);
    size = warp_sum(size);
#if ANCHORED
    float anchors = 0.f;
    EACH_LANE(j, n) if (label[j] == label[i]) anchors += L.anchor[j];
    if (warp_sum(anchors) > HELD_DOWN * sum) continue;
#endif
    EACH_LANE(j, n) if (label[j] == label[i]) D[i * stride + j] += sum / (size * size);
  }
  SYNC();
  for (int k = 0; k < n; k++) {
    float pivot = D[k * stride + k];
    float inverse = diagonal[k] > 0.f && pivot > 1e-6f * diagonal[k] ? 1.f / pivot : 0.f;
    EACH(j, n) {
      column[j] = D[j * stride + k];
      row[j] = D[k * stride + j];
    }
    SYNC();
    for (int i = WARP; i < n; i += WARPS) {
      float factor = column[i] * inverse;
      EACH_LANE(j, n) {
        float v = i == k ? row[j] * inverse : D[i * stride + j] - factor * row[j];
        if (j == k) v = i == k ? inverse : -factor;
        D[i * stride + j] = v;
      }
    }
    SYNC();
  }
  EACH(e, n * n) g.dense[e] = D[e / n * stride + e % n];
}

KERNEL(set_up_last, LAST_THREADS) {
  SHARED float own[WARPS_OF(LAST_THREADS)][LAST_ROOM], flux[WARPS_OF(LAST_THREADS)][LAST_ROOM];
  SHARED int where[WARPS_OF(LAST_THREADS)][LAST_ROOM];
  int l = g.small_set_up;
  for (; l < g.levels - 1; l++) {
    if (FRESH(g.level[l].count) <= DENSE || !FRESH(&g.s->edges[l])) break;
    mark_strong(g, l, THREAD, THREADS);
    SYNC();
    find_aggregates(g, l, WARP, WARPS, where[WARP], LAST_ROOM);
    SYNC();
    scan_level(g, l + 1);
    SYNC();
    number_aggregates(g, l, THREAD, THREADS);
    SYNC();
    interpolate_rows(g, l, THREAD, THREADS);
    SYNC();
    coarse_product(g, l, WARP, WARPS, {own[WARP], flux[WARP], where[WARP], LAST_ROOM});
    SYNC();
  }
  if (THREAD == 0) g.s->last = l;
}

KERNEL(invert_last, 512) {
  int l = g.s->last;
  if (*g.level[l].count <= DENSE && g.s->edges[l]) invert(g, l);
}
