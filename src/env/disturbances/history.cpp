// Observations with the last observations and actions appended (task.history), so that a task with
// delays is a Markov decision process again.
#include <algorithm>

#include <fmt/format.h>

#include "env/disturbances/disturbances.h"

namespace ovde {

namespace {

class History final : public Disturbance {
 public:
  History(std::unique_ptr<Env> inner, int length)
      : Disturbance(std::move(inner)),
        length_(length),
        size_(EnvWrapper::inner().observation_size()),
        observations_(EnvWrapper::inner().observation_size(), length + 1),
        actions_(action_space().size(), length) {}

  int observation_size() const override {
    return EnvWrapper::observation_size() +
           length_ * (EnvWrapper::observation_size() + action_space().size());
  }
  Signals signals() const override { return with_history(inner().signals(), length_); }

  Step step(std::span<const double> action, std::span<double> out) override {
    actions_.push(action);
    const Step result = inner().step(action, out.first(size_));
    observations_.push(out.first(size_));
    append(out);
    return result;
  }

 protected:
  void draw(std::uint64_t) override { actions_.fill(middle(action_space())); }
  void observe_first(std::span<double> out) override {
    observations_.fill(out.first(size_));
    append(out);
  }
  void archive_episode(Archive& archive) override { archive(observations_, actions_); }

 private:
  void append(std::span<double> out) {
    auto at = out.begin() + static_cast<std::ptrdiff_t>(size_);
    for (int age = 1; age <= length_; ++age) at = std::ranges::copy(observations_[age], at).out;
    for (int age = 0; age < length_; ++age) at = std::ranges::copy(actions_[age], at).out;
  }

  int length_;
  std::size_t size_;
  Ring observations_, actions_;
};

}  // namespace

Signals with_history(Signals signals, int length) {
  const std::vector<Signal> observation = signals.observation;
  if (observation.empty()) return signals;
  const auto append = [&](const std::vector<Signal>& all, const char* suffix) {
    for (int age = 1; age <= length; ++age) {
      for (const Signal& each : all)
        signals.observation.push_back(
            {fmt::format("{}{}[-{}]", each.name, suffix, age), each.unit});
    }
  };
  append(observation, "");
  append(signals.action, "_action");
  return signals;
}

std::unique_ptr<Env> with_history(std::unique_ptr<Env> inner, int length) {
  if (length == 0) return inner;
  return std::make_unique<History>(std::move(inner), length);
}

}  // namespace ovde
