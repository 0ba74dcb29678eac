// Aggregates of pixels: connected components of strong edges inside fixed tiles of 3 x 3 pixels.
// A pixel interpolates from its own aggregate and, along strong edges that leave the tile, from
// those of its neighbours: shares of 1/255 each. One without a strong edge interpolates from its
// neighbours alone.
#define WHOLE 255
#define NO_AGGREGATE 255
#define REACH 3
#define SX (TILE_X + 2 * REACH)
#define SY (TILE_Y + 2 * REACH)

struct Block { int x, y; };  // of its first pixel

DEVICE Block block_of(const Grid& g) {
  int across = (g.width + TILE_X - 1) / TILE_X;
  return {BLOCK % across * TILE_X, BLOCK / across * TILE_Y};
}

DEVICE bool leaves_right(const Grid& g, int x) { return x % 3 == 2 || x == g.width - 1; }

DEVICE bool leaves(const Grid& g, int x, int y, int d) {
  bool aside = step_x(d) > 0 ? leaves_right(g, x) : step_x(d) < 0 && x % 3 == 0;
  return aside || (step_y(d) > 0 ? y % 3 == 2 : step_y(d) < 0 && y % 3 == 0);
}

// Shares of the neighbours in a pixel that has these strong edges (a bit each).
DEVICE Shares strong_shares(const Grid& g, int x, int y, const float* c, int strong) {
  float sum = 0.f;
  UNROLL for (int d = 0; d < DIRECTIONS; d++) sum += strong >> d & 1 ? c[d] : 0.f;
  Shares packed = 0;
  UNROLL for (int d = 0; d < DIRECTIONS; d++)
    if ((strong >> d & 1) && leaves(g, x, y, d))
      packed |= (Shares)(WHOLE * g.damping * (c[d] / sum) + .5f) << (8 * d);
  return packed;
}

// Shares that sum to the whole, in proportion to conductances.
DEVICE Shares proportional_shares(const float* c) {
  float sum = 0.f;
  UNROLL for (int d = 0; d < DIRECTIONS; d++) sum += c[d];
  if (!(sum > 0.f)) return 0;
  int best = 0, left = WHOLE, share[DIRECTIONS];
  UNROLL for (int d = 0; d < DIRECTIONS; d++) {
    share[d] = (int)(WHOLE * (c[d] / sum));
    left -= share[d];
    if (c[d] > c[best]) best = d;
  }
  Shares packed = 0;
  UNROLL for (int d = 0; d < DIRECTIONS; d++)
    packed |= (Shares)(share[d] + (d == best ? left : 0)) << (8 * d);
  return packed;
}

// Conductances of pixels in shared memory, c[pair][place], towards direction d of place s.
#define TOWARDS(c, s, d, across) (c[(d) / 2][(d) & 1 ? (s) + STEP(d, across) : (s)])

KERNEL(aggregate, 256) {
  SHARED float C[PAIRS][SX * SY], most[SX * SY];
  SHARED u8 strong[SX * SY];
  Block block = block_of(g);
  EACH(s, SX * SY) {
    i64 i = pixel_at(g, block.x + s % SX - REACH, block.y + s / SX - REACH);
    UNROLL for (int pair = 0; pair < PAIRS; pair++) C[pair][s] = i >= 0 ? g.c[pair][i] : 0.f;
    strong[s] = 0;
  }
  SYNC();
  EACH(s, SX * SY) {
    bool inner = s % SX > 0 && s / SX > 0 && s / SX < SY - 1;
    float strongest = 0.f;
    UNROLL for (int d = 0; d < DIRECTIONS; d++)
      if (inner) strongest = fmaxf(strongest, TOWARDS(C, s, d, SX));
    most[s] = strongest;
  }
  SYNC();
  EACH(s, SX * SY) {
    int lx = s % SX, ly = s / SX, flags = 0;
    if (lx < 2 || lx >= SX - 2 || ly < 2 || ly >= SY - 2) continue;
    UNROLL for (int d = 0; d < DIRECTIONS; d++) {
      float c = TOWARDS(C, s, d, SX);
      if (c > 0.f && c >= g.strength * fmaxf(most[s], most[s + STEP(d, SX)])) flags |= 1 << d;
    }
    strong[s] = flags;
  }
  SYNC();
  EACH(t, TILE_X * TILE_Y) {
    int x = block.x + t % TILE_X, y = block.y + t / TILE_X;
    int s = (t / TILE_X + REACH) * SX + t % TILE_X + REACH;
    if (x >= g.width || y >= g.height) continue;
    float c[DIRECTIONS];
    UNROLL for (int d = 0; d < DIRECTIONS; d++)
      c[d] = strong[s] || strong[s + STEP(d, SX)] ? TOWARDS(C, s, d, SX) : 0.f;
    g.shares[(i64)y * g.width + x] =
        strong[s] ? strong_shares(g, x, y, c, strong[s]) : proportional_shares(c);
  }
  const Level& L = g.level[1];
  EACH(t, TILE_X / 3 * (TILE_Y / 3)) {
    int column = block.x / 3 + t % (TILE_X / 3), row = block.y / 3 + t / (TILE_X / 3);
    if (column >= L.columns || row >= L.rows) continue;
    int first = (t / (TILE_X / 3) * 3 + REACH) * SX + t % (TILE_X / 3) * 3 + REACH;
    u32 left = 0, edges[PAIRS] = {};  // nine bits: nodes, and the strong edges that leave them inside
    UNROLL for (int k = 0; k < 9; k++) {
      int x = 3 * column + k % 3, y = 3 * row + k / 3, flags = strong[first + k / 3 * SX + k % 3];
      if (x >= g.width || y >= g.height) continue;
      if (flags) left |= 1u << k;
      UNROLL for (int d = 0; d < DIRECTIONS; d += 2)
        if ((flags >> d & 1) && !leaves(g, x, y, d)) edges[d / 2] |= 1u << k;
    }
    u8 labels[9];
    UNROLL for (int k = 0; k < 9; k++) labels[k] = NO_AGGREGATE;
    int count = 0;
    for (; left; count++) {
      u32 part = left & (0u - left), before;
      do {
        before = part;
        UNROLL for (int d = 0; d < DIRECTIONS; d += 2) {
          u32 there = part & edges[d / 2];
          int step = STEP(d, 3);
          part |= step > 0 ? there << step | (part >> step & edges[d / 2])
                           : there >> -step | (part << -step & edges[d / 2]);
        }
      } while (part != before);
      UNROLL for (int k = 0; k < 9; k++) if (part >> k & 1) labels[k] = (u8)count;
      left &= ~part;
    }
    UNROLL for (int k = 0; k < 9; k++) {
      int x = 3 * column + k % 3, y = 3 * row + k / 3;
      if (x < g.width && y < g.height) g.label[(i64)y * g.width + x] = labels[k];
    }
    L.tile_count[row * L.columns + column] = count;
  }
}

DEVICE float share_of(Shares shares, int d) { return (float)(shares >> (8 * d) & 255); }

// Share of a pixel's own aggregate, of 255.
DEVICE float own_share(Shares shares) {
  float own = WHOLE;
  UNROLL for (int d = 0; d < DIRECTIONS; d++) own -= share_of(shares, d);
  return own;
}

// ---- numbers of coarse nodes: exclusive sums of the counts of their tiles
#define SCANNED 1024

DEVICE int block_scan(int value, int& sum) {  // over the threads of a block
#ifdef HOST
  sum = value;
  return 0;
#else
  __shared__ int sums[32];
  int v = value;
  for (int o = 1; o < 32; o <<= 1) {
    int other = __shfl_up_sync(ALL_LANES, v, o);
    if (LANE >= o) v += other;
  }
  SYNC();
  if (LANE == 31) sums[WARP] = v;
  SYNC();
  int before = 0;
  sum = 0;
  for (int w = 0; w < WARPS; w++) {
    if (w < WARP) before += sums[w];
    sum += sums[w];
  }
  return before + v - value;
#endif
}

DEVICE void set_count(const Grid& g, int l, int count) {
  const Level& L = g.level[l];
  L.tile_start[L.rows * L.columns] = count;
  *L.count = count < L.room ? count : L.room;  // what has no room is left out of the hierarchy
  g.s->edges[l] = 0;
  if (l == 1) g.s->irregular = 0;
}

// Sums of tiles first .. end - 1 by one block, which returns their total; a thread has several.
DEVICE int scan_tiles(const Level& L, int first, int end) {
  int each = (end - first + THREADS - 1) / THREADS, sum = 0, total;
  int from = first + THREAD * each, to = from + each < end ? from + each : end;
  for (int t = from; t < to; t++) sum += L.tile_count[t];
  int run = block_scan(sum, total);
  for (int t = from; t < to; t++) {
    L.tile_start[t] = run;
    run += L.tile_count[t];
  }
  return total;
}

DEVICE void scan_level(const Grid& g, int l) {
  const Level& L = g.level[l];
  int tiles = L.rows * L.columns, total = scan_tiles(L, 0, tiles);
  EACH(i, (tiles + SCANNED - 1) / SCANNED) L.block_start[i] = 0;
  if (THREAD == 0) set_count(g, l, total);
}

KERNEL(scan, 1024) { scan_level(g, a); }

KERNEL(scan_blocks, 1024) {
  const Level& L = g.level[a];
  int tiles = L.rows * L.columns, end = (BLOCK + 1) * SCANNED;
  int total = scan_tiles(L, BLOCK * SCANNED, end < tiles ? end : tiles);
  if (THREAD == 0) L.block_start[BLOCK] = total;
}

KERNEL(scan_totals, 1024) {
  const Level& L = g.level[a];
  int blocks = (L.rows * L.columns + SCANNED - 1) / SCANNED, run = 0;
  for (int i0 = 0; i0 < blocks; i0 += THREADS) {
    int i = i0 + THREAD, sum;
    int before = block_scan(i < blocks ? L.block_start[i] : 0, sum);
    if (i < blocks) L.block_start[i] = run + before;
    run += sum;
  }
  if (THREAD == 0) set_count(g, a, run);
}

// Starts of the tiles of level a, each block's own added.
KERNEL(start_tiles, 256) {
  const Level& L = g.level[a];
  EVERYWHERE(t, L.rows * L.columns) L.tile_start[t] += L.block_start[t / SCANNED];
}

KERNEL(number_first_level, 128) {
  const Level& L = g.level[1];
  EVERYWHERE(t, L.rows * L.columns) {
    int start = L.tile_start[t];
    for (int k = 0; k < L.tile_count[t]; k++)
      if (start + k < L.room) L.tile_of[start + k] = (int)t;
  }
}
