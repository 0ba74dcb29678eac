// How likely the residual of an edge is on a continuous surface, and across a jump: the twin of
// methods/ordered/evidence.py, which has the reasons and, in g.evidence, the constants.
DEVICE float jump_probability(const Evidence& e, float half_width) {
  float odds = powf(fmaxf(fabsf(half_width), 1e-6f) / e.even, e.steepness);
  if (half_width < 0.f) odds /= e.ridge;
  return fminf(fmaxf(odds / (1.f + odds), e.least), e.most);
}

DEVICE float order_probability(const Evidence& e, float half_width, float lead) {
  float slower = half_width - .5f * fabsf(lead);
  float trust = fminf(fabsf(lead) / e.sure, 1.f) * fminf(fmaxf(e.both_recede - slower, .2f), 1.f);
  return .5f + e.ordered * trust;
}

// What the likelihood of an edge needs, whatever its residual.
struct Likelihood { float width, sigma, lead, joined, in_order, against; };

DEVICE Likelihood likelihood_of(const Evidence& e, float half_width, float sigma, float lead) {
  float jumps = jump_probability(e, half_width), order = order_probability(e, half_width, lead);
  float sizes = jumps / e.all_sizes;
  return {fabsf(half_width), sigma, lead, (1.f - jumps) / sigma, sizes * order, sizes * (1.f - order)};
}

DEVICE float log_likelihood(const Evidence& e, const Likelihood& edge, float residual) {
  float z = residual / edge.sigma;
  float gauss = expf(-.5f * z * z) * .3989422804f, cauchy = .1061032954f / (1.f + z * z / 9.f);
  float jump = fminf(residual + edge.width, 0.f) + fmaxf(residual - edge.width, 0.f);
  float order = jump * edge.lead > 0.f ? edge.against : edge.in_order;
  float density = edge.joined * ((1.f - e.stray) * gauss + e.stray * cauchy);
  return logf(density + order * powf(1.f + fabsf(jump), -e.smaller));
}
