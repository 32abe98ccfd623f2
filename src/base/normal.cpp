// Many normal numbers at once, for the learner's noise: the same words as Random, in single
// precision and vectorised.
#include <algorithm>
#include <array>
#include <cstring>
#include <numbers>

#include <Eigen/Core>

#include <ovde/random.h>

namespace ovde {

void fill_normal(std::uint64_t seed, Stream stream, std::uint32_t substream, std::uint64_t first,
                 std::span<float> out) {
  constexpr int kChunk = 64;  // numbers made at a time
  using Half = Eigen::Array<float, kChunk / 2, 1>;

  for (std::size_t done = 0; done < out.size(); done += kChunk) {
    // word pairs -> uniform radius argument in (0, 1] and angle in [0, 2 pi)
    Half u, v;
    for (int i = 0; i < kChunk / 4; ++i) {
      const auto words = Random::block(seed, stream, substream, (first + done) / 4 + i);
      u[2 * i] = (static_cast<float>(words[0] >> 8) + 1) * 0x1p-24f;
      v[2 * i] = static_cast<float>(words[1] >> 8) * 0x1p-24f;
      u[2 * i + 1] = (static_cast<float>(words[2] >> 8) + 1) * 0x1p-24f;
      v[2 * i + 1] = static_cast<float>(words[3] >> 8) * 0x1p-24f;
    }

    // Box-Muller
    const Half radius = (-2.0f * u.log()).sqrt();
    const Half angle = 2 * std::numbers::pi_v<float> * v;
    const Half cosine = radius * angle.cos();
    const Half sine = radius * angle.sin();

    std::array<float, kChunk> made;
    for (int i = 0; i < kChunk / 2; ++i) {
      made[2 * i] = cosine[i];
      made[2 * i + 1] = sine[i];
    }
    const std::size_t count = std::min<std::size_t>(kChunk, out.size() - done);
    std::memcpy(out.data() + done, made.data(), count * sizeof(float));
  }
}

}  // namespace ovde
