// Tasks of the library for Python: one environment, and many stepped in parallel. ovde/envs.py adds
// Gymnasium's interface.
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
#include "base/archive.h"
#include "base/team.h"
#include "config/config.h"
#include "convert.h"

namespace ovde::python {

// The configuration of a task with settings of its tables ("task", "noise", "sensor" ...).
Config task_config(const std::string& task, const pybind11::dict& settings);

// Seeds of episodes: the given one, then numbers of the stream that it seeds.
class EpisodeSeeds {
 public:
  std::uint64_t first(std::uint64_t seed);
  std::uint64_t next();
  void archive(Archive& archive);

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
  // Returns (observation, reward, terminated, truncated, success).
  pybind11::tuple step(const Numbers& action);
  std::optional<pybind11::bytes> save() const;
  void restore(const std::string& bytes);

 private:
  std::unique_ptr<Env> env_;
  bool has_goal_;
  int horizon_;
  EpisodeSeeds seeds_;
};

// Many environments with Gymnasium's next-step autoreset: the step after the end of an episode
// resets and ignores its action.
class ManyEnvs {
 public:
  // threads: 0 for one per core, or one alone if steps are short. copies: every step returns new
  // arrays instead of the same ones.
  ManyEnvs(const Config& config, int count, int threads, bool copies);

  const Env& env() const { return *places_.front().env; }
  int size() const { return static_cast<int>(places_.size()); }
  int threads() const { return static_cast<int>(shares_.size()); }
  bool has_goal() const { return has_goal_; }

  // Resets the environments whose mask is true and returns all observations. Without seeds, each
  // uses the next of its own.
  pybind11::array_t<double> reset(const std::vector<std::uint64_t>& seeds,
                                  const pybind11::array_t<bool, pybind11::array::c_style>& mask);
  // Returns (observations, rewards, terminated, truncated, info), as in Gymnasium; info has
  // "is_success" if the task has a goal.
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
  // Results of a step, in one block for each share, because threads that write to one array of
  // bytes would share cache lines; copied to the arrays at the end.
  struct Ends {
    bool terminated = false, truncated = false, success = false;
  };
  // The environments of one thread, the same in every step, so that they stay in its core's cache.
  struct alignas(64) Share {
    int first = 0, last = 0;
    std::atomic<int> next{0};
    std::vector<Ends> ends;
  };

  static constexpr int kTries = 8;
  static constexpr double kWorthSharing = 10e-6;  // seconds; sharing costs two microseconds

  void check_free() const;
  Rows make_rows() const;
  // The calling thread makes the first steps alone, to measure whether sharing them is worth it.
  bool is_alone() const { return chooses_ && (tries_ < kTries || shortest_ < kWorthSharing); }
  // Calls work(share, first, last) over all environments, with work stealing between threads.
  template <typename Work>
  void side_by_side(Work work);
  int own_share() const;

  std::vector<Place> places_;
  bool has_goal_, copies_;
  bool chooses_;  // the number of threads is automatic
  int tries_ = 0;
  double shortest_ = 1;  // shortest time of the tries in seconds
  Rows rows_;            // results of the last reset or step
  pybind11::array_t<bool> all_true_;
  pybind11::str success_key_{"is_success"}, success_mask_key_{"_is_success"};
  std::vector<Share> shares_;
  bool busy_ = false;  // in side_by_side(); guarded by the interpreter's lock
  std::thread::id caller_;
  Team team_;
};

}  // namespace ovde::python
