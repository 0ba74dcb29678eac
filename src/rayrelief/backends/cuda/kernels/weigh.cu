// Laws on the pixel grid: weights and jumps to conductances, residual and energy.
#define WEIGH_X 32
#define WEIGH_Y (64 / DIRECTIONS)

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

// The paper's law: the two opposite edges of a pixel along one axis, d and d + 1.
DEVICE void weigh_bilateral(const Grid& g, i64 i, const i64* neighbour, int d, DirectedEdge* out) {
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

// The laws of intervals: one equation serves both directions of an edge. The corner is that of the
// convex law, or the width of the redescending one.
#define LEAST 1e-7f  // weight of an edge: nothing is cut off altogether
DEVICE float slope_of(const Grid& g, float z, float half_width, float lead) {
  float narrow = g.narrow / fminf(fmaxf((float)(g.s->noise / ALLOWED), 1.f), (float)AVERAGED);
  float ratio = narrow / fmaxf(fabsf(half_width), narrow);
  float cheap = fmaxf(ratio * ratio, g.cheapest);
  if (half_width < 0.f) cheap = fminf(1.f, g.ridge * cheap);
  if (z * lead < 0.f) return cheap;  // the side that recedes faster comes out in front
  return fmaxf(cheap, fminf(fabsf(lead) / g.sure, 1.f));
}
DEVICE void weigh_interval(const Grid& g, i64 i, i64 there, int d, DirectedEdge& edge) {
  float gamma = there >= 0 ? g.gamma[d][i] : 0.f;
  if (gamma == 0.f) return;
  float per_sigma = gamma / g.sigma[d / 2][i];
  double difference = g.x[i] - g.x[there], apart = (double)g.offset[d][i] - difference;
  float z = -(float)apart * per_sigma, far = fabsf(z), weight, cost;
  if (g.redescends) {
    float say = 1.f / (1.f + (z / g.corner) * (z / g.corner));
    weight = say * say;
    cost = .5f * z * z * say;
  } else {
    float slope = slope_of(g, z, g.half_width[d / 2][i], g.lead[d / 2][i]);
    weight = slope * g.corner / fmaxf(far, g.corner);
    cost = slope * (far < g.corner ? .5f * z * z : g.corner * (far - .5f * g.corner));
  }
  float c = fmaxf(weight, LEAST) * per_sigma * per_sigma;
  edge = {c, c * (float)apart, c * g.offset[d][i], (double)cost};
}

struct BilateralLaw {
  static DEVICE_MEMBER void weigh_pair(const Grid& g, i64 i, const i64* there, int d, DirectedEdge* out) {
    weigh_bilateral(g, i, there, d, out);
  }
};
struct IntervalLaw {
  static DEVICE_MEMBER void weigh_pair(const Grid& g, i64 i, const i64* there, int d, DirectedEdge* out) {
    weigh_interval(g, i, there[d], d, out[d]);
  }
};

template <class Law> DEVICE void weigh_block(const Grid& g) {
  const int SX = WEIGH_X + 2, SY = WEIGH_Y + 2;
  SHARED float C[DIRECTIONS][SX * SY], F[DIRECTIONS][SX * SY], B[DIRECTIONS][SX * SY];
  int across = (g.width + WEIGH_X - 1) / WEIGH_X;
  int x0 = BLOCK % across * WEIGH_X, y0 = BLOCK / across * WEIGH_Y;
  double sums[4] = {0, 0, 0, 0};
  EACH(s, SX * SY) {
    int lx = s % SX - 1, ly = s / SX - 1, x = x0 + lx, y = y0 + ly;
    i64 i = pixel_at(g, x, y);
    DirectedEdge edges[DIRECTIONS] = {};
    if (i >= 0) {
      i64 neighbour[DIRECTIONS];
      UNROLL for (int d = 0; d < DIRECTIONS; d++) neighbour[d] = neighbour_of(g, x, y, d);
      UNROLL for (int d = 0; d < DIRECTIONS; d += 2) Law::weigh_pair(g, i, neighbour, d, edges);
    }
    bool own = lx >= 0 && lx < WEIGH_X && ly >= 0 && ly < WEIGH_Y && x < g.width && y < g.height;
    UNROLL for (int d = 0; d < DIRECTIONS; d++) {
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
    float r = 0.f, rhs = 0.f, joined[DIRECTIONS], share = 1.f;
    UNROLL for (int d = 0; d < DIRECTIONS; d++) {
      int back = s + STEP(d, SX), o = d ^ 1;
      // The same order of both directions at both ends: equal bits.
      float c = d & 1 ? C[o][back] + C[d][s] : C[d][s] + C[o][back];
      bool counts = c > NEGLIGIBLE;  // 1 / c of smaller ones is not finite
      joined[d] = counts ? c : 0.f;
      r += counts ? F[d][s] - F[o][back] : 0.f;
      rhs += counts ? B[d][s] - B[o][back] : 0.f;
    }
    i64 i = (i64)y * g.width + x;
#if ANCHORED
    float anchor = g.anchor[i], edges = 0.f;
    double apart = g.anchor_value[i] - g.x[i];
    UNROLL for (int d = 0; d < DIRECTIONS; d++) edges += joined[d];
    if (anchor > 0.f) {
      share = resisted(anchor, 1.f / (anchor + edges));
      r += (float)(anchor * apart);
      rhs += (float)(anchor * apart);
      sums[0] += anchor * apart * apart;
      sums[3] += anchor * apart * share * anchor * apart * share;
    }
#endif
    UNROLL for (int pair = 0; pair < PAIRS; pair++) g.c[pair][i] = joined[2 * pair];
    g.r[0][i] = r;
    sums[1] += (double)(share * r) * (share * r);
    sums[2] += (double)(share * rhs) * (share * rhs);
  }
  SYNC();
  put_partial<4>(g, sums, SUM_WEIGH);
}
KERNEL(weigh, 256) { weigh_block<BilateralLaw>(g); }
KERNEL(weigh_intervals, 256) { weigh_block<IntervalLaw>(g); }

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
