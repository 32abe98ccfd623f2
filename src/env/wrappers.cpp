#include "env/wrappers.h"

#include <algorithm>

namespace ovde {

TimeLimit::TimeLimit(std::unique_ptr<Env> inner, int horizon)
    : inner_(std::move(inner)), horizon_(horizon) {}

void TimeLimit::reset(std::uint64_t seed, std::span<double> observation) {
  steps_ = 0;
  inner_->reset(seed, observation);
}

Step TimeLimit::step(std::span<const double> action, std::span<double> observation) {
  Step result = inner_->step(action, observation);
  ++steps_;
  // an episode that ends by itself in its last step has terminated, not been cut off
  if (steps_ >= horizon_ && !result.terminated) result.truncated = true;
  return result;
}

std::optional<Bytes> TimeLimit::save() const {
  auto inner = inner_->save();
  if (!inner) return std::nullopt;
  ByteWriter out;
  out.put(steps_);
  out.put_bytes(*inner);
  return out.take();
}

bool TimeLimit::restore(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  steps_ = in.get<int>();
  return inner_->restore(in.get_bytes());
}

ScaledActions::ScaledActions(std::unique_ptr<Env> inner)
    : inner_(std::move(inner)),
      unit_(box(inner_->action_space().size(), -1, 1)),
      scaled_(unit_.low.size()) {}

Step ScaledActions::step(std::span<const double> action, std::span<double> observation) {
  const Box& target = inner_->action_space();
  for (std::size_t i = 0; i < scaled_.size(); ++i) {
    const double unit = std::clamp(action[i], -1.0, 1.0);
    scaled_[i] = target.low[i] + (unit + 1) / 2 * (target.high[i] - target.low[i]);
  }
  return inner_->step(scaled_, observation);
}

}  // namespace ovde
