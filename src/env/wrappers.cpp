#include "env/wrappers.h"

#include <algorithm>

namespace ovde {

void TimeLimit::reset(std::uint64_t seed, std::span<double> observation) {
  steps_ = 0;
  inner().reset(seed, observation);
}

bool TimeLimit::set_state(std::span<const double> position, std::span<const double> velocity,
                          std::span<double> observation) {
  steps_ = 0;
  auto* const state = inner().as<Restorable>();
  return state && state->set_state(position, velocity, observation);
}

Step TimeLimit::step(std::span<const double> action, std::span<double> observation) {
  Step result = inner().step(action, observation);
  ++steps_;
  // termination in the last step counts as termination
  if (steps_ >= horizon_ && !result.terminated) result.truncated = true;
  return result;
}

std::optional<Bytes> TimeLimit::save() const {
  const auto saved = saved_state(inner());
  if (!saved) return std::nullopt;
  ByteWriter out;
  out.put(steps_);
  out.put_bytes(*saved);
  return out.take();
}

bool TimeLimit::restore(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  steps_ = in.get<int>();
  return restore_state(inner(), in.get_bytes());
}

ScaledActions::ScaledActions(std::unique_ptr<Env> inner)
    : EnvWrapper(std::move(inner)),
      unit_(box(this->inner().action_space().size(), -1, 1)),
      scaled_(unit_.low.size()) {}

Step ScaledActions::step(std::span<const double> action, std::span<double> observation) {
  const Box& target = inner().action_space();
  for (std::size_t i = 0; i < scaled_.size(); ++i) {
    const double unit = std::clamp(action[i], -1.0, 1.0);
    scaled_[i] = target.low[i] + (unit + 1) / 2 * (target.high[i] - target.low[i]);
  }
  return inner().step(scaled_, observation);
}

void Disturbance::reset(std::uint64_t seed, std::span<double> out) {
  seed_ = seed;
  draw(seed_);
  inner().reset(seed, out.first(inner().observation_size()));
  observe_first(out);
}

bool Disturbance::set_state(std::span<const double> position, std::span<const double> velocity,
                            std::span<double> out) {
  auto* const state = inner().as<Restorable>();
  if (!state) return false;
  draw(seed_);
  if (!state->set_state(position, velocity, out.first(inner().observation_size()))) return false;
  observe_first(out);
  return true;
}

std::optional<Bytes> Disturbance::save() const {
  const auto saved = saved_state(inner());
  if (!saved) return std::nullopt;
  ByteWriter out;
  out.put(seed_);
  Archive state(out);
  const_cast<Disturbance*>(this)->archive(state);  // saving changes nothing
  out.put_bytes(*saved);
  return out.take();
}

bool Disturbance::restore(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  seed_ = in.get<std::uint64_t>();
  draw(seed_);
  Archive state(in);
  archive(state);
  return restore_state(inner(), in.get_bytes());
}

}  // namespace ovde
