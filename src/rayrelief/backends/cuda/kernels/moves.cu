// Parts move to where their border costs least, larger ones first: the twin of
// methods/ordered/parts.py. A block has one part at a time, and waits for those before it that
// touch it: all decide as if one came after the other. Blocks take turns in the order in which they
// start, so whoever is waited for has begun.
#define TRIED 128      // sums over a border: places, at first that where it is, then gamma
#define SLICES 2       // of the edges, added up side by side
#define SORTED 2048    // places that are sorted in shared memory
#define EDGES_AT_ONCE 256

struct BorderEdge { i64 i, there; int d, other; bool inside; };  // inside: i is in the part itself

DEVICE BorderEdge border_edge(const Grid& g, int rank, int k) {
  u32 edge = g.border[g.border_start[rank] + k];
  BorderEdge found;
  found.i = edge / PAIRS;
  found.d = (int)(edge % PAIRS) * 2;
  found.there = neighbour_of(g, x_of(g, found.i), y_of(g, found.i), found.d);
  int here = rank_at(g, found.i);
  found.inside = here == rank;
  found.other = found.inside ? rank_at(g, found.there) : here;
  return found;
}

// By how many pixels the part is in front of what an edge says, as it has been moved so far.
DEVICE float gap_of(const Grid& g, int rank, const BorderEdge& edge) {
  double other = edge.other > 0 ? FRESH(&g.part_shift[edge.other]) : 0.;
  double moved = (FRESH(&g.part_shift[rank]) - other) * g.gamma[edge.d][edge.i];
  double residual = residual_of(g, edge.i, edge.there, edge.d);
  return (float)(edge.inside ? residual + moved : moved - residual);
}

// Waits for the parts that decide before this one; whether anything has moved since it last did.
DEVICE bool is_its_turn(const Grid& g, int rank, int n, int sweep) {
  SHARED int touched;
  if (THREAD == 0) touched = sweep == 0 || g.moved[rank] >> (sweep - 1) & 1;
  SYNC();
  EACH(k, n) {
    int other = border_edge(g, rank, k).other;
    if (other <= 0) continue;
    int since = sweep;
    if (other < rank)
      wait_for(&g.turns[other], sweep);
    else
      since = sweep - 1;
    if (since >= 0 && FRESH(&g.moved[other]) != STAYS && FRESH(&g.moved[other]) >> since & 1) touched = 1;
  }
  SYNC();
  return touched;
}

// Places at which edges close: of many, evenly many smaller and larger. Place 0 is where it is.
DEVICE int find_places(const Grid& g, int rank, int n, float* places) {
  SHARED float sorted[SORTED];
  SHARED int closing;
  float* values = n <= SORTED ? sorted : g.closing + g.border_start[rank];
  if (THREAD == 0) closing = 0;
  SYNC();
  EACH(k, n) {
    BorderEdge edge = border_edge(g, rank, k);
    float gap = gap_of(g, rank, edge), focal = g.gamma[edge.d][edge.i];
    bool closes = fabsf(gap) < g.evidence.largest;
    values[k] = closes ? -gap / focal : 3e38f;
    if (closes) add_to(&closing, 1);
  }
  sort_block(values, n);
  int most = g.evidence.candidates < TRIED - 2 ? g.evidence.candidates : TRIED - 2;
  int tried = closing < most ? closing : most;
  EACH(c, tried) places[c + 1] = values[(i64)c * (closing - 1) / (tried > 1 ? tried - 1 : 1)];
  if (THREAD == 0) places[0] = 0.f;
  SYNC();
  return tried + 1;
}

// Cost of the border for each place, and the sum of gamma over it.
DEVICE void weigh_places(const Grid& g, int rank, int n, const float* places, int tried, double (*total)[TRIED]) {
  SHARED EdgeCosts edges[EDGES_AT_ONCE];
  SHARED float gap[EDGES_AT_ONCE], focal[EDGES_AT_ONCE];
  EACH(t, SLICES * TRIED) total[t / TRIED][t % TRIED] = 0.;
  for (int first = 0; first < n; first += EDGES_AT_ONCE) {
    int count = n - first < EDGES_AT_ONCE ? n - first : EDGES_AT_ONCE;
    SYNC();
    EACH(k, count) {
      BorderEdge edge = border_edge(g, rank, first + k);
      float lead = g.lead[edge.d / 2][edge.i], sigma = g.sigma[edge.d / 2][edge.i];
      gap[k] = gap_of(g, rank, edge);
      focal[k] = g.gamma[edge.d][edge.i];
      edges[k] = costs_of(g.evidence, g.half_width[edge.d / 2][edge.i],
                          hypotf(sigma, g.evidence.bent), edge.inside ? lead : -lead);
    }
    SYNC();
    EACH(t, SLICES * TRIED) {
      int c = t % TRIED;
      if (c > tried) continue;
      double sum = 0.;
      for (int k = t / TRIED; k < count; k += SLICES)
        sum += c == tried ? focal[k] : cost_of(g.evidence, edges[k], gap[k] + places[c] * focal[k]);
      total[t / TRIED][c] += sum;
    }
  }
  SYNC();
}

DEVICE double total_of(const double (*total)[TRIED], int c) {
  double sum = 0.;
  for (int s = 0; s < SLICES; s++) sum += total[s][c];
  return sum;
}

KERNEL(parts_move, 256) {  // sweep a
  SHARED float places[TRIED];
  SHARED double total[SLICES][TRIED];
  SHARED int turn;
  for (;;) {
    SYNC();
    if (THREAD == 0) turn = take_one(&g.s->turn[a]);
    SYNC();
    int rank = turn + 1;
    if (rank >= g.s->listed) return;
    int n = g.border_count[rank];
    bool stays = g.moved[rank] == STAYS || n == 0;
    if (!stays && is_its_turn(g, rank, n, a)) {
      int tried = find_places(g, rank, n, places);
      weigh_places(g, rank, n, places, tried, total);
      if (THREAD == 0) {
        int chosen = 0;
        double best = total_of(total, 0) - g.evidence.gain, pixels = total_of(total, tried) / n;
        for (int c = 1; c < tried; c++) {
          double there = total_of(total, c);
          if (fabs(places[c]) * pixels < g.evidence.near || there >= best) continue;
          best = there;
          chosen = c;
        }
        if (chosen && places[chosen] != 0.f) {
          g.part_shift[rank] += places[chosen];
          g.moved[rank] |= 1 << a;
          add_to(&g.s->moves, 1);
        }
      }
    }
    if (THREAD == 0) publish(&g.turns[rank], a + 1);
  }
}
