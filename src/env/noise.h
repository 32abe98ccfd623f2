// Noise injected into any task (table `noise`): into the state after each step, and into actions,
// observations and rewards. Each kind has its own random stream, seeded by the episode's seed:
// switching one kind on changes neither the task's own randomness nor the other kinds.
#pragma once

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
  bool transition = false;                       // disturb the state
  std::vector<double> scales = {0, 0.01, 0.02};  // standard deviations to draw from
  double scale = 1;                              // multiplies all scales
  ScaleDraw draw = ScaleDraw::step;              // how often a scale is drawn
  NoisePart part = NoisePart::all;               // the coordinates that are disturbed
  bool relative = false;                         // scales in units of each coordinate's spread
  // Scales are multiplied by a factor that depends on one coordinate of the state: factors[i]
  // between edges[i - 1] and edges[i], the last factor above all edges.
  std::string coordinate = {};  // empty: the same noise everywhere
  std::vector<double> edges = {0}, factors = {1, 1};
  double action = 0, observation = 0, reward = 0;  // standard deviations
};

std::vector<Field<NoiseOptions>> noise_options();

// Wraps `inner` in the noise of the options; returns `inner` itself if all noise is off. Throws
// OptionError if the options contradict each other or the task, even those of noise that is off.
std::unique_ptr<Env> with_noise(std::unique_ptr<Env> inner, const NoiseOptions& options);

}  // namespace ovde
