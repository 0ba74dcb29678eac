// Medians, eight bits at a time: how many values have each next byte, among those that share the
// bytes found so far. Whole numbers are counted, so the order does not matter; the two middle ones
// are looked for at once.
#define BYTES 256

// Numbers whose order is that of the values.
DEVICE u64 ordered_bits(double value) {
  union { double value; u64 bits; } both = {value};
  return both.bits >> 63 ? ~both.bits : both.bits | 1ull << 63;
}
DEVICE double from_ordered(u64 bits) {
  union { u64 bits; double value; } both = {bits >> 63 ? bits & ~(1ull << 63) : ~bits};
  return both.value;
}

KERNEL(median_begin, 256) {
  EACH(k, 2 * BYTES) g.bins[k] = 0;
  EACH(middle, 2) g.s->prefix[middle] = 0;
}

// What medians are taken of: the surface, and how far loops are from closing.
struct Surface {
  static DEVICE_MEMBER bool counts(const Grid& g, i64 i) { return g.component[i] >= 0; }
  static DEVICE_MEMBER double value(const Grid& g, i64 i) { return g.x[i]; }
};
struct OpenLoops {
  static DEVICE_MEMBER bool counts(const Grid& g, i64 i) { return g.loop_leverage[i] > 0.f; }
  static DEVICE_MEMBER double value(const Grid& g, i64 i) {
    return fabsf(g.curl[i]) / sqrtf(g.loop_leverage[i]);
  }
};

// Loops of SPAN x SPAN pixels, to the right of and below each pixel; the noise is that of single
// ones.
struct WideLoops {
  static DEVICE_MEMBER double value(const Grid& g, i64 first) {  // below 0 where there is none
    float curl = 0.f, leverage = 0.f;
    for (int row = 0; row < SPAN; row++) {
      i64 i = first;
      for (int column = 0; column < SPAN; column++) {
        if (!(g.loop_leverage[i] > 0.f)) return -1.;
        float most = (float)(MOST_OPEN * g.s->noise) * sqrtf(g.loop_leverage[i]);
        curl += fminf(fmaxf(g.curl[i], -most), most);
        leverage += g.loop_leverage[i];
        i = neighbour_of(g, x_of(g, i), y_of(g, i), RIGHT);
      }
      first = neighbour_of(g, x_of(g, first), y_of(g, first), BELOW);
    }
    return fabsf(curl) / sqrtf(leverage / SPAN);
  }
  static DEVICE_MEMBER bool counts(const Grid& g, i64 i) { return value(g, i) >= 0.; }
};

template <class Values> DEVICE void count_bytes(const Grid& g, int a) {  // byte a
  SHARED int bins[2 * BYTES];
  EACH(k, 2 * BYTES) bins[k] = 0;
  SYNC();
  int shift = 56 - 8 * a;
  u64 prefix[2] = {g.s->prefix[0], g.s->prefix[1]};
  EVERYWHERE(i, pixels(g)) if (Values::counts(g, i)) {
    u64 bits = ordered_bits(Values::value(g, i));
    for (int middle = 0; middle < 2; middle++)
      if (a == 0 || bits >> (shift + 8) == prefix[middle])
        add_to(&bins[middle * BYTES + (int)(bits >> shift & 255)], 1);
  }
  SYNC();
  EACH(k, 2 * BYTES) if (bins[k]) add_to(&g.bins[k], bins[k]);
}

KERNEL(median_count, 256) { count_bytes<Surface>(g, a); }
KERNEL(noise_count, 256) { count_bytes<OpenLoops>(g, a); }
KERNEL(wide_noise_count, 256) { count_bytes<WideLoops>(g, a); }

KERNEL(median_pick, 512) {  // byte a; the last one gives the median, into place b (0 of none)
  SHARED int bins[2 * BYTES];
  EACH(k, 2 * BYTES) {
    bins[k] = g.bins[k];
    g.bins[k] = 0;
  }
  SYNC();
  EACH(middle, 2) {
    int rank = g.s->rank[middle], byte = 0, all = 0;
    if (a == 0) {
      for (int k = 0; k < BYTES; k++) all += bins[k];
      rank = (all - 1 + middle) / 2;
    }
    for (; byte < BYTES - 1 && rank >= bins[middle * BYTES + byte]; byte++)
      rank -= bins[middle * BYTES + byte];
    g.s->rank[middle] = rank;
    if (a == 0) g.s->counted = all;
    g.s->prefix[middle] = g.s->prefix[middle] << 8 | (u64)byte;
  }
  SYNC();
  if (a == 7 && THREAD == 0)
    g.median[b] = g.s->counted ? (from_ordered(g.s->prefix[0]) + from_ordered(g.s->prefix[1])) / 2 : 0.;
}
