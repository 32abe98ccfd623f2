// A trained policy, loaded from a run's policy.safetensors: a function from observation to action.
// Needs nothing else of the library (target ovde::policy).
#pragma once

#include <memory>
#include <span>
#include <string>

namespace ovde {

class Policy {
 public:
  static Policy load(const std::string& file);  // throws InputError if it is not a valid policy

  Policy(Policy&&) noexcept;
  Policy& operator=(Policy&&) noexcept;
  ~Policy();

  int observation_size() const;
  int action_size() const;

  // The action in the task's own units. Allocates nothing. Throws InputError if a size is wrong.
  void act(std::span<const double> observation, std::span<double> action);
  // The same before scaling, in [-1, 1].
  void act_unit(std::span<const double> observation, std::span<double> action);

  // The actions for n observations, stored one after another. The last bits may differ from act(),
  // because sums are computed in a different order; they do not depend on the number of threads
  // (0: chosen automatically). The first call allocates memory that later calls of that n reuse.
  void act_all(std::span<const double> observations, std::span<double> actions, int threads = 1);

 private:
  struct Inside;
  explicit Policy(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace ovde
