// What the residual of an edge costs on a continuous surface, and across a jump: the twin of
// methods/ordered/evidence.py, which has the reasons and, in g.evidence, the constants.
DEVICE float jump_odds(const Evidence& e, float half_width, float lead) {
  float odds = fabsf(half_width) / e.even, slower = half_width - .5f * fabsf(lead);
  if (half_width < 0.f) odds /= e.ridge;
  else odds *= expf(-e.foot * fminf(fmaxf(slower, -1.f), 1.f));
  return fminf(fmaxf(odds, e.least), 1.f / e.least);
}

DEVICE float order_probability(const Evidence& e, float half_width, float lead) {
  float slower = half_width - .5f * fabsf(lead);
  float trust = fminf(fabsf(lead) / e.sure, 1.f) * fminf(fmaxf(e.both_recede - slower, .2f), 1.f);
  return .5f + e.ordered * trust;
}

// What the cost of an edge needs, whatever its residual.
struct EdgeCosts { float width, sigma, lead, in_order, against; };

DEVICE EdgeCosts costs_of(const Evidence& e, float half_width, float sigma, float lead) {
  float likely = e.dear - logf(jump_odds(e, half_width, lead));
  float order = order_probability(e, half_width, lead);
  float in_order = likely - e.order * logf(2.f * order);
  return {fabsf(half_width), sigma, lead, in_order, likely - e.order * logf(2.f - 2.f * order)};
}

DEVICE float cost_of(const Evidence& e, const EdgeCosts& edge, float residual) {
  float z = residual / edge.sigma;
  float jump = fminf(residual + edge.width, 0.f) + fmaxf(residual - edge.width, 0.f);
  float least = jump * edge.lead > 0.f ? edge.against : edge.in_order;
  return fminf(logf(1.f + .5f * z * z), fmaxf(least + e.size * logf(1.f + fabsf(jump)), 0.f));
}
