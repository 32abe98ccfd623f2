#include <ovde/check.h>

#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>
#include <ovde/random.h>
#include "env/wrappers.h"

namespace ovde {

namespace {

constexpr int kSteps = 200;  // longest episode
constexpr int kSaveAt = 3;   // steps before the state is saved
constexpr double kUnwritten = std::numeric_limits<double>::quiet_NaN();

struct Moment {
  std::vector<double> observation;
  Step step;
  bool operator==(const Moment&) const = default;
};

void check_finite(const std::vector<double>& observation, const char* call, int steps) {
  for (std::size_t i = 0; i < observation.size(); ++i) {
    if (std::isfinite(observation[i])) continue;
    throw InputError(
        fmt::format("{} leaves observation[{}] {} (step {})", call, i,
                    std::isnan(observation[i]) ? "unwritten, or writes NaN" : "infinite", steps));
  }
}

// Plays one episode with random actions.
class Episode {
 public:
  Episode(Env& env, std::uint64_t seed)
      : env_(env), actions_(seed, Stream::user), action_(env.action_space().low.size()) {}

  Moment reset(std::uint64_t seed) {
    Moment now{blank(), {}};
    env_.reset(seed, now.observation);
    check_finite(now.observation, "reset()", 0);
    return now;
  }

  Moment step() {
    const Box& box = env_.action_space();
    for (std::size_t d = 0; d < action_.size(); ++d)
      action_[d] = actions_.uniform(box.low[d], box.high[d]);
    Moment now{blank(), {}};
    now.step = env_.step(action_, now.observation);
    ++steps_;
    check_finite(now.observation, "step()", steps_);
    if (!std::isfinite(now.step.reward))
      throw InputError(
          fmt::format("step() returns a reward of {} (step {})", now.step.reward, steps_));
    return now;
  }

  // Plays the rest of the episode.
  std::vector<Moment> rest(bool ended) {
    std::vector<Moment> all;
    while (!ended && steps_ < kSteps) {
      all.push_back(step());
      ended = all.back().step.terminated || all.back().step.truncated;
    }
    return all;
  }

 private:
  std::vector<double> blank() const {
    return std::vector<double>(static_cast<std::size_t>(env_.observation_size()), kUnwritten);
  }

  Env& env_;
  Random actions_;
  std::vector<double> action_;
  int steps_ = 0;
};

std::vector<Moment> play(Env& env, std::uint64_t seed) {
  Episode episode(env, seed);
  std::vector<Moment> all = {episode.reset(seed)};
  for (Moment& moment : episode.rest(false)) all.push_back(std::move(moment));
  return all;
}

// Environments need not be able to save.
void check_saving(Env& env, std::uint64_t seed) {
  Episode episode(env, seed);
  episode.reset(seed);
  bool ended = false;
  for (int i = 0; i < kSaveAt && !ended; ++i) {
    const Moment now = episode.step();
    ended = now.step.terminated || now.step.truncated;
  }
  const auto saved = ended ? std::nullopt : saved_state(env);
  if (!saved) return;
  Episode again = episode;
  const auto expected = episode.rest(false);
  if (!restore_state(env, *saved)) throw InputError("restore() refuses the state of save()");
  if (again.rest(false) != expected)
    throw InputError(
        "restore() does not restore the state of save(): the episode continues differently");
}

}  // namespace

void check_spaces(const Env& env) {
  if (env.observation_size() < 1)
    throw InputError(
        fmt::format("observation_size() is {}; must be at least 1", env.observation_size()));
  const Box& box = env.action_space();
  if (box.low.empty()) throw InputError("the action space is empty; must have at least one number");
  if (box.low.size() != box.high.size()) {
    throw InputError(fmt::format("the action space has {} lower and {} upper bounds",
                                 box.low.size(), box.high.size()));
  }
  for (std::size_t d = 0; d < box.low.size(); ++d) {
    const double low = box.low[d], high = box.high[d];
    if (std::isfinite(low) && std::isfinite(high) && low < high && std::isfinite(high - low))
      continue;
    throw InputError(fmt::format("action {} is from {} to {}; bounds must be finite and in order",
                                 d, low, high));
  }
}

void check(Env& env, std::uint64_t seed) {
  check_spaces(env);
  const auto first = play(env, seed);
  if (play(env, seed) != first)
    throw InputError(
        "the same seed and actions give different episodes: all randomness must follow from the "
        "seed of reset()");
  check_saving(env, seed);
}

}  // namespace ovde
