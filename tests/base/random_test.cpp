#include <gtest/gtest.h>

#include <algorithm>

#include <cmath>
#include <set>
#include <vector>

#include <ovde/random.h>

namespace ovde {
namespace OVDE_TEST_FILE {

// Known answers of Philox4x32-10 from the Random123 distribution (kat_vectors): counter and key all
// zero, all one, and digits of pi.
TEST(Philox, KnownAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(Random::block(0, static_cast<Stream>(0), 0, 0),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Random::block(~0ull, static_cast<Stream>(~0u), ~0u, ~0ull),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Random::block(0x299f31d0a4093822ull, static_cast<Stream>(0x13198a2e), 0x03707344,
                          0x85a308d3243f6a88ull),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, PositionIsTheWholeState) {
  Random a(42, Stream::environment, 7);
  for (int i = 0; i < 13; ++i) a.normal();
  Random b(42, Stream::environment, 7);
  b.seek(a.position());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.bits(), b.bits());
}

TEST(Random, StreamsDiffer) {
  std::set<std::uint32_t> first;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (auto stream : {Stream::environment, Stream::replay_batch}) {
      for (std::uint32_t sub = 0; sub < 10; ++sub) first.insert(Random(seed, stream, sub).bits());
    }
  }
  EXPECT_EQ(first.size(), 200u);
}

TEST(Random, UniformAndIntegersHaveTheRightMoments) {
  Random random(1, Stream::user);
  const int n = 200000;
  double sum = 0, squares = 0;
  std::vector<int> counts(7);
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
    ++counts[random.below(7)];
  }
  EXPECT_NEAR(sum / n, 0.5, 4 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(squares / n, 1.0 / 3, 4 * std::sqrt(4.0 / 45 / n));
  double chi_square = 0;
  for (const int c : counts) chi_square += std::pow(c - n / 7.0, 2) / (n / 7.0);
  EXPECT_LT(chi_square, 22.46);  // 99.9 % of chi-square with 6 degrees of freedom
}

// Kolmogorov-Smirnov distance of 1e5 numbers to the normal distribution, below its 99.9 %
// point 1.95 / sqrt(n).
double normal_distance(std::vector<double> x) {
  std::ranges::sort(x);
  double distance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double cdf = 0.5 * std::erfc(-x[i] / std::sqrt(2.0));
    distance = std::max(
        {distance, std::abs(cdf - double(i) / x.size()), std::abs(cdf - double(i + 1) / x.size())});
  }
  return distance;
}

TEST(Random, NormalNumbersAreNormal) {
  Random random(3, Stream::user);
  std::vector<double> x(100000);
  for (double& v : x) v = random.normal();
  EXPECT_LT(normal_distance(x), 1.95 / std::sqrt(1e5));

  std::vector<float> y(100000);
  fill_normal(3, Stream::actor_noise, 0, 0, y);
  EXPECT_LT(normal_distance({y.begin(), y.end()}), 1.95 / std::sqrt(1e5));
}

TEST(FillNormal, IsAddressedByNumber) {
  std::vector<float> all(1000), part(333);
  fill_normal(5, Stream::actor_noise, 2, 0, all);
  fill_normal(5, Stream::actor_noise, 2, 128, part);
  for (std::size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], all[128 + i]);
}

// Box-Muller in double precision from the same words.
TEST(FillNormal, MatchesAPlainComputation) {
  std::vector<float> x(4);
  fill_normal(9, Stream::target_noise, 1, 400, x);
  const auto words = Random::block(9, Stream::target_noise, 1, 100);
  for (int pair = 0; pair < 2; ++pair) {
    const double u = ((words[2 * pair] >> 8) + 1.0) / 16777216,
                 v = (words[2 * pair + 1] >> 8) / 16777216.0;
    EXPECT_NEAR(x[2 * pair], std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v), 1e-5);
    EXPECT_NEAR(x[2 * pair + 1], std::sqrt(-2 * std::log(u)) * std::sin(2 * M_PI * v), 1e-5);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
