#include "agent/critic/fractions.h"

#include "agent/batch_noise.h"

namespace ovde {

namespace {
constexpr int kPurposes = 3;
}

void draw_fractions(std::uint64_t seed, std::uint64_t update, FractionsFor purpose,
                    Fractions& fractions) {
  fill_batch_uniform(seed, Stream::fractions, update * kPurposes + static_cast<int>(purpose),
                     fractions.weight, all_blocks(fractions.weight));
  cut_interval(fractions);
}

void cut_interval(Fractions& fractions) {
  const int count = fractions.weight.features();
  const float share = 1.0f / static_cast<float>(count);
  for (int b = 0; b < fractions.weight.blocks(); ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      Vector total{};
      for (int i = 0; i < count; ++i) total += load(fractions.weight.row(b, i) + v) + 0.1f;
      const Vector scale = static_cast<float>(count) / total;
      Vector before{};  // the weights of the intervals below
      for (int i = 0; i < count; ++i) {
        float* weight = fractions.weight.row(b, i) + v;
        const Vector w = (load(weight) + 0.1f) * scale;
        store(weight, w);
        store(fractions.midpoint.row(b, i) + v, (before + 0.5f * w) * share);
        before += w;
      }
    }
  }
}

}  // namespace ovde
