// Noise injected into any task (table `noise`): into the state after each step, into actions,
// observations and rewards. Each kind draws from its own stream, which
// follows from the episode's seed alone: switching one on changes neither the task's own randomness
// nor the other kinds.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <ovde/env.h>
#include "base/field.h"

namespace ovde {

enum class NoisePart { all, velocities };
enum class ScaleDraw { step, coordinate, episode };
template <>
inline constexpr Names<NoisePart> kNames<NoisePart> = {{NoisePart::all, "all"},
                                                       {NoisePart::velocities, "velocities"}};
template <>
inline constexpr Names<ScaleDraw> kNames<ScaleDraw> = {{ScaleDraw::step, "step"},
                                                       {ScaleDraw::coordinate, "coordinate"},
                                                       {ScaleDraw::episode, "episode"}};

struct NoiseOptions {
  bool transition = false;                       // into the state
  std::vector<double> scales = {0, 0.01, 0.02};  // standard deviations, of which one is drawn
  double scale = 1;                              // all of them are multiplied by it
  ScaleDraw draw = ScaleDraw::step;              // how often one is drawn
  NoisePart part = NoisePart::all;               // what is pushed
  bool relative = false;                         // in units of each coordinate's spread
  // They are multiplied by a factor that depends on where one coordinate of the state is:
  // factors[i] between edges[i - 1] and edges[i], the last one above all edges.
  std::string coordinate = {};  // empty: the same noise everywhere
  std::vector<double> edges = {0}, factors = {1, 1};
  double action = 0, observation = 0, reward = 0;  // standard deviations
};

std::vector<Field<NoiseOptions>> noise_options();

// `inner` with the noise that the options ask for, or `inner` itself when they ask for none.
// OptionError if they do not fit together or do not fit the task, whether they are in use or not.
std::unique_ptr<Env> with_noise(std::unique_ptr<Env> inner, const NoiseOptions& options);

class Noise final : public EnvWrapper {
 public:
  Noise(std::unique_ptr<Env> inner, NoiseOptions options);

  void reset(std::uint64_t seed, std::span<double> observation) override;
  Step step(std::span<const double> action, std::span<double> observation) override;
  bool set_state(std::span<const double> position, std::span<const double> velocity,
                 std::span<double> observation) override;
  std::optional<Bytes> save() const override;
  bool restore(std::span<const std::byte> bytes) override;

 private:
  void seed_streams(std::uint64_t seed);
  void add_observation_noise(std::span<double> observation);
  double region_factor() const;
  double draw_scale();
  bool disturb_state(double factor, std::span<double> observation);

  NoiseOptions options_;
  // What each coordinate's noise is multiplied by, and its scale in this step; empty: the same for
  // all of them.
  std::vector<double> unit_, scales_;
  double episode_scale_ = 0;
  std::vector<double> action_;
  std::uint64_t seed_ = 0;
  // Substreams of Stream::disturbance. Their numbers decide the draws: append, never reorder.
  enum Kind { scale, transition, action, observation, reward, kinds };
  std::array<Random, kinds> random_;
};

}  // namespace ovde
