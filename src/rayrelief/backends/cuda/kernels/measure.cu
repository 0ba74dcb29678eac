// Steps of the iteration: the tolerance, the new surface, and how far it is from others.
DEVICE float as_float(int bits) {
  union { int bits; float value; } both = {bits};
  return both.value;
}

// The residual to reach, relative to the right-hand side (the bits of a float). A correction in
// single precision cannot make it less than a fraction of what it was, nor than rounding errors of
// what flows along the edges.
#define FINEST 3e-7
#define ROUNDING 2e-7
KERNEL(aim, 32) {
  double relative = as_float(a), limit = relative * relative * g.s->bb;
  double possible = FINEST * FINEST * g.s->rr, rounding = ROUNDING * ROUNDING * g.s->flux;
  if (possible > limit) limit = possible;
  if (rounding > limit) limit = rounding;
  if (THREAD == 0) g.s->limit = limit;
}

// The whole correction, with the last step of the conjugate gradients: where a solve may go on (a),
// only if it has ended.
KERNEL(correct, 256) {
  if (a && !g.s->done) return;
  int cycles = g.s->cycles;
  float alpha = cycles > 0 ? step_length(g, (cycles - 1) & 1) : 0.f;
  const float* p = g.p[cycles & 1];
  EVERYWHERE(i, pixels(g)) {
    int x = x_of(g, i), y = y_of(g, i);
    bool joined = ANCHORED && g.anchor[i] > 0.f;
    UNROLL for (int d = 0; d < DIRECTIONS; d++)
      joined = joined || conductance(g, i, neighbour_of(g, x, y, d), d) > 0.f;
    float d = cycles > 0 && joined ? g.d[i] + alpha * p[i] : 0.f;
    g.d[i] = d;
    if (!ANCHORED && g.s->components == 1) g.x[i] += (double)d;
  }
}

// Several components: each keeps its mean, or moves to where its anchors are balanced, since little
// else resists a constant. Sums of segments of their pixels, what to take off, then the step.
#define SUMS (1 + 2 * ANCHORED)
KERNEL(sum_segments, 256) {
  for (int k = BLOCK; k < g.segments; k += BLOCKS) {
    double sum[SUMS] = {};
    for (int at = g.segment_start[k] + THREAD; at < g.segment_start[k + 1]; at += THREADS) {
      int i = g.order[at];
      sum[0] += g.d[i];
#if ANCHORED
      sum[1] += g.anchor[i];
      sum[2] += g.anchor[i] * (g.anchor_value[i] - g.x[i] - (double)g.d[i]);
#endif
    }
#ifndef HOST
    __shared__ double sums[SUMS][32];
    UNROLL for (int m = 0; m < SUMS; m++) {
      sum[m] = warp_sum(sum[m]);
      if (LANE == 0) sums[m][WARP] = sum[m];
    }
    SYNC();
    UNROLL for (int m = 0; m < SUMS; m++) {
      sum[m] = 0;
      for (int w = 0; w < WARPS; w++) sum[m] += sums[m][w];
    }
    SYNC();
#endif
    if (THREAD == 0)
      for (int m = 0; m < SUMS; m++) g.segment_sum[SUMS * k + m] = sum[m];
  }
}
KERNEL(mean_components, 256) {
  EVERYWHERE(c, g.s->components) {
    double sum[SUMS] = {};
    int first = g.component_start[c], end = g.component_start[c + 1];
    for (int k = first; k < end; k++)
      for (int m = 0; m < SUMS; m++) sum[m] += g.segment_sum[SUMS * k + m];
    g.component_mean[c] = sum[0] / (g.segment_start[end] - g.segment_start[first]);
#if ANCHORED
    if (sum[1] > 0.) g.component_mean[c] = -sum[2] / sum[1];
#endif
  }
}
KERNEL(step_components, 256) {
  for (int k = BLOCK; k < g.segments; k += BLOCKS) {
    double mean = g.component_mean[g.segment_of[k]];
    for (int at = g.segment_start[k] + THREAD; at < g.segment_start[k + 1]; at += THREADS) {
      int i = g.order[at];
      float d = (float)(g.d[i] - mean);
      g.d[i] = d;
      g.x[i] += (double)d;
    }
  }
}

// Back to the surface before the last step.
KERNEL(step_back, 256) { EVERYWHERE(i, pixels(g)) g.x[i] -= (double)g.d[i]; }

// The surface now (a = 0) or before the last step, in single precision, into place b.
KERNEL(keep, 256) {
  EVERYWHERE(i, pixels(g)) g.kept[b][i] = (float)(a ? g.x[i] - (double)g.d[i] : g.x[i]);
}

// Moments of what moved and of the surface: since the last step (a < 0), or what place a keeps.
KERNEL(distance, 256) {
  double v[4] = {0, 0, 0, 0};
  EVERYWHERE(i, pixels(g)) {
    double x = g.x[i], moved = a < 0 ? (double)g.d[i] : x - (double)g.kept[a][i];
    v[0] += moved;
    v[1] += moved * moved;
    v[2] += x;
    v[3] += x * x;
  }
  put_partial<4>(g, v, SUM_MEASURE);
}
KERNEL(distance_totals, 256) {  // of a blocks
  double total[4];
  totals<4>(g, SUM_MEASURE, a, total);
  if (THREAD == 0)
    for (int k = 0; k < 4; k++) g.s->measured[k] = total[k];
}
