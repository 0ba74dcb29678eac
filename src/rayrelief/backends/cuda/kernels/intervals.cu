// Normals and rays to equations with intervals, of even directions alone: the twin of
// formulation/intervals.py, lone.py, steep.py and loops.py, which have the reasons. Lengths are in
// pixels.

// The mean of the normals around a pixel that agree, and whether it is surely another than its own.
DEVICE bool mean_around(const Grid& g, i64 i, Vector own, Vector& mean) {
  Sight around[DIRECTIONS];
  for (int d = 0; d < DIRECTIONS; d++)
    around[d] = sight_at(g, neighbour_of(g, x_of(g, i), y_of(g, i), d));
  for (int d = 0; d < DIRECTIONS; d++) {
    if (!usable(around[d])) continue;
    int count = 0;
    mean = {0., 0., 0.};
    for (int e = 0; e < DIRECTIONS; e++) {
      Vector n = around[e].normal;
      if (!usable(around[e]) || dot(around[d].normal, n) <= LONE_TOGETHER) continue;
      mean = {mean.x + n.x, mean.y + n.y, mean.z + n.z};
      count++;
    }
    if (count < LONE_AGREEING) continue;
    double length = sqrt(dot(mean, mean)), spread = 1. - length * length / (count * count);
    mean = {mean.x / length, mean.y / length, mean.z / length};
    return 2. - 2. * dot(mean, own) > LONE_SURE * LONE_SURE * spread;
  }
  return false;
}

DEVICE bool is_lone(const Grid& g, i64 i) {
  if (DIRECTIONS < LONE_AGREEING) return false;
  Sight own = sight_at(g, i);
  if (!usable(own)) return false;
  for (int d = 0; d < DIRECTIONS; d++) {
    Sight beside = sight_at(g, neighbour_of(g, x_of(g, i), y_of(g, i), d));
    if (usable(beside) && dot(own.normal, beside.normal) > LONE_APART) return false;
  }
  Vector mean;
  return mean_around(g, i, own.normal, mean);
}
KERNEL(find_lone, 256) {
  double counts[2] = {0, 0};
  EVERYWHERE(i, pixels(g)) {
    g.lone[i] = is_lone(g, i);
    counts[0] += g.lone[i];
    counts[1] += usable(sight_at(g, i));
  }
  put_partial<2>(g, counts, SUM_MEASURE);
}
KERNEL(lone_totals, 256) {  // of a blocks; 0 if there are too few to be surely wrong
  double total[2];
  totals<2>(g, SUM_MEASURE, a, total);
  if (THREAD == 0) g.s->lone = total[0] > LONE_FEWEST * total[1] ? (int)total[0] : 0;
}

// The noise that EXACT and SPREAD do not allow for; 0 before it is known.
DEVICE double beyond_allowed(double noise) {
  return noise > ALLOWED ? sqrt(noise * noise - ALLOWED * ALLOWED) : 0.;
}

// What is seen at a pixel, with the mean of those around it for a lone normal, and facing the
// camera by a least cosine where it faces it.
DEVICE double facing_of(const Grid& g, const Sight& s) {
  return g.logarithmic ? -dot(s.normal, s.ray) / sqrt(dot(s.ray, s.ray)) : -s.normal.z;
}
DEVICE Sight mended_at(const Grid& g, i64 i, double least) {
  Sight s = sight_at(g, i);
  if (i < 0 || !usable(s)) return s;
  Vector mean;
  if (g.s->lone && g.lone[i] && mean_around(g, i, s.normal, mean)) s.normal = mean;
  double length = g.logarithmic ? sqrt(dot(s.ray, s.ray)) : 1., facing = facing_of(g, s);
  Vector ray = s.ray, n = s.normal;
  if (!g.logarithmic) ray = {0., 0., 1.};
  if (facing > 0. && facing < least) {
    double own = facing / length, ahead = least / length;
    Vector across = {n.x + own * ray.x, n.y + own * ray.y, n.z + own * ray.z};
    double scale = sqrt((1. - least * least) / dot(across, across));
    s.normal = {scale * across.x - ahead * ray.x, scale * across.y - ahead * ray.y,
                scale * across.z - ahead * ray.z};
  }
  s.facing = g.logarithmic ? dot(s.normal, s.ray) : s.normal.z;
  return s;
}

struct Plane { Vector normal, place; double cosine; };  // place: the unit ray, or the origin

DEVICE Plane plane_of(const Grid& g, Vector normal, Vector ray) {
  double length = g.logarithmic ? sqrt(dot(ray, ray)) : 1.;
  Vector place = {ray.x / length, ray.y / length, ray.z / length};
  double cosine = g.logarithmic ? dot(normal, place) : normal.z;
  return {normal, place, fabs(cosine) > 1. / STEEPEST ? cosine : -1. / STEEPEST};
}

// End of the interval where a plane goes all the way to the next pixel, as it recedes.
DEVICE double end_of(const Grid& g, double rise) {
  if (!g.logarithmic) return rise;
  return -log(1. - rise > 1. / STEEPEST ? 1. - rise : 1. / STEEPEST);
}

struct Interval { float gamma, half_width, lead, leverage; };

DEVICE Interval interval_of(const Grid& g, const Plane& a, const Plane& b, int d) {
  Vector step = minus(b.place, a.place);
  double apart = sqrt(dot(step, step)), pace = pixels_along(d);
  double focal = apart > (g.logarithmic ? 1e-9 : 0.) ? pace / apart : 0.;
  double rise_a = -dot(a.normal, step) / a.cosine, rise_b = dot(b.normal, step) / b.cosine;
  double slope_a = apart > 0. ? rise_a / apart : 0., slope_b = apart > 0. ? rise_b / apart : 0.;
  double variance = (1. + slope_a * slope_a) / (a.cosine * a.cosine) +
                    (1. + slope_b * slope_b) / (b.cosine * b.cosine);
  double ends = focal * (end_of(g, rise_a) + end_of(g, rise_b));
  return {(float)focal, (float)(.5 * pace * ends), (float)(focal * (rise_a - rise_b)),
          (float)(.25 * pace * pace * variance)};
}

// Until the noise is known, the place of sigma holds the leverage.
DEVICE void put_interval(const Grid& g, i64 i, int d, const Interval& found) {
  ((float*)g.half_width[d / 2])[i] = found.half_width;
  ((float*)g.lead[d / 2])[i] = found.lead;
  ((float*)g.sigma[d / 2])[i] = found.leverage;
}

struct WithIntervals {
  static DEVICE_MEMBER void write(const Grid& g, i64 i, const Sight&) {
    int x = x_of(g, i), y = y_of(g, i);
    Sight here = mended_at(g, i, 0.);
    Plane own = plane_of(g, here.normal, here.ray);
    UNROLL for (int d = 0; d < DIRECTIONS; d += 2) {
      float offset = 0.f, gamma = 0.f;
      Interval found = {};
      if (usable(here)) {
        Sight there = mended_at(g, neighbour_of(g, x, y, d), 0.);
        if (usable(there)) equation(g, here, there, d, offset, gamma);
        if (gamma != 0.f) found = interval_of(g, own, plane_of(g, there.normal, there.ray), d);
      }
      ((float*)g.offset[d])[i] = offset;
      ((float*)g.gamma[d])[i] = found.gamma;
      put_interval(g, i, d, found);
    }
  }
};
KERNEL(formulate_intervals, 256) { formulate_pixels<WithIntervals>(g); }

// How many normals are steeper than the noise can tell.
KERNEL(count_steep, 256) {
  double counts[2] = {0, 0}, least = fmin(beyond_allowed(g.s->noise), LARGEST_TILT);
  EVERYWHERE(i, pixels(g)) if (g.component[i] >= 0) {
    double facing = facing_of(g, mended_at(g, i, 0.));
    counts[0] += facing > 0. && facing < least;
    counts[1]++;
  }
  put_partial<2>(g, counts, SUM_MEASURE);
}
KERNEL(steep_totals, 256) {  // of a blocks; none are turned if it is more than a rim
  double total[2];
  totals<2>(g, SUM_MEASURE, a, total);
  bool is_rim = total[0] <= RIM * total[1];
  if (THREAD == 0) g.s->least = is_rim ? fmin(beyond_allowed(g.s->noise), LARGEST_TILT) : 0.;
}
// Offsets of normals that are no steeper than the noise can tell, once it is known. Where just one
// end of an edge was turned, there may be none: then it stays as it was.
KERNEL(turn_steep, 256) {
  double least = g.s->least;
  if (least > 0.) EVERYWHERE(i, pixels(g)) {
    int x = x_of(g, i), y = y_of(g, i);
    Sight here = mended_at(g, i, least);
    UNROLL for (int d = 0; d < DIRECTIONS; d += 2) {
      if (g.gamma[d][i] == 0.f) continue;
      float offset, gamma;
      equation(g, here, mended_at(g, neighbour_of(g, x, y, d), least), d, offset, gamma);
      if (gamma != 0.f) ((float*)g.offset[d])[i] = offset;
    }
  }
}

// The loop to the right of and below each pixel: by how much it fails to close, and the variance
// of that over that of the normals, 0 where there is no loop.
KERNEL(go_around, 256) {
  EVERYWHERE(i, pixels(g)) {
    int x = x_of(g, i), y = y_of(g, i);
    i64 right = neighbour_of(g, x, y, RIGHT), below = neighbour_of(g, x, y, BELOW);
    float fewest = 0.f;
    if (right >= 0 && below >= 0) {
      fewest = fminf(g.gamma[RIGHT][i], g.gamma[BELOW][right]);
      fewest = fminf(fewest, fminf(g.gamma[RIGHT][below], g.gamma[BELOW][i]));
    }
    bool closed = fewest > 0.f;
    g.curl[i] = !closed ? 0.f : fewest * (g.offset[RIGHT][i] + g.offset[BELOW][right] -
                                          g.offset[RIGHT][below] - g.offset[BELOW][i]);
    g.loop_leverage[i] = !closed ? 0.f : g.sigma[0][i] + g.sigma[1][right] + g.sigma[0][below] + g.sigma[1][i];
  }
}

// The noise in radians: of single loops (a = 0), with what wide ones have beyond (a = 1), or given.
KERNEL(set_noise, 32) {
  if (THREAD != 0) return;
  double found = g.median[0] / GAUSSIAN_MEDIAN, single = a ? g.s->noise : found;
  double beyond = found * found - UNRELATED * UNRELATED * single * single;
  double extended = a && beyond > 0. ? EXTENT * EXTENT * beyond : 0.;
  g.s->noise = a && g.noise >= 0. ? g.noise : sqrt(single * single + extended);
}

DEVICE float even_gamma(const Grid& g, i64 i, i64 j, int d) { return g.gamma[d & ~1][d & 1 ? j : i]; }

// Normals, each averaged with those beside it that the noise alone may tell apart.
KERNEL(average_normals, 256) {
  double noise = g.s->noise, least = g.s->least;
  if (noise <= NOISELESS) return;
  EVERYWHERE(i, pixels(g)) if (g.component[i] >= 0) {
    int x = x_of(g, i), y = y_of(g, i);
    Vector own = mended_at(g, i, least).normal, sum = own;
    UNROLL for (int d = 0; d < DIRECTIONS; d++) {
      i64 j = neighbour_of(g, x, y, d);
      if (j < 0 || even_gamma(g, i, j, d) == 0.f) continue;
      Vector beside = mended_at(g, j, least).normal, apart = minus(beside, own);
      double say = exp(-.5 * dot(apart, apart) / (AGREE * noise * AGREE * noise));
      sum = {sum.x + say * beside.x, sum.y + say * beside.y, sum.z + say * beside.z};
    }
    double length = sqrt(dot(sum, sum));
    g.average[0][i] = (float)(sum.x / length);
    g.average[1][i] = (float)(sum.y / length);
    g.average[2][i] = (float)(sum.z / length);
  }
}

DEVICE Plane average_plane(const Grid& g, i64 i) {
  return plane_of(g, {g.average[0][i], g.average[1][i], g.average[2][i]}, ray_at(g, i));
}

// What loops beside an edge from a pixel to the right (or down) agree on, less the noise.
DEVICE float agreed(const Grid& g, int x, int y, bool down) {
  float least = 0.f, sign = 0.f, noise = (float)g.s->noise;
  for (int k = -AGREEING; k < AGREEING; k++) {
    i64 i = pixel_at(g, down ? x + k : x, down ? y : y + k);
    float beyond = i < 0 ? 0.f : fabsf(g.curl[i]) - noise * sqrtf(g.loop_leverage[i]);
    if (beyond <= 0.f || g.curl[i] * sign < 0.f) return 0.f;
    sign = g.curl[i];
    least = k == -AGREEING ? beyond : fminf(least, beyond);
  }
  return least;
}

// By how many pixels a jump across an edge grows along its border. A diagonal crosses a border
// where both ways around its corners do.
DEVICE float growth(const Grid& g, i64 i, int x, int y, int d) {
  if (d == RIGHT || d == BELOW) return agreed(g, x, y, d == BELOW);
  float across = agreed(g, x, y, false);
  bool right = g.gamma[RIGHT][i] != 0.f, below = g.gamma[BELOW][i] != 0.f;
  if (d == BELOW_RIGHT) {
    float first = fmaxf(across, agreed(g, right ? x + 1 : x, y, true));
    return fminf(first, fmaxf(agreed(g, x, y, true), agreed(g, x, below ? y + 1 : y, false)));
  }
  i64 up = neighbour_of(g, x, y, ABOVE);
  int higher = up >= 0 && g.gamma[BELOW][up] != 0.f ? y - 1 : y;
  float first = fmaxf(across, agreed(g, x + 1, y - 1, true));
  return fminf(first, fmaxf(agreed(g, x, higher, true), agreed(g, x, higher, false)));
}

KERNEL(finish_intervals, 256) {
  double noise = g.s->noise, beyond = beyond_allowed(noise), excess = beyond * beyond;
  EVERYWHERE(i, pixels(g)) {
    int x = x_of(g, i), y = y_of(g, i);
    UNROLL for (int d = 0; d < DIRECTIONS; d += 2) {
      if (g.gamma[d][i] == 0.f) continue;
      if (noise > NOISELESS) {
        i64 there = neighbour_of(g, x, y, d);
        put_interval(g, i, d, interval_of(g, average_plane(g, i), average_plane(g, there), d));
      }
      double from_noise = excess * g.sigma[d / 2][i], width = g.half_width[d / 2][i];
      double squared = width * width - LEFT_OVER * from_noise;
      if (squared < 0.) squared = 0.;
      float narrowed = (float)copysign(sqrt(squared), width), grows = growth(g, i, x, y, d);
      ((float*)g.half_width[d / 2])[i] = grows > fabsf(narrowed) ? grows : narrowed;
      ((float*)g.sigma[d / 2])[i] = (float)sqrt(EXACT * EXACT + SPREAD * SPREAD * squared + from_noise);
    }
  }
}
