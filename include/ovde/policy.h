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

 private:
  struct Inside;
  explicit Policy(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace ovde
