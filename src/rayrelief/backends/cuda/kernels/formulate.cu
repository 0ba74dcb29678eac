// Normals and rays to equations, and the connected components of what they join.
struct Vector { double x, y, z; };
DEVICE double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
DEVICE Vector minus(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

// Index of a pixel in the image that was given: the grid may be a part of it.
DEVICE i64 source_of(const Grid& g, i64 i) {
  return (i64)(y_of(g, i) + g.source_y) * g.source_width + x_of(g, i) + g.source_x;
}

// Ray of a pixel: its origin where rays are parallel. A pinhole needs no table of them.
DEVICE Vector ray_at(const Grid& g, i64 i) {
  i64 j = source_of(g, i);
  if (g.rays) return {g.rays[3 * j], g.rays[3 * j + 1], g.rays[3 * j + 2]};
  double x = x_of(g, i) + g.source_x, y = y_of(g, i) + g.source_y;
  return {(x - g.pinhole[2]) / g.pinhole[0], (y - g.pinhole[3]) / g.pinhole[1], 1.};
}

struct Sight { bool has_normal, has_ray; Vector normal, ray; double facing; };  // facing: n . tau

DEVICE Sight sight_at(const Grid& g, i64 i) {
  Sight s = {};
  if (i < 0) return s;
  i64 j = source_of(g, i);
  if (g.mask && !g.mask[j]) return s;
  Vector n = {g.normals[3 * j], g.normals[3 * j + 1], g.normals[3 * j + 2]};
  double length = sqrt(dot(n, n));
  s.has_normal = length > 0. && length < 1e300;
  s.normal = {n.x / length, n.y / length, n.z / length};
  s.ray = ray_at(g, i);
  s.has_ray = dot(s.ray, s.ray) < 1e300;
  s.facing = g.logarithmic ? dot(s.normal, s.ray) : s.normal.z;
  return s;
}
DEVICE bool usable(const Sight& s) { return s.has_normal && s.has_ray; }

// What x[a] - x[b] is on a continuous surface, and the factor gamma; 0 where none is possible.
DEVICE double pixels_along(int d) { return d >= BELOW_RIGHT ? sqrt(2.) : 1.; }
DEVICE void equation(const Grid& g, const Sight& here, const Sight& there, int d, float& offset, float& gamma) {
  Vector step = minus(there.ray, here.ray);
  double length = sqrt(dot(step, step));
  double focal = length > (g.logarithmic ? 1e-9 : 0.) ? pixels_along(d) / length : 0.;
  double mine = dot(here.normal, step) / here.facing, other = dot(there.normal, step) / there.facing, value;
  if (g.first_order) {
    value = mine;
  } else if (g.logarithmic) {
    double ratio = (1. + .5 * mine) / (1. - .5 * other);  // omega, Eq. 3
    bool small = fabs(mine) < .5 && fabs(other) < .5;
    value = small ? log1p(.5 * mine) - log1p(-.5 * other) : log(ratio > 0. ? ratio : -1.);
  } else {
    value = here.facing * there.facing > 0. ? .5 * (mine + other) : NAN;
  }
  bool possible = fabs(value) < 1e300;
  offset = possible ? (float)value : 0.f;
  gamma = possible ? (float)(focal * here.facing) : 0.f;  // Eq. 13
}

// The equations of both directions of all edges, of which some are not possible.
struct TwoPlanes {
  static DEVICE_MEMBER void write(const Grid& g, i64 i, const Sight& here) {
    int x = x_of(g, i), y = y_of(g, i);
    UNROLL for (int d = 0; d < DIRECTIONS; d++) {
      float offset = 0.f, gamma = 0.f;
      if (usable(here)) {
        Sight there = sight_at(g, neighbour_of(g, x, y, d));
        if (usable(there)) equation(g, here, there, d, offset, gamma);
      }
      ((float*)g.offset[d])[i] = offset;
      ((float*)g.gamma[d])[i] = gamma;
    }
  }
};

template <class Equations> DEVICE void formulate_pixels(const Grid& g) {
  double counts[4] = {0, 0, 0, 0};
  EVERYWHERE(i, pixels(g)) {
    Sight here = sight_at(g, i);
    bool inside = usable(here);
    Equations::write(g, i, here);
    g.component[i] = inside ? (int)i : -1;
    bool asked = !g.mask || g.mask[source_of(g, i)];
    counts[0] += inside;
    counts[1] += inside && here.facing >= 0.;
    counts[2] += asked && !here.has_normal;
    counts[3] += asked && here.has_normal && !here.has_ray;
  }
  put_partial<4>(g, counts, SUM_MEASURE);
}
KERNEL(formulate, 256) { formulate_pixels<TwoPlanes>(g); }

// Equations whose say is scaled by the confidence of both pixels: the twin of
// formulation/confidence.py. With intervals (a) sigma has it, else gamma, but not in the weights.
KERNEL(trust, 256) {
  EVERYWHERE(i, pixels(g)) {
    int x = x_of(g, i), y = y_of(g, i);
    float own = fmaxf(g.confidence[source_of(g, i)], LEAST_CONFIDENCE);
    UNROLL for (int d = 0; d < DIRECTIONS; d++) {
      i64 j = neighbour_of(g, x, y, d);
      if (j < 0 || (a && d & 1)) continue;
      float other = fmaxf(g.confidence[source_of(g, j)], LEAST_CONFIDENCE);
      float factor = sqrtf(2.f / (1.f / own + 1.f / other));
      if (a) {
        ((float*)g.sigma[d / 2])[i] /= factor;
      } else {
        ((float*)g.gamma_weight[d])[i] = g.gamma[d][i];
        ((float*)g.gamma[d])[i] *= factor;
      }
    }
  }
}
KERNEL(formulate_totals, 256) {  // of a blocks
  double total[4];
  totals<4>(g, SUM_MEASURE, a, total);
  if (THREAD == 0) {
    g.s->nodes = (int)total[0];
    g.s->facing_away = (int)total[1];
    g.s->without_normal = (int)total[2];
    g.s->without_ray = (int)total[3];
  }
}

// Components are known by their first pixel.
DEVICE int root_of(const int* component, int i) {
  for (int above; (above = FRESH(&component[i])) != i;) i = above;
  return i;
}
// The same while pixels are joined: on the way each second step is shortened. What is written is
// above the pixel for ever, whoever else writes; but it may be older than what others wrote.
DEVICE int shortened_root_of(int* component, int i) {
  for (int above; (above = FRESH(&component[i])) != i;) {
    int next = FRESH(&component[above]);
    if (next != above) component[i] = next;
    i = next;
  }
  return i;
}
DEVICE void join(int* component, int i, int j) {
  for (;;) {
    i = shortened_root_of(component, i);
    j = shortened_root_of(component, j);
    if (i == j) return;
    int high = i > j ? i : j, low = i > j ? j : i;
    int old = lower(&component[high], low);
    if (old == high) return;
    i = old;
    j = low;
  }
}
KERNEL(join_pixels, 256) {
  EVERYWHERE(i, pixels(g)) {
    int x = x_of(g, i), y = y_of(g, i);
    UNROLL for (int d = 0; d < DIRECTIONS; d += 2)
      if (g.gamma[d][i] != 0.f) join(g.component, (int)i, (int)neighbour_of(g, x, y, d));
  }
}
KERNEL(label_pixels, 256) {
  double roots[1] = {0};
  EVERYWHERE(i, pixels(g)) if (g.component[i] >= 0) {
    int root = root_of(g.component, (int)i);
    roots[0] += root == i;
    g.component[i] = root;
  }
  put_partial<1>(g, roots, SUM_MEASURE);
}
// Total of a blocks: of components (b = 0), or of pixels that cannot be started from.
KERNEL(count_total, 256) {
  double total[1];
  totals<1>(g, SUM_MEASURE, a, total);
  if (THREAD == 0) (b ? g.s->without_start : g.s->components) = (int)total[0];
}

// The surface of a depth to start from, or 0; counts pixels whose depth cannot be used.
KERNEL(start_from, 256) {
  double bad[1] = {0};
  EVERYWHERE(i, pixels(g)) {
    bool inside = g.start && g.component[i] >= 0;
    double depth = inside ? g.start[source_of(g, i)] : 1.;
    bool usable = fabs(depth) < 1e300 && (depth > 0. || !g.logarithmic);
    bad[0] += !usable;
    g.x[i] = !inside || !usable ? 0. : g.logarithmic ? log(depth) : depth;
  }
  put_partial<1>(g, bad, SUM_MEASURE);
}

// Depth of the surface, each component with its own constant; NaN outside.
KERNEL(depth_of, 256) {
  bool one = g.s->components == 1;
  double whole = g.median[0] - g.median[1];
  EVERYWHERE(i, pixels(g)) {
    double x = g.x[i] + (one ? whole : g.shift[g.part[i]]);
    g.depth[source_of(g, i)] = g.component[i] < 0 ? NAN : g.logarithmic ? exp(x) : x;
  }
}
