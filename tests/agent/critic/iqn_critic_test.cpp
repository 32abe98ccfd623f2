// The critic with random fractions against plain loops in double precision: its fractions, its
// loss, its steps, and both critics as acting sees them.
#include "agent/critic/iqn_critic.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include <ovde/random.h>
#include "agent/actor_critic/reference_learner.h"
#include "agent/agent_fixture.h"
#include "agent/critic/loss.h"
#include "agent/explore/explorer.h"
#include "iqn_reference.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::IqnReference;
using reference::Vec;

// One sample's fractions from its numbers U(0, 1): midpoints and widths.
struct Cut {
  explicit Cut(Vec numbers) {
    double total = 0, below = 0;
    for (double& u : numbers) total += u += 0.1;
    for (const double u : numbers) {
      width.push_back(u / total);
      midpoint.push_back(below + width.back() / 2);
      below += width.back();
    }
  }
  Vec midpoint, width;
};

// As the update numbers them: (update, purpose, fraction, sample), samples in rows of a multiple of
// 64.
Cut cut_of(const LearnerOptions& options, std::uint64_t update, FractionsFor purpose, int sample) {
  Vec numbers;
  for (int i = 0; i < options.critic.quantiles; ++i) {
    const std::uint64_t row = (options.train.batch + 63) / 64 * 64;
    const std::uint64_t number =
        ((update * 3 + static_cast<int>(purpose)) * options.critic.quantiles + i) * row + sample;
    const double drawn =
        Random::block(options.seed, Stream::fractions, 0, number / 4)[number % 4] * 0x1p-32;
    numbers.push_back(options.critic.head == CriticHead::iqn ? drawn : 1);
  }
  return Cut(numbers);
}

LearnerOptions iqn_options(int batch = 37) {
  LearnerOptions options;
  options.observation_size = 4;
  options.action_size = 3;
  options.network.hidden = {12, 9};
  options.critic.head = CriticHead::iqn;
  options.critic.norm = true;
  options.critic.quantiles = 5;
  options.train.batch = batch;
  options.seed = 8;
  options.train.adam.learning_rate = 1e-2f;
  options.train.adam.epsilon = 1e-3f;  // steps stay a smooth function of small gradients
  return options;
}

Batch random_batch(int features, int samples, std::uint64_t seed, double scale = 1) {
  Batch batch(features, samples);
  Random random(seed, Stream::user);
  for (int s = 0; s < samples; ++s) {
    for (int f = 0; f < features; ++f) batch.at(f, s) = static_cast<float>(scale * random.normal());
  }
  return batch;
}

Vec column(const Batch& batch, int sample) {
  Vec x;
  for (int f = 0; f < batch.features(); ++f) x.push_back(batch.at(f, sample));
  return x;
}

TEST(Fractions, AreMidpointsOfRandomIntervals) {
  const LearnerOptions options = iqn_options();
  std::set<float> seen;
  for (const auto purpose :
       {FractionsFor::target, FractionsFor::prediction, FractionsFor::policy}) {
    for (const std::uint64_t update : {0u, 1u, 77u}) {
      Fractions fractions(options.critic.quantiles, options.train.batch);
      draw_fractions(options.seed, update, purpose, fractions);
      for (int s = 0; s < options.train.batch; ++s) {
        const Cut expected = cut_of(options, update, purpose, s);
        for (int i = 0; i < options.critic.quantiles; ++i) {
          EXPECT_NEAR(fractions.midpoint.at(i, s), expected.midpoint[i], 1e-6);
          EXPECT_NEAR(fractions.weight.at(i, s), options.critic.quantiles * expected.width[i],
                      1e-6);
        }
        seen.insert(fractions.midpoint.at(0, s));
      }
    }
  }
  EXPECT_GT(seen.size(), 9u * 37 - 3);  // every sample of every set has its own
}

// |tau_j - 1{y_i < z_j}| huber(y_i - z_j), target i counting by its width.
double loss_of(const Vec& y, const Vec& widths, const Vec& z, const Vec& fractions) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t j = 0; j < z.size(); ++j) {
      const double u = y[i] - z[j];
      const double huber = std::abs(u) <= 1 ? u * u / 2 : std::abs(u) - 0.5;
      sum += widths[i] * std::abs(fractions[j] - (u < 0 ? 1 : 0)) * huber;
    }
  }
  return sum;
}

TEST(QuantileLoss, CountsTargetsByTheirWidths) {
  const LearnerOptions options = iqn_options();
  const int n = options.critic.quantiles, samples = options.train.batch;
  Fractions target(n, samples), prediction(n, samples);
  draw_fractions(1, 0, FractionsFor::target, target);
  draw_fractions(1, 0, FractionsFor::prediction, prediction);
  const Batch y = random_batch(n, samples, 1, 1.5), z = random_batch(n, samples, 2, 1.5);
  Batch weight = random_batch(1, samples, 3), gradient(n, samples);
  const double found = quantile_huber_loss(y, target.weight, z, prediction.midpoint, weight,
                                           gradient, all_blocks(y));
  double expected = 0;
  for (int s = 0; s < samples; ++s) {
    Vec widths = column(target.weight, s);
    for (double& w : widths) w /= n;
    const auto loss = [&](const Vec& at) {
      return weight.at(0, s) * loss_of(column(y, s), widths, at, column(prediction.midpoint, s));
    };
    expected += loss(column(z, s));
    const Vec slope = reference::gradient(loss, column(z, s));
    for (int j = 0; j < n; ++j) EXPECT_NEAR(gradient.at(j, s), slope[j], 1e-5);
  }
  EXPECT_NEAR(found, expected, 1e-4 * (1 + std::abs(expected)));
}

// Updates of one critic, with given inputs and targets, in double precision.
struct CriticReference {
  CriticReference(const LearnerOptions& options, const Trained& net)
      : options(options),
        shape(iqn_critic_shape(options)),
        net{reference::to_double(net.parameters), reference::to_double(net.first_moment),
            reference::to_double(net.second_moment), reference::to_double(net.target)} {}

  Vec values(const Vec& parameters, const Vec& input, const Cut& cut) const {
    IqnReference iqn(shape, parameters);
    Vec z;
    for (const double tau : cut.midpoint) z.push_back(iqn(input, tau));
    return z;
  }

  double learn(const Batch& state_action, const Batch& targets, std::uint64_t update) {
    Vec gradient(shape.size());
    double total = 0;
    for (int s = 0; s < options.train.batch; ++s) {
      const Cut target = cut_of(options, update, FractionsFor::target, s);
      const Cut prediction = cut_of(options, update, FractionsFor::prediction, s);
      const auto loss = [&](const Vec& z) {
        return loss_of(column(targets, s), target.width, z, prediction.midpoint) /
               options.train.batch;
      };
      const Vec z = values(net.parameters, column(state_action, s), prediction);
      total += loss(z);
      const Vec slope = reference::gradient(loss, z);
      IqnReference iqn(shape, net.parameters);
      for (int j = 0; j < options.critic.quantiles; ++j) {
        iqn(column(state_action, s), prediction.midpoint[j]);
        iqn.backward(slope[j], gradient);
      }
    }
    net.step(options.train.adam, static_cast<double>(update) + 1, gradient, options.train.polyak);
    return total;
  }

  LearnerOptions options;
  IqnShape shape;
  reference::Net net;
};

// Moves a network away from its start, where gains are 1, shifts 0 and the target equal.
void spread(Trained& net, std::uint64_t seed) {
  Random random(seed, Stream::user);
  for (std::size_t i = 0; i < net.parameters.size(); ++i) {
    if (net.parameters[i] == 0) continue;  // padding
    net.parameters[i] += static_cast<float>(0.2 * random.normal());
    net.target[i] += static_cast<float>(0.2 * random.normal());
  }
}

// What of the head may differ: whether it draws its fractions, and whether it has a norm.
class IqnCriticTest : public testing::TestWithParam<std::pair<CriticHead, bool>> {};
INSTANTIATE_TEST_SUITE_P(Heads, IqnCriticTest,
                         testing::Values(std::pair(CriticHead::iqn, true),
                                         std::pair(CriticHead::iqn, false),
                                         std::pair(CriticHead::embedded, true)),
                         [](const auto& info) {
                           return with_head("dsac", info.param.first, info.param.second);
                         });

TEST_P(IqnCriticTest, FollowsTheReferenceStepByStep) {
  LearnerOptions options = iqn_options();
  options.critic.head = GetParam().first;
  options.critic.norm = GetParam().second;
  const int n = options.critic.quantiles, inputs = options.observation_size + options.action_size;
  IqnCritic critic(options, 1);
  spread(critic.network(), 4);
  critic.restored();
  CriticReference reference(options, critic.network());
  Batch weight(1, options.train.batch), chosen(1, options.train.batch);
  for (int s = 0; s < options.train.batch; ++s) {
    weight.at(0, s) = 1.0f / static_cast<float>(options.train.batch);
    chosen.at(0, s) = s % 3 == 0 ? 1.0f : 0.0f;
  }

  for (std::uint64_t update = 0; update < 4; ++update) {
    const Batch state_action = random_batch(inputs, options.train.batch, 10 + update);
    const Batch next = random_batch(inputs, options.train.batch, 20 + update);
    const Batch new_action = random_batch(inputs, options.train.batch, 30 + update);
    const Batch& target_values = critic.target_values({state_action, next}, update);
    Batch targets = random_batch(n, options.train.batch, 40 + update, 0.3);
    for (int s = 0; s < options.train.batch; ++s) {
      const Vec z = reference.values(reference.net.target, column(next, s),
                                     cut_of(options, update, FractionsFor::target, s));
      for (int i = 0; i < n; ++i) {
        EXPECT_NEAR(target_values.at(i, s), z[i], 2e-4);
        targets.at(i, s) += target_values.at(i, s);
      }
    }

    const double expected = reference.learn(state_action, targets, update);
    const double found =
        critic.learn({state_action, next}, targets, weight, options.train.polyak, update);
    EXPECT_NEAR(found, expected, 1e-4 * (1 + expected));
    const Trained& net = critic.network();
    const auto expect_near = [&](std::span<const float> a, const Vec& b, const char* name) {
      for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(a[i], b[i], update == 0 ? 2e-5 : 2e-4) << name << " " << i;
    };
    expect_near(net.parameters, reference.net.parameters, "parameter");
    expect_near(net.target, reference.net.target, "target");

    critic.evaluate(new_action, true, update);
    const Batch& by_action = critic.action_gradient(chosen, all_blocks(weight));
    for (int s = 0; s < options.train.batch; ++s) {
      const Cut cut = cut_of(options, update, FractionsFor::policy, s);
      IqnReference iqn(reference.shape, reference.net.parameters);
      Vec unused(reference.shape.size()), by_input(inputs);
      double mean = 0;
      for (int i = 0; i < n; ++i) {
        const double z = iqn(column(new_action, s), cut.midpoint[i]);
        EXPECT_NEAR(critic.values().at(i, s), z, 3e-4);
        EXPECT_NEAR(critic.value_weights()->at(i, s), n * cut.width[i], 1e-6);
        mean += cut.width[i] * z;
        const Vec more = iqn.backward(cut.width[i], unused);
        for (int f = 0; f < inputs; ++f) by_input[f] += more[f];
      }
      EXPECT_NEAR(critic.mean().at(0, s), mean, 3e-4);
      for (int d = 0; d < options.action_size; ++d) {
        const double expected_gradient = s % 3 == 0 ? by_input[options.observation_size + d] : 0.0;
        EXPECT_NEAR(by_action.at(d, s), expected_gradient, 1e-3);
      }
    }
  }
}

// Quantiles that all count alike, and those of them that count chosen one by one.
TEST(IqnCritic, GradientByChosenValuesMatchesTheReference) {
  for (const auto weights : {QuantileWeights::widths, QuantileWeights::equal}) {
    LearnerOptions options = iqn_options();
    options.critic.weights = weights;
    const bool equal = weights == QuantileWeights::equal;
    const int n = options.critic.quantiles, inputs = options.observation_size + options.action_size;
    IqnCritic critic(options, 0);
    spread(critic.network(), 4);
    critic.restored();
    const CriticReference reference(options, critic.network());
    const Batch new_action = random_batch(inputs, options.train.batch, 30);
    Batch chosen(n, options.train.batch), all(1, options.train.batch);
    for (int s = 0; s < options.train.batch; ++s) {
      for (int i = 0; i < n; ++i) chosen.at(i, s) = (s + i) % 3 == 0 ? 1.0f : 0.0f;
      all.at(0, s) = 1;
    }
    critic.evaluate(new_action, false, 0);
    EXPECT_EQ(critic.value_weights() == nullptr, equal);
    const Batch by_value = critic.action_gradient_by_value(new_action, chosen);
    critic.evaluate(new_action, true, 0);
    const Batch by_mean = critic.action_gradient(all, all_blocks(all));
    for (int s = 0; s < options.train.batch; ++s) {
      const Cut cut = cut_of(options, 0, FractionsFor::policy, s);
      IqnReference iqn(reference.shape, reference.net.parameters);
      Vec unused(reference.shape.size()), some(inputs), every(inputs);
      double mean = 0;
      for (int i = 0; i < n; ++i) {
        const double share = equal ? 1.0 / n : cut.width[i];
        mean += share * iqn(column(new_action, s), cut.midpoint[i]);
        const Vec more = iqn.backward(share, unused);
        for (int f = 0; f < inputs; ++f) {
          every[f] += more[f];
          some[f] += chosen.at(i, s) * more[f];
        }
      }
      EXPECT_NEAR(critic.mean().at(0, s), mean, 3e-4);
      for (int d = 0; d < options.action_size; ++d) {
        EXPECT_NEAR(by_value.at(d, s), some[options.observation_size + d], 1e-3);
        EXPECT_NEAR(by_mean.at(d, s), every[options.observation_size + d], 1e-3);
      }
    }
  }
}

// Two critics at one (s, a) and the fractions that acting draws.
struct ActingPair {
  explicit ActingPair(int quantiles, CriticHead head = CriticHead::iqn)
      : options(options_for(quantiles, head)) {
    for (std::uint32_t k = 0; k < 2; ++k) {
      parameters[k] = Buffer(shape.size());
      initialise(shape, 6, k, parameters[k]);
      for (int o = 0; o < shape.output().inputs; ++o)
        parameters[k][shape.output().weights + o] *= 5;  // values of order one
      exact[k] = reference::to_double(parameters[k]);
    }
    pair.load(parameters[0], parameters[1]);
  }

  static LearnerOptions options_for(int quantiles, CriticHead head) {
    LearnerOptions options = iqn_options();
    options.critic.quantiles = quantiles;
    options.critic.head = head;
    return options;
  }

  // Next cut of a stream, as acting draws it.
  Cut cut(Random& random) const {
    Vec numbers;
    for (int i = 0; i < options.critic.quantiles; ++i)
      numbers.push_back(options.critic.head == CriticHead::iqn ? random.uniform() : 1);
    return Cut(numbers);
  }
  Vec values(int k, const Vec& action, const Cut& cut) const {
    Vec input(observation.begin(), observation.end()), z;
    input.insert(input.end(), action.begin(), action.end());
    IqnReference iqn(shape, exact[k]);
    for (const double tau : cut.midpoint) z.push_back(iqn(input, tau));
    return z;
  }

  LearnerOptions options;
  IqnShape shape = iqn_critic_shape(options);
  IqnCriticPair pair{options};
  std::array<Buffer, 2> parameters;
  std::array<Vec, 2> exact;
  std::vector<float> observation = {0.3f, -1, 0.5f, 2};
};

void expect_one_set_of_fractions(CriticHead head) {
  for (const int n : {1, 5, 40}) {  // less than a block's lanes, and more
    ActingPair acting(n, head);
    Random random(3, Stream::explorer), again(3, Stream::explorer);
    const std::vector<float> action = {0.1f, -0.7f, 0.4f};
    const Vec exact_action(action.begin(), action.end());
    for (int call = 0; call < 3; ++call) {
      const QuantilePair& z = acting.pair.quantiles(acting.observation, action, random);
      const Cut cut = acting.cut(again);
      EXPECT_EQ(random.position(), again.position());
      QuantilePair slope(n);
      Random noise(call, Stream::user);
      for (int k = 0; k < 2; ++k) {
        const Vec expected = acting.values(k, exact_action, cut);
        for (int i = 0; i < n; ++i) {
          EXPECT_NEAR(z.critic[k][i], expected[i], 1e-4);
          EXPECT_NEAR(z.weight[i], n * cut.width[i], 1e-5);
          slope.critic[k][i] = noise.normal() / n;
        }
      }
      // twice: asking leaves no trace
      const Vec expected = reference::gradient(
          [&](const Vec& a) {
            double sum = 0;
            for (int k = 0; k < 2; ++k) {
              const Vec at = acting.values(k, a, cut);
              for (int i = 0; i < n; ++i) sum += slope.critic[k][i] * at[i];
            }
            return sum;
          },
          exact_action);
      for (int repeat = 0; repeat < 2; ++repeat) {
        Vec gradient(3);
        acting.pair.action_gradient(slope, gradient);
        for (int d = 0; d < 3; ++d) EXPECT_NEAR(gradient[d], expected[d], 1e-4);
      }
    }
  }
}

TEST(IqnCriticPair, DrawsOneSetOfFractionsForBothCriticsAtEachCall) {
  expect_one_set_of_fractions(CriticHead::iqn);
}

TEST(IqnCriticPair, WithFixedFractionsDrawsNothing) {
  expect_one_set_of_fractions(CriticHead::embedded);
}

TEST(IqnCriticPair, WeighsQuantilesAlikeWhereSoAsked) {
  ActingPair acting(5);
  LearnerOptions options = acting.options;
  options.critic.weights = QuantileWeights::equal;
  options.critic.uncertainty = {EpistemicForm::means, VarianceForm::unbiased};
  IqnCriticPair equal(options);
  equal.load(acting.parameters[0], acting.parameters[1]);
  Random random(3, Stream::explorer), again(3, Stream::explorer);
  const std::vector<float> action = {0.1f, -0.7f, 0.4f};
  const QuantilePair& z = acting.pair.quantiles(acting.observation, action, random);
  const QuantilePair& plain = equal.quantiles(acting.observation, action, again);
  for (int k = 0; k < 2; ++k) EXPECT_EQ(z.critic[k], plain.critic[k]);  // at the same fractions
  EXPECT_NE(z.weight, Vec(5, 1));
  EXPECT_EQ(plain.weight, Vec(5, 1));
  EXPECT_EQ(plain.form.epistemic, EpistemicForm::means);
  EXPECT_EQ(plain.form.variance, VarianceForm::unbiased);
}

// OVD-Explorer's step with random fractions: mean, disagreement and spread count each quantile by
// its width.
TEST(IqnCriticPair, OvdExplorerWeighsQuantilesByTheirWidths) {
  const int n = 7;
  const OvdRule options{.alpha = 1, .beta = 0.3, .normaliser = 0.7};
  auto explorer = make_rule_explorer(options, 3, n);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    ActingPair acting(n);
    ActorHead head(3);
    Random noise(seed, Stream::user);
    for (double& m : head.mean) m = 0.5 * noise.normal();
    Random random(seed, Stream::explorer), again(seed, Stream::explorer);
    const Cut cut = acting.cut(again);
    double mean = 0, epistemic = 0, aleatoric = 0;
    const auto upper_bound = [&](const Vec& u) {
      Vec action;
      for (const double x : u) action.push_back(std::tanh(x));
      const Vec z1 = acting.values(0, action, cut), z2 = acting.values(1, action, cut);
      mean = epistemic = aleatoric = 0;
      for (int i = 0; i < n; ++i) {
        mean += cut.width[i] * (z1[i] + z2[i]) / 2;
        epistemic += cut.width[i] * std::pow((z1[i] - z2[i]) / 2, 2);
      }
      for (int i = 0; i < n; ++i)
        aleatoric += cut.width[i] * std::pow((z1[i] + z2[i]) / 2 - mean, 2);
      epistemic = std::sqrt(epistemic);
      aleatoric = std::sqrt(aleatoric);
      return mean + options.beta * epistemic;
    };
    const Vec g = reference::gradient(upper_bound, head.mean);
    const double bound = upper_bound(head.mean);
    const double phi =
        (1 + std::erf((bound - mean + options.beta * epistemic) / (aleatoric * std::sqrt(2.0)))) /
        2;
    const double m = std::log(phi / options.normaliser) + 1;
    const double length = std::sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);

    std::vector<double> moved = head.mean;
    EXPECT_NEAR(explorer->shift(acting.observation, head, acting.pair, random, moved), m, 1e-4);
    for (int d = 0; d < 3; ++d) EXPECT_NEAR(moved[d], head.mean[d] + m * g[d] / length, 1e-3);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
