// A trained policy, loaded from a run's policy.safetensors: a function from observation to action
// that allocates nothing and needs nothing of the rest of the library.
#pragma once

#include <memory>
#include <span>
#include <string>

namespace ovde {

class Policy {
 public:
  static Policy load(const std::string& file);  // InputError if it is not a policy of this library

  Policy(Policy&&) noexcept;
  Policy& operator=(Policy&&) noexcept;
  ~Policy();

  int observation_size() const;
  int action_size() const;

  // The action in the task's own units. InputError if a span has another size than these.
  void act(std::span<const double> observation, std::span<double> action);
  // The same before scaling, in [-1, 1].
  void act_unit(std::span<const double> observation, std::span<double> action);

  // Many at once, each in the task's own units: n observations one after another, as many actions.
  // They are act()'s but for the rounding of 32-bit sums, whose order is another, and do not depend
  // on the threads (0: as many as there are cores and the observations are worth). The first call
  // sets up what later ones of that size reuse.
  void act_all(std::span<const double> observations, std::span<double> actions, int threads = 1);

 private:
  struct Inside;
  explicit Policy(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace ovde
