// Galerkin product of the pixel grid: rows of the first coarse level, off-diagonals only.
#define TX (TILE_X / 3)
#define TY (TILE_Y / 3)
#define TILES (TX * TY)
#define AROUND ((TX + 2) * (TY + 2))

// Padding, and what a row sums to; without edges, or with rounding errors for edges, no inverse.
DEVICE void finish_row(const Grid& g, int l, int node, int length, float sum, float most, float mass) {
  const Level& L = g.level[l];
  for (int k = length; k < 8; k++) {
    L.column[(i64)k * L.room + node] = node;
    L.value[(i64)k * L.room + node] = 0.f;
  }
  L.length[node] = length;
  L.strongest[node] = most;
  L.mass[node] = mass;
  L.inverse[node] = sum > 1e-10f * mass ? 1.f / sum : 0.f;
  if (most > 0.f) g.s->edges[l] = 1;
}

// The entries that the lanes of a warp have found for the row of a node, those that are not 0.
DEVICE void append(const Level& L, int node, int other, float v, int& length, float& sum, float& most) {
  int slot = place(v != 0.f, length);
  if (v == 0.f || slot >= L.width) return;
  L.column[(i64)slot * L.room + node] = other;
  L.value[(i64)slot * L.room + node] = v;
  sum += fmaxf(v, 0.f);
  most = fmaxf(most, v);
}

// Regular tiles, which have one coarse node and neighbours with at most one each: a thread for each
// pair of tiles, out of tables of the interpolation around each tile. The others go to a list.
KERNEL(first_product, 256) {
  SHARED float R[SX * SY], B[SX * SY];
  SHARED u32 shares[SX * SY];
  SHARED u8 label[SX * SY];
  SHARED float table[AROUND * 25], values[TILES * 8];
  SHARED int start[AROUND];
  SHARED u8 nodes[AROUND], regular[TILES];
  const Level& L = g.level[1];
  Block block = block_of(g);
  int column0 = block.x / 3 - 1, row0 = block.y / 3 - 1;
  EACH(s, SX * SY) {
    i64 i = pixel_at(g, block.x + s % SX - REACH, block.y + s / SX - REACH);
    R[s] = i >= 0 ? g.right[i] : 0.f;
    B[s] = i >= 0 ? g.below[i] : 0.f;
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
      const int step[4] = {1, -1, SX, -SX}, dx[4] = {1, -1, 0, 0}, dy[4] = {0, 0, 1, -1};
      if (ox >= 0 && ox < 3 && oy >= 0 && oy < 3 && label[s] == 0) p += own_share(shares[s]);
      UNROLL for (int d = 0; d < 4; d++) {
        int nx = ox + dx[d], ny = oy + dy[d];
        bool in_tile = nx >= 0 && nx < 3 && ny >= 0 && ny < 3;
        if (in_tile && label[s + step[d]] == 0) p += share_of(shares[s], d);
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
          float here = OWN(y, x);
          v += p * (R[s] * (OWN(y, x + 1) - here) + R[s - 1] * (OWN(y, x - 1) - here) +
                    B[s] * (OWN(y + 1, x) - here) + B[s - SX] * (OWN(y - 1, x) - here));
#undef OWN
        }
    values[e] = v;
  }
  SYNC();
  EACH(t, TILES) {
    int centre = (t / TX + 1) * (TX + 2) + t % TX + 1, node = start[centre];
    if (!regular[t] || node >= L.room) continue;
    int length = 0;
    float sum = 0.f, most = 0.f, mass = 0.f;
    for (int k = 0; k < 8; k++) {
      float v = values[k * TILES + t];
      int o = k + (k >= 4), other = start[centre + (o / 3 - 1) * (TX + 2) + o % 3 - 1];
      if (v == 0.f || other >= L.room) continue;
      L.column[(i64)length * L.room + node] = other;
      L.value[(i64)length * L.room + node] = v;
      length++;
      sum += fmaxf(v, 0.f);
      most = fmaxf(most, v);
    }
    for (int k = 0; k < 9; k++) {
      int s = (t / TX * 3 + REACH + k / 3) * SX + t % TX * 3 + REACH + k % 3;
      if (label[s] == 0) mass += R[s] + R[s - 1] + B[s] + B[s - SX];
    }
    finish_row(g, 1, node, length, sum, most, mass);
  }
}

// Irregular tiles: a warp each. Pixels of the 9 x 9 around a tile know their aggregates by the slot
// of the tile among nine, and the label in it; a lane adds up what one coarse node gets.
#define CANDIDATES 72
KERNEL(first_product_irregular, 128) {
  const int W = WARPS_OF(128);
  SHARED int code[W][81];
  SHARED u32 shares[W][81];
  SHARED float R[W][81], B[W][81], own[W][81], flux[W][49];
  SHARED int start[W][9], nodes[W][9];
  SHARED u8 candidate[W][CANDIDATES], where[W][49];
  const Level& L = g.level[1];
  const int step[4] = {1, -1, 9, -9};
  int w = WARP, listed = g.s->irregular;
  for (int at = BLOCK * WARPS + WARP; at < listed; at += BLOCKS * WARPS) {
    int tile = g.irregular[at], row = tile / L.columns, column = tile % L.columns;
    EACH_LANE(k, 9) {
      int y = row + k / 3 - 1, x = column + k % 3 - 1;
#if WRAPS
      if (L.columns >= 3) x = (x + L.columns) % L.columns;
#endif
      bool within = y >= 0 && y < L.rows && x >= 0 && x < L.columns;
      start[w][k] = within ? L.tile_start[y * L.columns + x] : 0;
      nodes[w][k] = within ? L.tile_start[y * L.columns + x + 1] - start[w][k] : 0;
    }
    EACH_LANE(k, 81) {
      int x = 3 * column - 3 + k % 9, y = 3 * row - 3 + k / 9;
      i64 i = pixel_at(g, x, y);
      int there = column_of(g, x) / 3 - column;  // of the tile, not of the window: around the seam
      if (there < -1) there += L.columns;
      if (there > 1) there -= L.columns;
      bool known = i >= 0 && g.label[i] != NO_AGGREGATE && there >= -1 && there <= 1;
      code[w][k] = known ? k / 27 * 3 + there + 1 + 9 * g.label[i] : -1;
      shares[w][k] = i >= 0 ? g.shares[i] : 0;
      R[w][k] = i >= 0 ? g.right[i] : 0.f;
      B[w][k] = i >= 0 ? g.below[i] : 0.f;
      own[w][k] = 0.f;
    }
    SYNC_WARP();
    int candidates = 0;
    UNROLL for (int k = 0; k < 9; k++) candidates += nodes[w][k];
    EACH_LANE(k, 9) {
      int at = 0;
      for (int before = 0; before < k; before++) at += nodes[w][before];
      for (int n = 0; n < nodes[w][k] && at + n < CANDIDATES; n++) candidate[w][at + n] = k + 9 * n;
    }
    if (candidates > CANDIDATES) candidates = CANDIDATES;
    SYNC_WARP();
    for (int n = 0; n < nodes[w][4] && start[w][4] + n < L.room; n++) {
      int me = 4 + 9 * n, node = start[w][4] + n;
      EACH_LANE(k, 49) {
        int s = (k / 7 + 1) * 9 + k % 7 + 1;
        float p = code[w][s] == me ? own_share(shares[w][s]) : 0.f;
        UNROLL for (int d = 0; d < 4; d++)
          if (code[w][s + step[d]] == me) p += share_of(shares[w][s], d);
        own[w][s] = p * (1.f / WHOLE);
      }
      SYNC_WARP();
      float mass = 0.f;
      int flowing = 0;  // pixels where something flows
      for (int k0 = 0; k0 < 49; k0 += LANES) {
        int k = k0 + LANE, s = k < 49 ? (k / 7 + 1) * 9 + k % 7 + 1 : 10;
        float p = own[w][s], e = R[w][s], l = R[w][s - 1], d = B[w][s], u = B[w][s - 9];
        float f = e * (own[w][s + 1] - p) + l * (own[w][s - 1] - p) + d * (own[w][s + 9] - p) +
                  u * (own[w][s - 9] - p);
        bool flows = k < 49 && f != 0.f;
        int slot = place(flows, flowing);
        if (flows) {
          flux[w][slot] = f;
          where[w][slot] = (u8)s;
        }
        if (k < 49 && code[w][s] == me) mass += e + l + d + u;
      }
      SYNC_WARP();
      int length = 0;
      float sum = 0.f, most = 0.f;
      for (int k0 = 0; k0 < candidates; k0 += LANES) {
        int k = k0 + LANE, other = k < candidates ? candidate[w][k] : me, target = 0;
        float v = 0.f;
        if (other != me) {
          target = start[w][other % 9] + other / 9;
          for (int q = 0; q < flowing; q++) {
            int s = where[w][q];
            float f = flux[w][q];
            float p = code[w][s] == other ? own_share(shares[w][s]) : 0.f;
            UNROLL for (int d = 0; d < 4; d++)
              if (code[w][s + step[d]] == other) p += share_of(shares[w][s], d);
            v += f * p;
          }
          v *= 1.f / WHOLE;
        }
        append(L, node, target, target < L.room ? v : 0.f, length, sum, most);
      }
      mass = warp_sum(mass);
      sum = warp_sum(sum);
      most = warp_max(most);
      if (LANE == 0) finish_row(g, 1, node, length < L.width ? length : L.width, sum, most, mass);
      SYNC_WARP();
    }
    SYNC_WARP();
  }
}
