// EpochLoop as saved state: its position, the episode in progress and the learner, a section each.
#include <algorithm>

#include <fmt/format.h>

#include <ovde/error.h>
#include "train/epoch_loop.h"

namespace ovde {

namespace {

constexpr const char *kPosition = "position", *kEpisode = "episode", *kLearner = "learner";

void check(bool condition, const char* what) {
  if (!condition) throw Error(fmt::format("says something impossible of {}", what));
}

Bytes save_learner(Agent& agent) {
  const LearnerState state = agent.state();
  ByteWriter out;
  out.put(*state.updates);
  for (const auto& [name, values] : state.arrays) {
    out.put_text(name);
    out.put_all(std::span<const float>(values));
  }
  for (const auto& [name, values] : state.statistics) {
    out.put_text(name);
    out.put_all(std::span<const double>(values));
  }
  return out.take();
}

void restore_learner(const Bytes& bytes, Agent& agent) {
  const LearnerState state = agent.state();
  ByteReader in(bytes);
  *state.updates = in.get<std::uint64_t>();
  for (const auto& [name, values] : state.arrays) {
    check(in.get_text() == name, "the learner");
    in.get_all(values);
  }
  for (const auto& [name, values] : state.statistics) {
    check(in.get_text() == name, "the learner");
    in.get_all(values);
  }
  check(in.empty(), "the learner");
  agent.restored();
}

}  // namespace

Sections EpochLoop::save() {
  check_parameters();
  ByteWriter position, episode;
  save_position(position);

  const auto environment = in_episode_ ? env_->save() : std::nullopt;
  episode.put(in_episode_);
  episode.put(episode_return_);
  episode.put(episode_success_);
  episode.put_all(std::span<const double>(observation_));
  episode.put(environment.has_value());
  episode.put_bytes(environment.value_or(Bytes()));

  return {
      {kPosition, position.take()}, {kEpisode, episode.take()}, {kLearner, save_learner(*agent_)}};
}

bool EpochLoop::restore(const Sections& saved) {
  ByteReader position(section(saved, kPosition)), episode(section(saved, kEpisode));
  restore_position(position);
  const bool continued = restore_episode(episode);
  check(position.empty() && episode.empty(), "its position");
  restore_learner(section(saved, kLearner), *agent_);
  return continued;
}

void EpochLoop::save_position(ByteWriter& out) const {
  out.put(seed_);
  out.put(epochs_done_);
  out.put(env_steps_);
  out.put(episode_seeds_.position());
  out.put(agent_->behaviour_noise().position());
  out.put(agent_->explorer_noise().position());

  out.put(phase_);
  out.put(steps_done_);
  out.put(collected_.episodes);
  out.put(collected_.successes);
  out.put(collected_.returns);
  out.put(collected_.m);
  out.put(collected_.shift);
  put_row(out, row_);
}

void EpochLoop::restore_position(ByteReader& in) {
  check(in.get<std::uint64_t>() == seed_, "its seed");
  epochs_done_ = in.get<int>();
  env_steps_ = in.get<std::int64_t>();
  check(epochs_done_ >= 0 && epochs_done_ <= config_.train.epochs, "its epoch");
  check(env_steps_ >= 0, "its steps");
  episode_seeds_.seek(in.get<std::uint64_t>());
  agent_->behaviour_noise().seek(in.get<std::uint64_t>());
  agent_->explorer_noise().seek(in.get<std::uint64_t>());

  const auto phase = in.get<std::uint8_t>();
  check(phase <= static_cast<std::uint8_t>(Phase::learn), "its phase");
  phase_ = Phase{phase};
  steps_done_ = in.get<std::int64_t>();
  check(steps_done_ >= 0 && steps_done_ <= steps_of(phase_), "its steps");
  collected_.episodes = in.get<std::int64_t>();
  collected_.successes = in.get<std::int64_t>();
  collected_.returns = in.get<double>();
  collected_.m = in.get<double>();
  collected_.shift = in.get<double>();
  row_ = get_row(in);
}

bool EpochLoop::restore_episode(ByteReader& in) {
  // a byte from a file is not a bool before it has been looked at
  in_episode_ = in.get<std::uint8_t>() != 0;
  episode_return_ = in.get<double>();
  episode_success_ = in.get<std::uint8_t>() != 0;
  in.get_all(std::span(observation_));
  const bool saved = in.get<std::uint8_t>() != 0;
  const Bytes environment = in.get_bytes();
  if (!in_episode_) return true;
  in_episode_ = saved && env_->restore(environment);
  return in_episode_;
}

}  // namespace ovde
