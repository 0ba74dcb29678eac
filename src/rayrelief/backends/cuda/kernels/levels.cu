// Coarser levels: the same aggregates, of nodes inside 3 x 3 tiles of tiles. Each function is given
// its first item and its stride, in threads or in warps: of a whole grid, or of one block.
#define INDEX 0x3fffffffu
#define FROM_THERE 0x80000000u  // the node interpolates from the other end of this edge
#define TO_THERE 0x40000000u    // and the other end from the node
#define STRONG (FROM_THERE | TO_THERE)

// Entries k, (column with its flags) c, value v of a row; eight are fetched at once.
#define ENTRIES(L, i, n, ...)                                  \
  for (int k0_ = 0, n_ = (n); k0_ < n_; k0_ += 8) {            \
    u32 columns_[8];                                           \
    float values_[8];                                          \
    UNROLL for (int k_ = 0; k_ < 8; k_++) {                    \
      i64 at_ = (i64)(k0_ + k_) * (L).room + (i);              \
      columns_[k_] = k0_ + k_ < n_ ? (L).column[at_] : 0;      \
      values_[k_] = k0_ + k_ < n_ ? (L).value[at_] : 0.f;      \
    }                                                          \
    UNROLL for (int k_ = 0; k_ < 8; k_++) if (k0_ + k_ < n_) { \
      const int k = k0_ + k_;                                  \
      u32 c = columns_[k_];                                    \
      float v = values_[k_];                                   \
      (void)k;                                                 \
      (void)v;                                                 \
      __VA_ARGS__                                              \
    }                                                          \
  }

// A tile of the next level holds 3 x 3 tiles of this one; where only one is left, that one.
DEVICE int tiles_across(const Level& L) { return L.rows == 1 && L.columns == 1 ? 1 : 3; }

DEVICE void mark_strong(const Grid& g, int l, int first, int stride) {
  const Level& L = g.level[l];
  int n = FRESH(L.count);
  for (int i = first; i < n; i += stride) {
    float most = L.strongest[i], sum = 0.f;
    for (int k0 = 0, n_row = L.length[i]; k0 < n_row; k0 += 8) {
      u32 j[8];
      float value[8], there[8];
      UNROLL for (int k = 0; k < 8; k++) {
        bool entry = k0 + k < n_row;
        j[k] = entry ? L.column[(i64)(k0 + k) * L.room + i] & INDEX : i;
        value[k] = entry ? L.value[(i64)(k0 + k) * L.room + i] : 0.f;
      }
      UNROLL for (int k = 0; k < 8; k++) there[k] = L.strongest[j[k]];
      UNROLL for (int k = 0; k < 8; k++) if (k0 + k < n_row) {
        bool strong = value[k] > 0.f && value[k] >= g.strength * fmaxf(most, there[k]);
        if (strong) sum += value[k];
        L.column[(i64)(k0 + k) * L.room + i] = j[k] | (strong ? STRONG : 0u);
      }
    }
    L.strong[i] = sum > 0.f ? g.damping / sum : 0.f;
    L.own[i] = sum > 0.f ? 1.f - g.damping : 0.f;
    L.rank[i] = -1;
  }
}

// Nodes of a rectangle of tiles, as contiguous ranges of numbers.
#if WRAPS
#define RANGES(rows) (2 * (rows))
#else
#define RANGES(rows) (rows)
#endif
template <int ROWS> struct Window {
  int begin[RANGES(ROWS)], end[RANGES(ROWS)], before[RANGES(ROWS)], n;

  DEVICE_MEMBER void add(const Level& L, int k, int row, int left, int right) {
    int from = 0, to = 0;
    if (row >= 0 && left <= right) {
      from = L.tile_start[row * L.columns + left];
      to = L.tile_start[row * L.columns + right + 1];
      if (from > L.room) from = L.room;
      if (to > L.room) to = L.room;
    }
    begin[k] = from;
    end[k] = to;
    before[k] = n;
    n += to - from;
  }

  DEVICE_MEMBER Window(const Level& L, int top, int bottom, int left, int right, int wraps) {
    n = 0;
    UNROLL for (int k = 0; k < ROWS; k++) {
      int row = top + k;
      if (row > bottom || row >= L.rows) row = -1;
#if WRAPS
      bool all = right - left + 1 >= L.columns, over = right >= L.columns, under = left < 0;
      if (!wraps || all) {
        add(L, 2 * k, row, under || wraps ? 0 : left, over || wraps ? L.columns - 1 : right);
        add(L, 2 * k + 1, -1, 0, -1);
      } else {  // what reaches over one border goes on at the other
        add(L, 2 * k, row, under ? left + L.columns : left, under || over ? L.columns - 1 : right);
        add(L, 2 * k + 1, under || over ? row : -1, 0, under ? right : right - L.columns);
      }
#else
      add(L, k, row, left < 0 ? 0 : left, right >= L.columns ? L.columns - 1 : right);
#endif
    }
  }

  DEVICE_MEMBER int local(int node) const {  // -1 outside
    int at = -1;
    UNROLL for (int k = 0; k < RANGES(ROWS); k++)
      if (node >= begin[k] && node < end[k]) at = before[k] + node - begin[k];
    return at;
  }

  DEVICE_MEMBER int node(int at) const {
    int found = 0;
    UNROLL for (int k = 0; k < RANGES(ROWS); k++)
      if (at >= before[k] && end[k] > begin[k]) found = begin[k] + at - before[k];
    return found;
  }
};

// Components of strong edges inside tiles of the next level, a warp each; room for so many labels.
DEVICE void find_aggregates(const Grid& g, int l, int first, int stride, int* label, int room) {
  const Level &L = g.level[l], &M = g.level[l + 1];
  int across = tiles_across(L);
  for (int tile = first; tile < M.rows * M.columns; tile += stride) {
    int top = tile / M.columns * across, left = tile % M.columns * across;
    Window<3> window(L, top, top + across - 1, left, left + across - 1, 0);
    int n = window.n < room ? window.n : room;
    EACH_LANE(q, n) {
      int i = window.node(q);
      bool lonely = L.own[i] == 0.f;
      float sum = 0.f;
      label[q] = q;
      // A node without a strong edge interpolates from those of its neighbours that have one.
      ENTRIES(L, i, L.length[i], if (!(c & STRONG) && v > 0.f) {
        bool other = L.own[c & INDEX] == 0.f;
        if (lonely && !other) sum += v;
        if (lonely != other) L.column[(i64)k * L.room + i] = c | (lonely ? FROM_THERE : TO_THERE);
      })
      if (lonely) L.strong[i] = sum > NEGLIGIBLE ? 1.f / sum : 0.f;
    }
    SYNC_WARP();
    for (bool changes = true; changes;) {  // labels only fall: this ends
      changes = false;
      EACH_LANE(q, n) {
        int i = window.node(q), old = label[q], least = old;
        if (L.own[i] == 0.f) continue;
        ENTRIES(L, i, L.length[i], {
          if ((c & STRONG) == STRONG) {
            int other = window.local(c & INDEX);
            if (other >= 0 && other < n && label[other] < least) least = label[other];
          }
        })
        if (label[least] < least) least = label[least];
        if (least != old) {
          label[q] = least;
          changes = true;
        }
      }
      changes = warp_any(changes);
      SYNC_WARP();
    }
    int count = 0;
    for (int q0 = 0; q0 < n; q0 += LANES) {
      int q = q0 + LANE, i = q < n ? window.node(q) : 0;
      bool root = q < n && L.own[i] != 0.f && label[q] == q;
      int rank = place(root, count);
      if (root) L.rank[i] = rank;
    }
    SYNC_WARP();
    // The others follow their root, kept as -2 - root until the tiles have their numbers.
    EACH_LANE(q, n) {
      int i = window.node(q);
      if (L.own[i] != 0.f && label[q] != q) L.rank[i] = -2 - window.node(label[q]);
    }
    if (LANE == 0) M.tile_count[tile] = count;
    SYNC_WARP();
  }
}

DEVICE void number_aggregates(const Grid& g, int l, int first, int stride) {
  const Level &L = g.level[l], &M = g.level[l + 1];
  int n = FRESH(L.count), across = tiles_across(L);
  for (int i = first; i < n; i += stride) {
    int rank = L.rank[i], root = rank >= 0 ? i : rank <= -2 ? -2 - rank : -1, node = -1;
    if (root >= 0) {
      int own = L.tile_of[i];
      int tile = own / L.columns / across * M.columns + own % L.columns / across;
      node = FRESH(&M.tile_start[tile]) + (rank >= 0 ? rank : L.rank[root]);
      if (node >= M.room) node = -1;
      if (rank >= 0 && node >= 0) M.tile_of[node] = tile;
    }
    L.aggregate[i] = node;
  }
}

DEVICE void interpolate_rows(const Grid& g, int l, int first, int stride) {
  const Level& L = g.level[l];
  int n = FRESH(L.count);
  for (int i = first; i < n; i += stride) {
    int to[INTERPOLATED];
    float share[INTERPOLATED], strong = L.strong[i], kept = 0.f, lost = 0.f;
    UNROLL for (int m = 0; m < INTERPOLATED; m++) {
      to[m] = -1;
      share[m] = 0.f;
    }
    int own = FRESH(&L.aggregate[i]);
    if (own >= 0) {
      to[0] = own;
      share[0] = kept = L.own[i];
    }
    if (strong != 0.f) ENTRIES(L, i, L.length[i], {
      int other = c & FROM_THERE ? FRESH(&L.aggregate[c & INDEX]) : -1;
      if (other >= 0) {
        bool done = false;
        float add = strong * v;
        UNROLL for (int m = 0; m < INTERPOLATED; m++)
          if (!done && (to[m] == other || to[m] < 0)) {
            to[m] = other;
            share[m] += add;
            done = true;
          }
        if (done) kept += add; else lost += add;
      }
    })
    float scale = lost > 0.f ? (kept + lost) / kept : 1.f;
    UNROLL for (int m = 0; m < INTERPOLATED; m++) {
      L.to[(i64)m * L.room + i] = to[m] < 0 ? 0 : to[m];
      L.share[(i64)m * L.room + i] = share[m] * scale;
    }
  }
}

// Rows of the next level, a warp each: the flux that the basis function of a node causes at all
// nodes around it; a lane adds up what one other coarse node gets. Room for so many nodes around.
#define AT_ONCE 2  // nodes whose shares are fetched at once
struct Around { float *own, *flux; int *where, room; };
DEVICE void coarse_product(const Grid& g, int l, int first, int stride, const Around& space) {
  float *own = space.own, *flux = space.flux;
  int *where = space.where, room = space.room;
  const Level &L = g.level[l], &M = g.level[l + 1];
  int nodes = FRESH(M.count), across = tiles_across(L), far = across == 3 ? 2 : 0;
  for (int node = first; node < nodes; node += stride) {
    int tile = FRESH(&M.tile_of[node]), row = tile / M.columns, column = tile % M.columns;
    // Beyond the seam of an image that wraps, whose last tile may be narrow, more is near.
    int more = g.wraps && (column == 0 || column >= M.columns - 2), aside = far + more;
    Window<7> around(L, row * across - far, row * across + across - 1 + far,
                     column * across - aside, column * across + across - 1 + aside, g.wraps);
    Window<3> others(M, row - 1, row + 1, column - 1 - more, column + 1 + more, g.wraps);
    int n = around.n < room ? around.n : room, given = 0;
    Row found = {};
    for (int q0 = 0; q0 < n; q0 += LANES) {
      int q = q0 + LANE, i = q < n ? around.node(q) : 0;
      float p = 0.f;
      if (q < n) {
        UNROLL for (int m = 0; m < INTERPOLATED; m++) {
          float share = L.share[(i64)m * L.room + i];
          if (share != 0.f && L.to[(i64)m * L.room + i] == node) p += share;
        }
        own[q] = p;
        if (L.aggregate[i] == node) found.mass += L.mass[i];
#if ANCHORED
        found.anchor += p * L.anchor[i];
#endif
      }
      int at = place(p != 0.f, given);
      if (p != 0.f && at < M.from_width) {
        M.from[(i64)node * M.from_width + at] = i;
        M.from_share[(i64)node * M.from_width + at] = p;
      }
    }
    SYNC_WARP();
    // Nodes where something flows, and how much, in place of what is not needed any more.
    int flowing = 0;
    for (int q0 = 0; q0 < n; q0 += LANES) {
      int q = q0 + LANE, i = 0;
      float f = 0.f;
      if (q < n) {
        i = around.node(q);
        float p = own[q];
        ENTRIES(L, i, L.length[i], {
          int other = around.local(c & INDEX);
          f += v * ((other >= 0 && other < n ? own[other] : 0.f) - p);
        })
      }
      int at = place(f != 0.f, flowing);
      if (f != 0.f) {
        flux[at] = f;
        where[at] = i;
      }
    }
    SYNC_WARP();
    for (int k0 = 0; k0 < others.n; k0 += LANES / PAIR) {
      int k = k0 + LANE / PAIR, other = k < others.n ? others.node(k) : node;
      float v = 0.f;
      for (int q0 = LANE % PAIR * AT_ONCE; q0 < flowing; q0 += PAIR * AT_ONCE) {
        int to[AT_ONCE][INTERPOLATED];
        float share[AT_ONCE][INTERPOLATED];
        UNROLL for (int u = 0; u < AT_ONCE; u++) {
          int i = where[q0 + u < flowing ? q0 + u : q0];
          UNROLL for (int m = 0; m < INTERPOLATED; m++) {
            to[u][m] = L.to[(i64)m * L.room + i];
            share[u][m] = L.share[(i64)m * L.room + i];
          }
        }
        UNROLL for (int u = 0; u < AT_ONCE; u++) {
          float f = q0 + u < flowing ? flux[q0 + u] : 0.f;
          UNROLL for (int m = 0; m < INTERPOLATED; m++)
            if (to[u][m] == other) v += f * share[u][m];
        }
      }
      v = pair_sum(v);
      append(M, node, other, LANE % PAIR == 0 && other != node ? v : 0.f, found);
    }
    if (LANE == 0) M.from_length[node] = given < M.from_width ? given : M.from_width;
    finish_row_of_warp(g, l + 1, node, found);
    SYNC_WARP();
  }
}

KERNEL(mark, 128) { mark_strong(g, a, BLOCK * THREADS + THREAD, BLOCKS * THREADS); }
KERNEL(number, 128) { number_aggregates(g, a, BLOCK * THREADS + THREAD, BLOCKS * THREADS); }
KERNEL(rows, 128) { interpolate_rows(g, a, BLOCK * THREADS + THREAD, BLOCKS * THREADS); }
KERNEL(find, 128) {
  SHARED int label[WARPS_OF(128)][1024];
  find_aggregates(g, a, BLOCK * WARPS + WARP, BLOCKS * WARPS, label[WARP], 1024);
}
// Fine levels have few nodes around, and many products at once; coarse ones the other way round.
template <int SIZE, int ROOM> DEVICE void product_with_room(const Grid& g, int l) {
  SHARED float own[WARPS_OF(SIZE)][ROOM], flux[WARPS_OF(SIZE)][ROOM];
  SHARED int where[WARPS_OF(SIZE)][ROOM];
  coarse_product(g, l, BLOCK * WARPS + WARP, BLOCKS * WARPS, {own[WARP], flux[WARP], where[WARP], ROOM});
}
KERNEL(product, 128) { product_with_room<128, 1000>(g, a); }
KERNEL(product_deep, 32) { product_with_room<32, 4000>(g, a); }
CROWDED_KERNEL(product_fine, 128, 8) { product_with_room<128, 64 * DIRECTIONS>(g, a); }
