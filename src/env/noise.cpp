#include "env/noise.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>

namespace ovde {

std::vector<Field<NoiseOptions>> noise_options() {
  using Noise = NoiseOptions;
  return {
      field(&Noise::transition,
            {.name = "transition", .help = "disturb the state after every step"}),
      field(&Noise::scales,
            number("scales", "standard deviations of the disturbance; each step draws one of them",
                   0, 1e3)),
      field(&Noise::coordinate,
            {.name = "coordinate",
             .help = "state coordinate by which the disturbance depends on the state; empty: it "
                     "does not"}),
      field(&Noise::edges,
            {.name = "edges",
             .help = "where, along that coordinate, one region ends and the next begins; "
                     "ascending"}),
      field(&Noise::factors,
            number("factors",
                   "what the disturbance is multiplied by in each region, one more than edges", 0,
                   1e3)),
      field(&Noise::action,
            number("action",
                   "standard deviation of noise on actions, in units of half the action's range", 0,
                   1e3)),
      field(&Noise::observation,
            number("observation",
                   "standard deviation of noise on observations; the state itself is untouched", 0,
                   1e3)),
      field(&Noise::reward, number("reward", "standard deviation of noise on rewards", 0, 1e6)),
  };
}

namespace {

void check_regions(const Env& env, const NoiseOptions& options) {
  if (options.coordinate.empty()) return;
  if (!env.coordinate(options.coordinate)) {
    const auto valid = env.coordinates();
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

}  // namespace

std::unique_ptr<Env> with_noise(std::unique_ptr<Env> inner, const NoiseOptions& options) {
  check_regions(*inner, options);
  const bool off =
      !options.transition && options.action == 0 && options.observation == 0 && options.reward == 0;
  if (off) return inner;
  return std::make_unique<Noise>(std::move(inner), options);
}

Noise::Noise(std::unique_ptr<Env> inner, NoiseOptions options)
    : EnvWrapper(std::move(inner)),
      options_(std::move(options)),
      action_(action_space().low.size()) {}

double Noise::region_factor() const {
  if (options_.coordinate.empty()) return 1;
  const double where = *coordinate(options_.coordinate);
  return options_.factors[std::ranges::upper_bound(options_.edges, where) - options_.edges.begin()];
}

void Noise::seed_streams(std::uint64_t seed) {
  seed_ = seed;
  for (std::uint32_t kind = 0; kind < kinds; ++kind)
    random_[kind] = Random(seed, Stream::disturbance, kind);
}

void Noise::reset(std::uint64_t seed, std::span<double> out) {
  seed_streams(seed);
  inner().reset(seed, out);
  add_observation_noise(out);
}

// The episode has the noise that the last reset gave, from its beginning.
bool Noise::set_state(std::span<const double> position, std::span<const double> velocity,
                      std::span<double> out) {
  if (!inner().set_state(position, velocity, out)) return false;
  seed_streams(seed_);
  add_observation_noise(out);
  return true;
}

void Noise::add_observation_noise(std::span<double> out) {
  if (options_.observation == 0) return;
  for (double& x : out) x += options_.observation * random_[observation].normal();
}

Step Noise::step(std::span<const double> in, std::span<double> out) {
  // actions: the task clips what leaves its box
  std::ranges::copy(in, action_.begin());
  if (options_.action > 0) {
    const Box& box = inner().action_space();
    for (std::size_t i = 0; i < action_.size(); ++i) {
      const double half_range = (box.high[i] - box.low[i]) / 2;
      const double noisy = action_[i] + options_.action * half_range * random_[action].normal();
      action_[i] = std::clamp(noisy, box.low[i], box.high[i]);
    }
  }

  // the region before the move decides, as in GridChaos
  const double factor = options_.transition ? region_factor() : 0;
  Step result = inner().step(action_, out);

  // the state: reward and end are those of the move itself, the disturbance counts from the next
  // step on
  if (options_.transition) {
    const auto& scales = options_.scales;
    const double drawn = scales[random_[scale].below(static_cast<std::uint32_t>(scales.size()))];
    if (!inner().disturb(factor * drawn, random_[transition], out)) {
      throw InputError("noise.transition: this task has no state that could be disturbed");
    }
  }

  // what the agent is told
  add_observation_noise(out);
  if (options_.reward > 0) result.reward += options_.reward * random_[reward].normal();
  return result;
}

std::optional<Bytes> Noise::save() const {
  const auto saved = inner().save();
  if (!saved) return std::nullopt;
  ByteWriter out;
  out.put(seed_);
  for (const Random& random : random_) out.put(random.position());
  out.put_bytes(*saved);
  return out.take();
}

bool Noise::restore(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  seed_streams(in.get<std::uint64_t>());
  for (Random& random : random_) random.seek(in.get<std::uint64_t>());
  return inner().restore(in.get_bytes());
}

}  // namespace ovde
