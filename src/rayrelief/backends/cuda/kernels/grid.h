// The arrays of a problem on the pixel grid. layout.py describes the same four structures.
#define LEVELS 12
#define INTERPOLATED 6   // coarse nodes that a node interpolates from, at most
#define DENSE 96         // nodes of the coarsest level that is solved directly, at most
#define NEGLIGIBLE 1e-16f
// Directions d and d ^ 1 are opposite; DIRECTIONS, 4 or 8, says how many of these are used.
enum { RIGHT, LEFT, BELOW, ABOVE, BELOW_RIGHT, ABOVE_LEFT, ABOVE_RIGHT, BELOW_LEFT };
#define PAIRS (DIRECTIONS / 2)
enum { SUM_RR, SUM_RZ, SUM_PQ = 7, SUM_WEIGH = 9, SUM_MEASURE = 13 };

#if DIRECTIONS == 8
typedef u64 Shares;  // of the neighbours in a pixel, eight bits each
#else
typedef u32 Shares;
#endif

struct Scalars {
  double energy, rr, bb, flux, limit;  // squared: residual, right-hand side, residual to reach
  double measured[4], noise, least;
  u64 prefix[2];
  int rank[2], done, cycles, last, irregular;
  int nodes, components, facing_away, without_normal, without_ray, without_start, lone;
  int counted;
  int edges[LEVELS];
};

// Nodes sorted by tile; rows padded to eight entries, entry k of all rows before entry k + 1.
struct Level {
  int *count, *tile_start, *tile_count, *block_start, *tile_of;
  u32* column;
  float* value;
  int* length;
  float *inverse, *strongest, *mass, *strong, *own, *anchor;
  int *rank, *aggregate;
  int* to;
  float* share;
  int *from, *from_length;
  float* from_share;
  float *b, *d, *x, *r, *e;
  int room, rows, columns, width, from_width, pad;
};

// An edge between two parts of the surface, which are known by their numbers.
struct BorderEdge {
  double residual;
  int here, there;
  float focal, half_width, sigma, lead;
};

// An edge's conductance is kept at the pixel that it leaves in an even direction, c[d / 2].
struct Grid {
  const float *offset[8], *gamma[8], *gamma_weight[8], *half_width[4], *sigma[4], *lead[4];
  const float* anchor;         // how strongly each pixel is held, and to which value
  const double* anchor_value;
  double* x;
  float *d, *r[2], *p[2], *q, *z, *residual, *c[4], *kept[3];
  Shares* shares;
  u8* label;
  int* irregular;
  double* partial;
  Scalars* s;
  float* dense;
  const int *order, *segment_start, *segment_of, *component_start;
  double *segment_sum, *component_mean;
  const float* normals;
  const u8* mask;
  const float* confidence;
  const double *rays, *start, *shift;
  int *component, *part, *bins;
  float *curl, *loop_leverage, *average[3];
  u8* lone;
  int *part_of, *part_size, *part_number;  // of parts that stay, -1 less their number
  u8* leaves;  // for each pair of directions, whether the edge is one between parts
  const i64* crossing;
  BorderEdge* border;
  double *depth, *median, pinhole[4], noise;
  int height, width, wraps, logarithmic, first_order, levels, tail, small_set_up;
  int stride, parts, direction_parts, tiles, spread, segments, jumps, redescends;
  int source_width, source_x, source_y;
  float deviations, widest, k, slope, threshold, corner, narrow, cheapest, ridge, sure;
  float strength, damping, first, turn[2], step[2];
  Level level[LEVELS];
};

DEVICE i64 pixels(const Grid& g) { return (i64)g.height * g.width; }

// Column and row of a pixel. An image has less than 2^31: dividing 64 bits would take long.
DEVICE int x_of(const Grid& g, i64 i) { return (int)((u32)i % (u32)g.width); }
DEVICE int y_of(const Grid& g, i64 i) { return (int)((u32)i / (u32)g.width); }

// Column of the image, around where it wraps; -1 outside.
DEVICE int column_of(const Grid& g, int x) {
#if WRAPS
  while (x < 0) x += g.width;
  while (x >= g.width) x -= g.width;
  return x;
#else
  return x >= 0 && x < g.width ? x : -1;
#endif
}

// Flat index of a pixel, -1 outside.
DEVICE i64 pixel_at(const Grid& g, int x, int y) {
  int column = column_of(g, x);
  return column >= 0 && y >= 0 && y < g.height ? (i64)y * g.width + column : -1;
}

// The neighbour in direction d: where it is, its flat index, its place in a window of such a width.
DEVICE int step_x(int d) { return d == BELOW || d == ABOVE ? 0 : d & 1 ? -1 : 1; }
DEVICE int step_y(int d) { return d < BELOW ? 0 : (d & 1) == (d >= ABOVE_RIGHT) ? 1 : -1; }
DEVICE i64 neighbour_of(const Grid& g, int x, int y, int d) {
  return pixel_at(g, x + step_x(d), y + step_y(d));
}
#define STEP(d, across) (step_x(d) + step_y(d) * (across))

// Conductance of the edge from pixel i to its neighbour j in direction d, -1 where there is none.
DEVICE float conductance(const Grid& g, i64 i, i64 j, int d) {
  return j < 0 ? 0.f : g.c[d / 2][d & 1 ? j : i];
}

// The part of a residual that counts: of what an anchor asks for, what the edges resist.
DEVICE float resisted(float anchor, float inverse) { return fmaxf(0.f, 1.f - anchor * inverse); }

// ---- sums over all blocks, in a fixed order
template <int N> DEVICE void put_partial(const Grid& g, const double* v, int slot) {
#ifdef HOST
  for (int k = 0; k < N; k++) g.partial[(i64)(slot + k) * g.stride + BLOCK] = v[k];
#else
  __shared__ double sums[N][32];
  UNROLL for (int k = 0; k < N; k++) {
    double sum = warp_sum(v[k]);
    if (LANE == 0) sums[k][WARP] = sum;
  }
  SYNC();
  if (THREAD < N) {
    double sum = 0;
    for (int w = 0; w < WARPS; w++) sum += sums[THREAD][w];
    g.partial[(i64)(slot + THREAD) * g.stride + BLOCK] = sum;
  }
#endif
}

// Totals of N consecutive slots with n partial sums each, in every thread of a block.
template <int N> DEVICE void totals(const Grid& g, int slot, int n, double* out) {
#ifdef HOST
  for (int k = 0; k < N; k++) {
    out[k] = 0;
    for (int i = 0; i < n; i++) out[k] += g.partial[(i64)(slot + k) * g.stride + i];
  }
#else
  if (n == 1) {
    UNROLL for (int k = 0; k < N; k++) out[k] = FRESH(&g.partial[(i64)(slot + k) * g.stride]);
    return;
  }
  __shared__ double sums[N][32];
  UNROLL for (int k = 0; k < N; k++) out[k] = 0;
  for (int i = THREAD; i < n; i += THREADS)
    UNROLL for (int k = 0; k < N; k++) out[k] += FRESH(&g.partial[(i64)(slot + k) * g.stride + i]);
  UNROLL for (int k = 0; k < N; k++) out[k] = warp_sum(out[k]);
  SYNC();
  if (LANE == 0) { UNROLL for (int k = 0; k < N; k++) sums[k][WARP] = out[k]; }
  SYNC();
  UNROLL for (int k = 0; k < N; k++) {
    out[k] = 0;
    for (int w = 0; w < WARPS; w++) out[k] += sums[k][w];
  }
#endif
}

// Large maps: one block adds up b slots from slot a on, so that later kernels read one number each.
KERNEL(collect, 1024) {
  int written = a >= SUM_PQ ? g.spread : g.tiles;
  for (int k = 0; k < b; k++) {
    double total[1];
    totals<1>(g, a + k, written, total);
    SYNC();
    if (THREAD == 0) g.partial[(i64)(a + k) * g.stride] = total[0];
    SYNC();
  }
}
