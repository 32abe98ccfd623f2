#include "env/wrappers.h"

#include <algorithm>

namespace ovde {

std::optional<Bytes> SavedWrapper::save() const {
  const auto inside = saved_state(inner());
  if (!inside) return std::nullopt;
  return save_members(*this, *inside);
}

bool SavedWrapper::restore(std::span<const std::byte> bytes) {
  Bytes inside;
  restore_members(bytes, *this, inside);
  return restore_state(inner(), inside);
}

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

void Disturbance::archive(Archive& archive) {
  archive(seed_);
  if (archive.restores()) draw(seed_);
  archive_episode(archive);
}

}  // namespace ovde
