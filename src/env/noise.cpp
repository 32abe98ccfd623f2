#include "env/noise.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "env/wrappers.h"

namespace ovde {

std::vector<Field<NoiseOptions>> noise_options() {
  using Keys = NoiseOptions;
  return {
      field(&Keys::transition, "transition", "disturb the state after every step"),
      field(&Keys::scales, "scales", {0, 1e3},
            "standard deviations of the disturbance, of which one is drawn at random"),
      field(&Keys::scale, "scale", {0, 1e3}, "factor of all scales"),
      field(&Keys::draw, "draw",
            "how often a scale is drawn: for each step, for each coordinate in each step, or for "
            "each episode"),
      field(&Keys::part, "part",
            "the coordinates that are disturbed: positions and velocities, or velocities alone"),
      field(&Keys::relative, "relative",
            "scales are in units of each coordinate's standard deviation under random actions, a "
            "table of the task"),
      field(&Keys::coordinate, "coordinate",
            "state coordinate by which the disturbance depends on the state; empty: it does not"),
      field(&Keys::edges, "edges", "boundaries of the regions along that coordinate, ascending"),
      field(&Keys::factors, "factors", {0, 1e3},
            "factor of the disturbance in each region, one more than edges"),
      field(&Keys::action, "action", {0, 1e3},
            "standard deviation of noise on actions, in units of half the action's range"),
      field(&Keys::observation, "observation", {0, 1e3},
            "standard deviation of noise on observations; the state itself is untouched"),
      field(&Keys::reward, "reward", {0, 1e6}, "standard deviation of noise on rewards"),
  };
}

namespace {

void check_regions(const Env& env, const NoiseOptions& options) {
  if (options.coordinate.empty()) return;
  const auto* const state = env.as<Disturbable>();
  if (!state || !state->coordinate(options.coordinate)) {
    const auto valid = state ? state->coordinates() : std::vector<std::string>();
    throw OptionError("noise.coordinate", options.coordinate,
                      valid.empty() ? "this task has no state coordinates; must be \"\""
                                    : fmt::format("must be a state coordinate of the task: {}",
                                                  fmt::join(valid, ", ")));
  }
  const auto& edges = options.edges;
  if (!std::ranges::is_sorted(edges))
    throw OptionError("noise.edges", edges, "must be in ascending order");
  if (options.factors.size() != edges.size() + 1) {
    throw OptionError("noise.factors", options.factors,
                      fmt::format("must be a list of {} numbers, one more than noise.edges = {}",
                                  edges.size() + 1, to_string(edges)));
  }
}

// The unit of each coordinate's noise; empty if all units are 1 and all scales equal.
std::vector<double> noise_units(const Env& env, const NoiseOptions& options) {
  const bool velocities_only = options.part == NoisePart::velocities;
  const bool by_coordinate = options.draw == ScaleDraw::coordinate;
  if (!velocities_only && !by_coordinate && !options.relative) return {};

  const auto* const state = env.as<Disturbable>();
  const auto all = state ? state->disturbables() : std::vector<StateCoordinate>();
  if (velocities_only && std::ranges::none_of(all, &StateCoordinate::velocity)) {
    throw OptionError("noise.part", std::string(name(options.part)),
                      "this task has no velocities; must be \"all\"");
  }
  if (options.relative && std::ranges::all_of(all, [](auto& x) { return x.spread == 0; })) {
    throw OptionError("noise.relative", true,
                      "this task has no table of its coordinates' spread; must be false");
  }
  if (all.empty()) {
    throw OptionError("noise.draw", std::string(name(options.draw)),
                      "this task's coordinates cannot be disturbed one by one; must be \"step\" "
                      "or \"episode\"");
  }
  std::vector<double> units;
  for (const StateCoordinate& x : all) {
    const bool untouched = velocities_only && !x.velocity;
    units.push_back(untouched ? 0 : options.relative ? x.spread : 1);
  }
  return units;
}

[[noreturn]] void refuse_transition() {
  throw InputError("noise.transition: the state of this task cannot be disturbed");
}

class Noise final : public Disturbance {
 public:
  Noise(std::unique_ptr<Env> inner, NoiseOptions options)
      : Disturbance(std::move(inner)),
        options_(std::move(options)),
        state_(EnvWrapper::inner().as<Disturbable>()),
        unit_(noise_units(EnvWrapper::inner(), options_)),
        scales_(unit_.size()),
        action_(action_space().low.size()) {}

  Step step(std::span<const double> in, std::span<double> out) override;

 private:
  void draw(std::uint64_t seed) override;
  void observe_first(std::span<double> observation) override { add_noise(observation); }
  void archive_episode(Archive& archive) override {
    for (Random& random : random_) archive(random);
  }

  void add_noise(std::span<double> observation);
  double region_factor() const;
  double draw_scale();
  bool disturb_state(double factor, std::span<double> observation);

  NoiseOptions options_;
  Disturbable* state_;  // the inner environment's interface; null only without options_.transition
  // Each coordinate's unit, and its scale in this step; empty: the same for all coordinates.
  std::vector<double> unit_, scales_;
  double episode_scale_ = 0;
  std::vector<double> action_;
  // Substreams of Stream::disturbance: append, never reorder.
  enum Kind { scale, transition, action, observation, reward, kinds };
  std::array<Random, kinds> random_;
};

double Noise::region_factor() const {
  if (options_.coordinate.empty()) return 1;
  const double where = *state_->coordinate(options_.coordinate);
  return options_.factors[std::ranges::upper_bound(options_.edges, where) - options_.edges.begin()];
}

void Noise::draw(std::uint64_t seed) {
  for (std::uint32_t kind = 0; kind < kinds; ++kind)
    random_[kind] = Random(seed, Stream::disturbance, kind);
  if (options_.draw == ScaleDraw::episode) episode_scale_ = draw_scale();
}

double Noise::draw_scale() {
  const auto& scales = options_.scales;
  return options_.scale * scales[random_[scale].below(static_cast<std::uint32_t>(scales.size()))];
}

bool Noise::disturb_state(double factor, std::span<double> out) {
  double drawn = options_.draw == ScaleDraw::step ? draw_scale() : episode_scale_;
  if (unit_.empty()) return state_->disturb(factor * drawn, random_[transition], out);
  for (std::size_t i = 0; i < unit_.size(); ++i) {
    if (options_.draw == ScaleDraw::coordinate) drawn = draw_scale();
    scales_[i] = unit_[i] * factor * drawn;
  }
  return state_->disturb_each(scales_, random_[transition], out);
}

void Noise::add_noise(std::span<double> out) {
  if (options_.observation == 0) return;
  for (double& x : out) x += options_.observation * random_[observation].normal();
}

Step Noise::step(std::span<const double> in, std::span<double> out) {
  std::span<const double> applied = in;
  if (options_.action > 0) {
    const Box& box = inner().action_space();
    for (std::size_t i = 0; i < action_.size(); ++i) {
      const double half_range = (box.high[i] - box.low[i]) / 2;
      const double noisy = in[i] + options_.action * half_range * random_[action].normal();
      action_[i] = std::clamp(noisy, box.low[i], box.high[i]);
    }
    applied = action_;
  }

  // the factor is that of the region before the move, as in GridChaos
  const double factor = options_.transition ? region_factor() : 0;
  Step result = inner().step(applied, out);

  // reward and termination are those before the disturbance
  if (options_.transition && !disturb_state(factor, out)) refuse_transition();

  add_noise(out);
  if (options_.reward > 0) result.reward += options_.reward * random_[reward].normal();
  return result;
}

}  // namespace

std::unique_ptr<Env> with_noise(std::unique_ptr<Env> inner, const NoiseOptions& options) {
  check_regions(*inner, options);
  noise_units(*inner, options);
  const bool off =
      !options.transition && options.action == 0 && options.observation == 0 && options.reward == 0;
  if (off) return inner;
  if (options.transition && inner->as<Disturbable>() == nullptr) refuse_transition();
  return std::make_unique<Noise>(std::move(inner), options);
}

}  // namespace ovde
