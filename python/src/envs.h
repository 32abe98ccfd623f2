// The library's tasks as Python sees them: one environment, and many that step side by side.
// Spaces, infos and the rest of Gymnasium's interface are ovde/envs.py's business.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
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
  // threads: 0 for as many as there are cores, or one where that has nothing to gain from others.
  // copies: every step returns arrays of its own; otherwise all return the same ones.
  ManyEnvs(const Config& config, int count, int threads, bool copies);

  const Env& env() const { return *places_.front().env; }
  int size() const { return static_cast<int>(places_.size()); }
  int threads() const { return static_cast<int>(shares_.size()); }
  bool has_goal() const { return has_goal_; }

  // Of the environments whose mask is true; the others' rows are what they were last. No seeds: the
  // next of each environment's own.
  pybind11::array_t<double> reset(const std::vector<std::uint64_t>& seeds,
                                  const pybind11::array_t<bool, pybind11::array::c_style>& mask);
  // What Gymnasium's step returns: observations, rewards, terminated, truncated, a row for each
  // environment, and a dict; with a goal, that has "is_success".
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
  };
  // How a step ended. Arrays of single bytes would share cache lines between threads: each place
  // has its own here, in a block for each share, and they are copied when all are done.
  struct Ends {
    bool terminated = false, truncated = false, success = false;
  };
  // A thread's part of the places, the same in every step: what it works on stays near its core.
  struct alignas(64) Share {
    int first = 0, last = 0;
    std::atomic<int> next{0};
    std::vector<Ends> ends;
  };

  static constexpr int kTries = 8;
  static constexpr double kWorthSharing = 10e-6;  // seconds: two more go into sharing

  void check_free() const;
  Rows make_rows() const;
  // The first steps are the caller's alone, to see whether they are long enough to be shared.
  bool is_alone() const { return chooses_ && (tries_ < kTries || shortest_ < kWorthSharing); }
  // work(share, first, last) over all places. A thread that is done helps with the other shares.
  template <typename Work>
  void side_by_side(Work work);
  int own_share() const;

  std::vector<Place> places_;
  bool has_goal_, copies_;
  bool chooses_;  // how many threads it uses
  int tries_ = 0;
  double shortest_ = 1;  // seconds, of these
  Rows rows_;            // of the last reset or step
  pybind11::array_t<bool> all_true_;
  pybind11::str success_key_{"is_success"}, success_mask_key_{"_is_success"};
  std::vector<Share> shares_;
  bool busy_ = false;  // in side_by_side(); read and written with the interpreter's lock
  std::thread::id caller_;
  Team team_;
};

}  // namespace ovde::python
