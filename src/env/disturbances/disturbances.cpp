#include "env/disturbances/disturbances.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

namespace ovde {

namespace {

// The spreads that were measured, by the task and its options.
std::map<std::string, std::vector<double>> measured;
std::mutex measured_mutex;

// Threads may measure the same one at once: a lock held meanwhile would deadlock with the lock of
// Python's interpreter.
std::vector<double> spread_of(Env& task, const std::string& name) {
  if (auto* const keeper = task.as<KeepsSpread>()) return keeper->spread();
  {
    const std::lock_guard lock(measured_mutex);
    if (const auto found = measured.find(name); found != measured.end()) return found->second;
  }
  std::vector<double> spread = observation_spread(task);
  const std::lock_guard lock(measured_mutex);
  return measured.emplace(name, std::move(spread)).first->second;
}

}  // namespace

std::vector<double> observation_spread(Env& task) {
  constexpr int kEpisodes = 20, kSteps = 100;
  const Box& box = task.action_space();
  std::vector<double> observation(task.observation_size()), action(box.low.size());
  std::vector<double> mean(observation.size()), squares(observation.size());
  double count = 0;
  const auto add = [&] {  // Welford's update
    ++count;
    for (std::size_t i = 0; i < observation.size(); ++i) {
      const double distance = observation[i] - mean[i];
      mean[i] += distance / count;
      squares[i] += distance * (observation[i] - mean[i]);
    }
  };
  Random random(0, Stream::scaling);
  for (int episode = 0; episode < kEpisodes; ++episode) {
    task.reset(static_cast<std::uint64_t>(episode), observation);
    add();
    for (int step = 0; step < kSteps; ++step) {
      for (std::size_t i = 0; i < action.size(); ++i)
        action[i] = random.uniform(box.low[i], box.high[i]);
      const Step result = task.step(action, observation);
      add();
      if (result.terminated || result.truncated) break;
    }
  }
  for (double& x : squares) x = std::sqrt(x / count);
  return squares;
}

std::unique_ptr<Env> with_disturbances(std::unique_ptr<Env> task, const NoiseOptions& noise,
                                       const Disturbances& on, const std::string& name) {
  std::vector<double> spread;
  if (is_on(on.sensor)) spread = spread_of(*task, name);
  std::unique_ptr<Env> env = with_noise(std::move(task), noise);
  env = with_model(std::move(env), on.model);
  env = with_pushes(std::move(env), on.push);
  env = with_actuators(std::move(env), on.actuator);
  env = with_sensors(std::move(env), on.sensor, spread);
  env = with_delays(std::move(env), on.delay);
  return with_history(std::move(env), on.history);
}

std::vector<double> middle(const Box& box) {
  std::vector<double> out;
  for (std::size_t i = 0; i < box.low.size(); ++i) out.push_back((box.low[i] + box.high[i]) / 2);
  return out;
}

void Ring::fill(std::span<const double> values) {
  for (int i = 0; i < length_; ++i) push(values);
}

void Ring::push(std::span<const double> values) {
  newest_ = newest_ == 0 ? length_ - 1 : newest_ - 1;
  std::ranges::copy(values, values_.begin() + static_cast<std::ptrdiff_t>(newest_ * size_));
}

std::span<const double> Ring::operator[](int age) const {
  const int row = newest_ + age < length_ ? newest_ + age : newest_ + age - length_;
  return {values_.data() + row * size_, size_};
}

void Ring::archive(Archive& archive) {
  archive(newest_, std::span(values_));
  if (newest_ < 0 || newest_ >= length_) throw Error("saved state has an unexpected size");
}

}  // namespace ovde
