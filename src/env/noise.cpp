#include "env/noise.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>

namespace ovde {

std::vector<Option> noise_options() {
  return {
      {.name = "transition", .default_value = false, .help = "disturb the state after every step"},
      {.name = "scales",
       .default_value = std::vector<double>{0, 0.01, 0.02},
       .help = "standard deviations of the disturbance; each step draws one of them",
       .low = 0,
       .high = 1e3},
      {.name = "coordinate",
       .default_value = std::string(),
       .help =
           "state coordinate by which the disturbance depends on the state; empty: it does not"},
      {.name = "edges",
       .default_value = std::vector<double>{0},
       .help = "where, along that coordinate, one region ends and the next begins; ascending"},
      {.name = "factors",
       .default_value = std::vector<double>{1, 1},
       .help = "what the disturbance is multiplied by in each region, one more than edges",
       .low = 0,
       .high = 1e3},
      {.name = "action",
       .default_value = 0.0,
       .help = "standard deviation of noise on actions, in units of half the action's range",
       .low = 0,
       .high = 1e3},
      {.name = "observation",
       .default_value = 0.0,
       .help = "standard deviation of noise on observations; the state itself is untouched",
       .low = 0,
       .high = 1e3},
      {.name = "reward",
       .default_value = 0.0,
       .help = "standard deviation of noise on rewards",
       .low = 0,
       .high = 1e6},
  };
}

namespace {

void check_regions(const Env& env, const OptionValues& options) {
  const auto refuse = [&](const std::string& name, const std::string& why) {
    throw OptionError("noise." + name, options.all().at(name), why);
  };
  const std::string& coordinate = options.text("coordinate");
  if (coordinate.empty()) return;
  if (!env.coordinate(coordinate)) {
    const auto valid = env.coordinates();
    refuse("coordinate", valid.empty() ? "this task has no state coordinates; must be \"\""
                                       : fmt::format("must be a state coordinate of the task: {}",
                                                     fmt::join(valid, ", ")));
  }
  const auto& edges = options.list("edges");
  if (!std::ranges::is_sorted(edges)) refuse("edges", "must be in ascending order");
  if (options.list("factors").size() != edges.size() + 1) {
    refuse("factors", fmt::format("must be a list of {} numbers, one more than noise.edges = {}",
                                  edges.size() + 1, to_string(edges)));
  }
}

}  // namespace

std::unique_ptr<Env> with_noise(std::unique_ptr<Env> inner, const OptionValues& options) {
  check_regions(*inner, options);
  const bool off = !options.flag("transition") && options.number("action") == 0 &&
                   options.number("observation") == 0 && options.number("reward") == 0;
  if (off) return inner;
  return std::make_unique<Noise>(std::move(inner), options);
}

double NoiseRegions::factor(const Env& env) const {
  if (coordinate.empty()) return 1;
  const auto region = std::ranges::upper_bound(edges, *env.coordinate(coordinate)) - edges.begin();
  return factors[region];
}

Noise::Noise(std::unique_ptr<Env> inner, const OptionValues& options)
    : EnvWrapper(std::move(inner)),
      transition_(options.flag("transition")),
      scales_(options.list("scales")),
      regions_{options.text("coordinate"), options.list("edges"), options.list("factors")},
      action_deviation_(options.number("action")),
      observation_deviation_(options.number("observation")),
      reward_deviation_(options.number("reward")),
      action_(action_space().low.size()) {}

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
  if (observation_deviation_ == 0) return;
  for (double& x : out) x += observation_deviation_ * random_[observation].normal();
}

Step Noise::step(std::span<const double> in, std::span<double> out) {
  // actions: the task clips what leaves its box
  std::ranges::copy(in, action_.begin());
  if (action_deviation_ > 0) {
    const Box& box = inner().action_space();
    for (std::size_t i = 0; i < action_.size(); ++i) {
      const double half_range = (box.high[i] - box.low[i]) / 2;
      const double noisy = action_[i] + action_deviation_ * half_range * random_[action].normal();
      action_[i] = std::clamp(noisy, box.low[i], box.high[i]);
    }
  }

  // the region before the move decides, as in GridChaos
  const double factor = transition_ ? regions_.factor(inner()) : 0;
  Step result = inner().step(action_, out);

  // the state: reward and end are those of the move itself, the disturbance counts from the next
  // step on
  if (transition_) {
    const double drawn = scales_[random_[scale].below(static_cast<std::uint32_t>(scales_.size()))];
    if (!inner().disturb(factor * drawn, random_[transition], out)) {
      throw InputError("noise.transition: this task has no state that could be disturbed");
    }
  }

  // what the agent is told
  add_observation_noise(out);
  if (reward_deviation_ > 0) result.reward += reward_deviation_ * random_[reward].normal();
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
