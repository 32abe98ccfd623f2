// The library's tasks as Python sees them: one environment, and many that step side by side.
// Spaces, infos and the rest of Gymnasium's interface are ovde/envs.py's business.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include <ovde/env.h>
#include "base/team.h"
#include "config/config.h"
#include "convert.h"

namespace ovde::python {

// A task with its noise and its time limit, by settings of tables "task" and "noise"; actions in
// the task's own units.
Config task_config(const std::string& task, const pybind11::dict& settings);
std::unique_ptr<Env> make_task(const Config& config);

// Seeds of episodes: the one that was given, then those of a stream that follows from it.
class EpisodeSeeds {
 public:
  std::uint64_t first(std::uint64_t seed);
  std::uint64_t next();
  std::uint64_t position() const { return stream_.position(); }
  std::uint64_t seed() const { return seed_; }
  void restore(std::uint64_t seed, std::uint64_t position);

 private:
  std::uint64_t seed_ = 0;
  Random stream_{0, Stream::episode_seeds};
};

class OneEnv {
 public:
  OneEnv(std::unique_ptr<Env> env, bool has_goal, int horizon);

  const Env& env() const { return *env_; }
  bool has_goal() const { return has_goal_; }
  int horizon() const { return horizon_; }

  pybind11::array_t<double> reset(std::optional<std::uint64_t> seed);
  pybind11::tuple step(
      const Numbers& action);  // observation, reward, terminated, truncated, success
  std::optional<pybind11::bytes> save() const;
  void restore(const std::string& bytes);

 private:
  std::unique_ptr<Env> env_;
  bool has_goal_;
  int horizon_;
  EpisodeSeeds seeds_;
};

// Gymnasium's next-step autoreset: the step after an episode's end resets and ignores its action.
class ManyEnvs {
 public:
  // copies: every step returns arrays of its own; otherwise all return the same ones.
  ManyEnvs(const Config& config, int count, int threads, bool copies);

  const Env& env() const { return *places_.front().env; }
  int size() const { return static_cast<int>(places_.size()); }
  int threads() const { return team_.threads(); }
  bool has_goal() const { return has_goal_; }

  // Of the environments whose mask is true; the others' rows are what they were last. No seeds: the
  // next of each environment's own.
  pybind11::array_t<double> reset(const std::vector<std::uint64_t>& seeds,
                                  const pybind11::array_t<bool>& mask);
  // Observations, rewards, terminated, truncated, success: a row for each environment.
  pybind11::tuple step(const Numbers& actions);

 private:
  struct Place {
    std::unique_ptr<Env> env;
    EpisodeSeeds seeds;
    bool ended = true;
  };
  struct Rows {
    pybind11::array_t<double> observations, rewards;
    pybind11::array_t<bool> terminated, truncated, success;
    pybind11::tuple all;
  };
  Rows make_rows() const;
  // work(first, last) over all places, cut into pieces for the team.
  template <typename Work>
  void side_by_side(Work work);

  std::vector<Place> places_;
  bool has_goal_, copies_;
  Rows rows_;  // of the last reset or step
  Team team_;
};

}  // namespace ovde::python
