// Galerkin product of the pixel grid: rows of the first coarse level, off-diagonals only.
#define TX (TILE_X / 3)
#define TY (TILE_Y / 3)
#define TILES (TX * TY)
#define AROUND ((TX + 2) * (TY + 2))

// Padding, and what a row sums to; without edges, or with rounding errors for edges, no inverse.
struct Row { int length; float sum, most, mass, anchor; };
DEVICE void finish_row(const Grid& g, int l, int node, const Row& row) {
  const Level& L = g.level[l];
  int length = row.length < L.width ? row.length : L.width;
  float whole = row.sum + row.anchor;
  for (int k = length; k < 8; k++) {
    L.column[(i64)k * L.room + node] = node;
    L.value[(i64)k * L.room + node] = 0.f;
  }
  L.length[node] = length;
  L.strongest[node] = row.most;
  L.mass[node] = row.mass;
#if ANCHORED
  L.anchor[node] = row.anchor;
#endif
  L.inverse[node] = whole > 1e-10f * row.mass ? 1.f / whole : 0.f;
  if (row.most > 0.f) g.s->edges[l] = 1;
}

// The entries that the lanes of a warp have found for the row of a node, those that are not 0.
DEVICE void append(const Level& L, int node, int other, float v, Row& row) {
  int slot = place(v != 0.f, row.length);
  if (v == 0.f || slot >= L.width) return;
  L.column[(i64)slot * L.room + node] = other;
  L.value[(i64)slot * L.room + node] = v;
  row.sum += fmaxf(v, 0.f);
  row.most = fmaxf(row.most, v);
}

// The lanes of a warp have each a part of a row's sums; one of them writes these.
DEVICE void finish_row_of_warp(const Grid& g, int l, int node, Row& row) {
  row.mass = warp_sum(row.mass);
  row.sum = warp_sum(row.sum);
  row.most = warp_max(row.most);
#if ANCHORED
  row.anchor = warp_sum(row.anchor);
#endif
  if (LANE == 0) finish_row(g, l, node, row);
}

// Regular tiles, which have one coarse node and neighbours with at most one each: a thread for each
// pair of tiles, out of tables of the interpolation around each tile. The others go to a list.
KERNEL(first_product, 256) {
  SHARED float C[PAIRS][SX * SY];
  SHARED Shares shares[SX * SY];
  SHARED u8 label[SX * SY];
  SHARED float table[AROUND * 25], values[TILES * 8];
  SHARED int start[AROUND];
  SHARED u8 nodes[AROUND], regular[TILES];
  const Level& L = g.level[1];
  Block block = block_of(g);
  int column0 = block.x / 3 - 1, row0 = block.y / 3 - 1;
  EACH(s, SX * SY) {
    i64 i = pixel_at(g, block.x + s % SX - REACH, block.y + s / SX - REACH);
    UNROLL for (int pair = 0; pair < PAIRS; pair++) C[pair][s] = i >= 0 ? g.c[pair][i] : 0.f;
    shares[s] = i >= 0 ? g.shares[i] : 0;
    label[s] = i >= 0 ? g.label[i] : NO_AGGREGATE;
  }
  EACH(t, AROUND) {
    int column = column0 + t % (TX + 2), row = row0 + t / (TX + 2);
    bool within = column >= 0 && column < L.columns && row >= 0 && row < L.rows;
    int at = within ? L.tile_start[row * L.columns + column] : 0;
    int end = within ? L.tile_start[row * L.columns + column + 1] : 0;
    start[t] = at;
    nodes[t] = end - at;
  }
  SYNC();
  EACH(t, TILES) {
    int centre = (t / TX + 1) * (TX + 2) + t % TX + 1, column = column0 + 1 + t % TX;
    bool simple = !g.wraps || (column > 0 && column < L.columns - 2);
    UNROLL for (int k = 0; k < 9; k++)
      if (nodes[centre + (k / 3 - 1) * (TX + 2) + k % 3 - 1] > 1) simple = false;
    regular[t] = simple && nodes[centre] == 1;
    if (nodes[centre] && !simple)
      g.irregular[take_one(&g.s->irregular)] = (row0 + 1 + t / TX) * L.columns + column;
  }
  // Interpolation from the node of each tile at the 5 x 5 pixels around it.
  EACH(e, AROUND * 25) {
    int t = e / 25, oy = e % 25 / 5 - 1, ox = e % 5 - 1;
    int y = 3 * (t / (TX + 2)) + oy, x = 3 * (t % (TX + 2)) + ox;
    float p = 0.f;
    if (nodes[t] == 1 && y >= 1 && y < SY - 1 && x >= 1 && x < SX - 1) {
      int s = y * SX + x;
      if (ox >= 0 && ox < 3 && oy >= 0 && oy < 3 && label[s] == 0) p += own_share(shares[s]);
      UNROLL for (int d = 0; d < DIRECTIONS; d++) {
        int nx = ox + step_x(d), ny = oy + step_y(d);
        bool in_tile = nx >= 0 && nx < 3 && ny >= 0 && ny < 3;
        if (in_tile && label[s + STEP(d, SX)] == 0) p += share_of(shares[s], d);
      }
    }
    table[e] = p * (1.f / WHOLE);
  }
  SYNC();
  EACH(e, TILES * 8) {
    int t = e % TILES, o = e / TILES + (e / TILES >= 4), dy = o / 3 - 1, dx = o % 3 - 1;
    if (!regular[t]) continue;
    int centre = (t / TX + 1) * (TX + 2) + t % TX + 1, other = centre + dy * (TX + 2) + dx;
    const float *own = table + centre * 25, *there = table + other * 25;
    float v = 0.f;
    int ya = dy < 0 ? -2 : dy > 0 ? 2 : -1, yb = dy < 0 ? 0 : dy > 0 ? 4 : 3;
    int xa = dx < 0 ? -2 : dx > 0 ? 2 : -1, xb = dx < 0 ? 0 : dx > 0 ? 4 : 3;
    if (nodes[other] == 1)
      for (int y = ya; y <= yb; y++)
        for (int x = xa; x <= xb; x++) {
          float p = there[(y - 3 * dy + 1) * 5 + x - 3 * dx + 1];
          if (p == 0.f) continue;
#define OWN(yy, xx) ((yy) >= -1 && (yy) <= 3 && (xx) >= -1 && (xx) <= 3 ? own[((yy) + 1) * 5 + (xx) + 1] : 0.f)
          int s = (t / TX * 3 + REACH + y) * SX + t % TX * 3 + REACH + x;
          float here = OWN(y, x), flux = 0.f;
          UNROLL for (int d = 0; d < DIRECTIONS; d++)
            flux += TOWARDS(C, s, d, SX) * (OWN(y + step_y(d), x + step_x(d)) - here);
          v += p * flux;
#undef OWN
        }
    values[e] = v;
  }
  SYNC();
  EACH(t, TILES) {
    int centre = (t / TX + 1) * (TX + 2) + t % TX + 1, node = start[centre];
    if (!regular[t] || node >= L.room) continue;
    Row found = {};
    for (int k = 0; k < 8; k++) {
      float v = values[k * TILES + t];
      int o = k + (k >= 4), other = start[centre + (o / 3 - 1) * (TX + 2) + o % 3 - 1];
      if (v == 0.f || other >= L.room) continue;
      L.column[(i64)found.length * L.room + node] = other;
      L.value[(i64)found.length * L.room + node] = v;
      found.length++;
      found.sum += fmaxf(v, 0.f);
      found.most = fmaxf(found.most, v);
    }
    for (int k = 0; k < 9; k++) {
      int s = (t / TX * 3 + REACH + k / 3) * SX + t % TX * 3 + REACH + k % 3;
      if (label[s] == 0)
        UNROLL for (int d = 0; d < DIRECTIONS; d++) found.mass += TOWARDS(C, s, d, SX);
    }
#if ANCHORED
    for (int k = 0; k < 25; k++) {
      i64 i = pixel_at(g, block.x + t % TX * 3 + k % 5 - 1, block.y + t / TX * 3 + k / 5 - 1);
      if (i >= 0) found.anchor += table[centre * 25 + k] * g.anchor[i];
    }
#endif
    finish_row(g, 1, node, found);
  }
}

// Irregular tiles: a warp each. Pixels of the 9 x 9 around a tile know their aggregates by the slot
// of the tile among those around it, and the label in it; a lane adds up what one coarse node gets.
// Where an image wraps, the tile at the seam may be narrow: what is beyond it is as near as a
// neighbour. The window is then wider, so that a narrow image is seen all around, and once.
#define CANDIDATES 72
#if WRAPS
#define ASIDE 2  // tiles to each side
#else
#define ASIDE 1
#endif
#define SLOTS_ACROSS (2 * ASIDE + 1)
#define SLOTS (3 * SLOTS_ACROSS)
#define OWN_SLOT (SLOTS_ACROSS + ASIDE)
#define SEEN (7 + 2 * ASIDE)  // columns of the window
#define INNER (SEEN - 2)

// Columns from a tile's own to another one's, the near way round.
DEVICE int columns_apart(const Level& L, int apart) {
  return apart < -ASIDE ? apart + L.columns : apart > ASIDE ? apart - L.columns : apart;
}

KERNEL(first_product_irregular, 128) {
  const int W = WARPS_OF(128), N = SEEN * 9;
  SHARED int code[W][N];
  SHARED Shares shares[W][N];
  SHARED float C[W][PAIRS][N], own[W][N], flux[W][49];
  SHARED int start[W][SLOTS], nodes[W][SLOTS];
  SHARED u8 candidate[W][CANDIDATES], where[W][49];
#if ANCHORED
  SHARED float anchor[W][N];
#endif
  const Level& L = g.level[1];
  int w = WARP, listed = g.s->irregular;
  for (int at = BLOCK * WARPS + WARP; at < listed; at += BLOCKS * WARPS) {
    int tile = g.irregular[at], row = tile / L.columns, column = tile % L.columns;
    EACH_LANE(k, SLOTS) {
      int y = row + k / SLOTS_ACROSS - 1, x = column + k % SLOTS_ACROSS - ASIDE;
#if WRAPS
      x = x < 0 ? x + L.columns : x >= L.columns ? x - L.columns : x;
#endif
      bool within = y >= 0 && y < L.rows && x >= 0 && x < L.columns;
      within = within && columns_apart(L, x - column) == k % SLOTS_ACROSS - ASIDE;
      start[w][k] = within ? L.tile_start[y * L.columns + x] : 0;
      nodes[w][k] = within ? L.tile_start[y * L.columns + x + 1] - start[w][k] : 0;
    }
    EACH_LANE(k, N) {
      int x = 3 * column - 2 - ASIDE + k % SEEN, y = 3 * row - 3 + k / SEEN;
      i64 i = pixel_at(g, x, y);
      // Of the tile, not of the window: around the seam.
      int there = columns_apart(L, column_of(g, x) / 3 - column);
      bool known = i >= 0 && g.label[i] != NO_AGGREGATE && there >= -ASIDE && there <= ASIDE;
      int slot = k / (3 * SEEN) * SLOTS_ACROSS + there + ASIDE;
      code[w][k] = known ? slot + SLOTS * g.label[i] : -1;
      shares[w][k] = i >= 0 ? g.shares[i] : 0;
      UNROLL for (int pair = 0; pair < PAIRS; pair++) C[w][pair][k] = i >= 0 ? g.c[pair][i] : 0.f;
#if ANCHORED
      anchor[w][k] = i >= 0 ? g.anchor[i] : 0.f;
#endif
      own[w][k] = 0.f;
    }
    SYNC_WARP();
    int candidates = 0;
    UNROLL for (int k = 0; k < SLOTS; k++) candidates += nodes[w][k];
    EACH_LANE(k, SLOTS) {
      int at = 0;
      for (int before = 0; before < k; before++) at += nodes[w][before];
      for (int n = 0; n < nodes[w][k] && at + n < CANDIDATES; n++)
        candidate[w][at + n] = (u8)(k + SLOTS * n);
    }
    if (candidates > CANDIDATES) candidates = CANDIDATES;
    SYNC_WARP();
#define SHARE_FROM(code_of, s, p)                                 \
  float p = code[w][s] == (code_of) ? own_share(shares[w][s]) : 0.f; \
  UNROLL for (int d = 0; d < DIRECTIONS; d++)                     \
    if (code[w][(s) + STEP(d, SEEN)] == (code_of)) p += share_of(shares[w][s], d)
    for (int n = 0; n < nodes[w][OWN_SLOT] && start[w][OWN_SLOT] + n < L.room; n++) {
      int me = OWN_SLOT + SLOTS * n, node = start[w][OWN_SLOT] + n;
      EACH_LANE(k, INNER * 7) {
        int s = (k / INNER + 1) * SEEN + k % INNER + 1;
        SHARE_FROM(me, s, p);
        own[w][s] = p * (1.f / WHOLE);
      }
      SYNC_WARP();
      Row found = {};
      int flowing = 0;  // pixels where something flows
      for (int k0 = 0; k0 < 49; k0 += LANES) {
        int k = k0 + LANE, s = (k < 49 ? k / 7 + 1 : 1) * SEEN + k % 7 + ASIDE;
        bool counts = k < 49 && (!WRAPS || k % 7 < g.width);
        float p = own[w][s], f = 0.f, sum = 0.f;
        UNROLL for (int d = 0; d < DIRECTIONS; d++) {
          float c = TOWARDS(C[w], s, d, SEEN);
          f += c * (own[w][s + STEP(d, SEEN)] - p);
          sum += c;
        }
        bool flows = counts && f != 0.f;
        int slot = place(flows, flowing);
        if (flows) {
          flux[w][slot] = f;
          where[w][slot] = (u8)s;
        }
        if (counts && code[w][s] == me) found.mass += sum;
#if ANCHORED
        if (counts) found.anchor += p * anchor[w][s];
#endif
      }
      SYNC_WARP();
      for (int k0 = 0; k0 < candidates; k0 += LANES / PAIR) {
        int k = k0 + LANE / PAIR, other = k < candidates ? candidate[w][k] : me;
        int target = start[w][other % SLOTS] + other / SLOTS;
        float v = 0.f;
        if (other != me) {
          for (int q = LANE % PAIR; q < flowing; q += PAIR) {
            int s = where[w][q];
            SHARE_FROM(other, s, p);
            v += flux[w][q] * p;
          }
        }
        v = pair_sum(v) * (1.f / WHOLE);
        append(L, node, target, LANE % PAIR == 0 && target < L.room ? v : 0.f, found);
      }
      finish_row_of_warp(g, 1, node, found);
      SYNC_WARP();
    }
    SYNC_WARP();
  }
}
