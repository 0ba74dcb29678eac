// The paper's law on the pixel grid: weights and jumps to conductances, residual and energy.
#define WEIGH_X 32
#define WEIGH_Y 16

struct DirectedEdge { float conductance, flux, right_hand_side; double energy; };

DEVICE float sigmoid(float t) {
  float e = expf(-fabsf(t)), large = 1.f / (1.f + e);
  return t > 0.f ? large : e * large;
}

// Target - difference of an edge whose difference exceeds the continuous one by delta.
DEVICE float pull(const Grid& g, float delta, float weight) {
  float t = g.slope * (g.threshold - weight);
  if (!g.jumps || t < -25.f) return -delta;
  float beta = sigmoid(t), rest = sigmoid(-t);  // Eq. 16
  if (!g.logarithmic) return -rest * delta;
  float bounded = fminf(fmaxf(delta, -80.f), 80.f);
  // log(beta + (1 - beta) exp(-delta)), Eq. 15, without cancellation
  return bounded > .5f ? logf(beta + rest * expf(-bounded)) : log1pf(rest * expm1f(-bounded));
}

// The two opposite edges of a pixel along one axis, d and d + 1.
DEVICE void weigh_pair(const Grid& g, i64 i, const i64* neighbour, int d, DirectedEdge* out) {
  float difference[2], residual[2], gamma[2], offset[2];
  double exact[2];
  UNROLL for (int k = 0; k < 2; k++) {  // everything is fetched at once: no branch waits for another
    i64 j = neighbour[d + k] >= 0 ? neighbour[d + k] : i;
    gamma[k] = neighbour[d + k] >= 0 ? g.gamma[d + k][i] : 0.f;
    offset[k] = g.offset[d + k][i];
    exact[k] = g.x[i] - g.x[j];
    float factor = g.gamma_weight[d + k][i];
    difference[k] = (float)exact[k];
    residual[k] = gamma[k] != 0.f ? factor * difference[k] : 0.f;
  }
  float t = g.k * (residual[1] * residual[1] - residual[0] * residual[0]);
  UNROLL for (int k = 0; k < 2; k++) {
    DirectedEdge& edge = out[d + k];
    edge.conductance = edge.flux = edge.right_hand_side = 0.f;
    edge.energy = 0.;
    if (gamma[k] == 0.f) continue;
    float weight = sigmoid(k ? -t : t);  // Eq. 10
    float c = weight * gamma[k] * gamma[k];
    float towards = pull(g, (float)(exact[k] - (double)offset[k]), weight);
    edge.conductance = c;
    edge.flux = c * towards;
    edge.right_hand_side = c * (towards + difference[k]);
    edge.energy = (double)edge.flux * towards;
  }
}

KERNEL(weigh, 256) {
  const int SX = WEIGH_X + 2, SY = WEIGH_Y + 2;
  SHARED float C[4][SX * SY], F[4][SX * SY], B[4][SX * SY];
  int across = (g.width + WEIGH_X - 1) / WEIGH_X;
  int x0 = BLOCK % across * WEIGH_X, y0 = BLOCK / across * WEIGH_Y;
  double sums[4] = {0, 0, 0, 0};
  EACH(s, SX * SY) {
    int lx = s % SX - 1, ly = s / SX - 1, x = x0 + lx, y = y0 + ly;
    i64 i = pixel_at(g, x, y);
    DirectedEdge edges[4] = {};
    if (i >= 0) {
      i64 neighbour[4] = {pixel_at(g, x + 1, y), pixel_at(g, x - 1, y), pixel_at(g, x, y + 1),
                          pixel_at(g, x, y - 1)};
      weigh_pair(g, i, neighbour, RIGHT, edges);
      weigh_pair(g, i, neighbour, BELOW, edges);
    }
    bool own = lx >= 0 && lx < WEIGH_X && ly >= 0 && ly < WEIGH_Y && x < g.width && y < g.height;
    UNROLL for (int d = 0; d < 4; d++) {
      C[d][s] = edges[d].conductance;
      F[d][s] = edges[d].flux;
      B[d][s] = edges[d].right_hand_side;
      if (own) {
        sums[0] += edges[d].energy;
        sums[3] += (double)edges[d].flux * edges[d].flux;
      }
    }
  }
  SYNC();
  EACH(t, WEIGH_X * WEIGH_Y) {
    int x = x0 + t % WEIGH_X, y = y0 + t / WEIGH_X, s = (t / WEIGH_X + 1) * SX + t % WEIGH_X + 1;
    if (x >= g.width || y >= g.height) continue;
    const int there[4] = {s + 1, s - 1, s + SX, s - SX};
    float r = 0.f, rhs = 0.f, joined[4];
    UNROLL for (int d = 0; d < 4; d++) {
      int back = there[d], o = d ^ 1;
      // The same order of both directions at both ends: equal bits.
      float c = d & 1 ? C[o][back] + C[d][s] : C[d][s] + C[o][back];
      bool counts = c > NEGLIGIBLE;  // 1 / c of smaller ones is not finite
      joined[d] = counts ? c : 0.f;
      r += counts ? F[d][s] - F[o][back] : 0.f;
      rhs += counts ? B[d][s] - B[o][back] : 0.f;
    }
    i64 i = (i64)y * g.width + x;
    g.right[i] = joined[RIGHT];
    g.below[i] = joined[BELOW];
    g.r[0][i] = r;
    sums[1] += (double)r * r;
    sums[2] += (double)rhs * rhs;
  }
  SYNC();
  put_partial<4>(g, sums, SUM_WEIGH);
}

// Totals of the a blocks of weigh; a new solve begins.
KERNEL(begin, 512) {
  double total[4];
  totals<4>(g, SUM_WEIGH, a, total);
  if (THREAD == 0) {
    g.s->energy = total[0];
    g.s->rr = total[1];
    g.s->bb = total[2];
    g.s->flux = total[3];
    g.s->done = g.s->cycles = 0;
  }
}
