// How information-directed sampling chooses, against plain re-derivations in double precision: the
// grid of actions and the rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "agent/agent_fixture.h"
#include "agent/discrete/action_grid.h"
#include "agent/discrete/agent.h"
#include "agent/discrete/reference_ids.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::Table;
using reference::Vec;

TEST(ActionGrid, NumbersEveryCombinationOnce) {
  for (const auto& [dimensions, bins] : {std::pair{1, 2}, {2, 5}, {3, 4}, {6, 3}}) {
    const ActionGrid grid(dimensions, bins);
    EXPECT_EQ(grid.actions(), std::lround(std::pow(bins, dimensions)));
    std::set<std::vector<double>> seen;
    std::vector<double> action(dimensions);
    for (int a = 0; a < grid.actions(); ++a) {
      grid.action(a, action);
      seen.insert(action);
      EXPECT_EQ(grid.nearest(std::vector<float>(action.begin(), action.end())), a);
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(grid.actions()));
    EXPECT_EQ(*seen.begin(), std::vector<double>(dimensions, -1));
    EXPECT_EQ(*seen.rbegin(), std::vector<double>(dimensions, 1));
  }
}

TEST(ActionGrid, TakesAnyActionForTheNearest) {
  const ActionGrid grid(3, 4);
  Random random(1, Stream::user);
  std::vector<double> candidate(3);
  for (int n = 0; n < 200; ++n) {
    std::vector<float> action(3);
    for (float& x : action) x = static_cast<float>(random.uniform(-1.5, 1.5));
    const auto distance = [&](int a) {
      grid.action(a, candidate);
      double sum = 0;
      for (int d = 0; d < 3; ++d) sum += std::pow(candidate[d] - action[d], 2);
      return sum;
    };
    int expected = 0;
    for (int a = 0; a < grid.actions(); ++a) {
      if (distance(a) < distance(expected)) expected = a;
    }
    EXPECT_EQ(grid.nearest(action), expected);
  }
}

TEST(ActionGrid, KnowsHowManyBinsFit) {
  EXPECT_EQ(ActionGrid::count(8, 5), 390625);
  EXPECT_EQ(ActionGrid::count(8, 6), ActionGrid::most() + 1);
  EXPECT_EQ(ActionGrid::count(1000000, 1000), ActionGrid::most() + 1);
  EXPECT_EQ(ActionGrid::fitting_bins(8, 1000), 2);
  EXPECT_EQ(ActionGrid::fitting_bins(6, 729), 3);
  EXPECT_EQ(ActionGrid::fitting_bins(6, 728), 2);
  EXPECT_EQ(ActionGrid::fitting_bins(1, 1000), 1000);
  EXPECT_EQ(ActionGrid::fitting_bins(10, 1000), 1);
  EXPECT_EQ(ActionGrid::standard_bins(2, 1000), 5);
  EXPECT_EQ(ActionGrid::standard_bins(6, 1000), 3);
  EXPECT_EQ(ActionGrid::standard_bins(8, 1000), 2);
}

QuantilePair flat(const Table& z) {
  QuantilePair pair;
  for (int k = 0; k < 2; ++k) {
    for (const Vec& quantiles : z[k])
      pair.critic[k].insert(pair.critic[k].end(), quantiles.begin(), quantiles.end());
  }
  return pair;
}

int choice(const Table& z, double lambda) {
  const auto actions = static_cast<int>(z[0].size()), quantiles = static_cast<int>(z[0][0].size());
  return Ids(lambda, actions, quantiles).choose(flat(z));
}

TEST(IdsRule, ChoosesAsThePlainWordsDo) {
  Random random(2, Stream::user);
  int not_greedy = 0;
  constexpr int kTables = 300, kActions = 12, kQuantiles = 7;
  for (int n = 0; n < kTables; ++n) {
    const double lambda = random.uniform(0, 2), disagreement = std::exp(random.uniform(-6, 1));
    Table z;
    Vec mean;
    for (int a = 0; a < kActions; ++a) {
      const double value = random.normal(), noise = std::exp(random.uniform(-4, 2));
      const double gap = disagreement * random.normal();
      for (int k = 0; k < 2; ++k) {
        Vec quantiles;
        for (int i = 0; i < kQuantiles; ++i)
          quantiles.push_back(value + (k == 0 ? gap : -gap) + noise * random.normal());
        z[k].push_back(quantiles);
      }
      mean.push_back((reference::mean(z[0][a]) + reference::mean(z[1][a])) / 2);
    }
    const int chosen = choice(z, lambda);
    EXPECT_EQ(chosen, reference::plain_choice(z, lambda)) << "table " << n;
    not_greedy += chosen != std::ranges::max_element(mean) - mean.begin();
  }
  EXPECT_GT(not_greedy, kTables / 10);  // otherwise the greedy choice would have passed
}

TEST(IdsRule, WithoutInformationItIsGreedy) {
  Table z;
  for (const double value : {1.0, 3.0, 3.0, -2.0}) {
    for (int k = 0; k < 2; ++k) z[k].push_back({value - 1, value + 1});
  }
  EXPECT_EQ(choice(z, 0.1), 1);
  for (int k = 0; k < 2; ++k) z[k].assign(4, {0, 0});
  EXPECT_EQ(choice(z, 0.1), 0);
}

// Two actions are equally good and equally unknown: the less noisy one gives more information.
TEST(IdsRule, PrefersTheLessNoisyOfTwo) {
  Table z;
  for (const double noise : {3.0, 1.0}) {
    z[0].push_back({1 - noise, 1 + noise});
    z[1].push_back({-noise, noise});
  }
  EXPECT_EQ(choice(z, 0.1), 1);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
