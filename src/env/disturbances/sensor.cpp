// Imperfect sensors (table `sensor`). A reading is the observation plus offset, drift and noise,
// rounded to the resolution; a dropped reading repeats the last one.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "env/disturbances/disturbances.h"

namespace ovde {

namespace {

using Kind = DisturbanceStream;

// Whether the name begins with the pattern, or ends with what follows its "*".
bool matches(const std::string& name, const std::string& pattern) {
  return pattern.front() == '*' ? name.ends_with(pattern.substr(1)) : name.starts_with(pattern);
}

// Whether a matching name does so in whole words: "arm" is in "arm_velocity", not in
// "army_velocity".
bool matches_words(const std::string& name, const std::string& pattern) {
  const bool at_end = pattern.front() == '*';
  const std::size_t words = pattern.size() - (at_end ? 1 : 0);
  const std::size_t border = at_end ? name.size() - words : words;
  if (!matches(name, pattern) || border == 0 || border == name.size())
    return matches(name, pattern);
  const auto of_word = [](unsigned char c) { return std::isalnum(c) != 0; };
  return !of_word(name[border - 1]) || !of_word(name[border]);
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::size_t first = list.find_first_not_of(' ', at);
    if (first < end)
      parts.push_back(list.substr(first, list.find_last_not_of(' ', end - 1) + 1 - first));
    at = end + 1;
  }
  return parts;
}

// The numbers of the observations that sensor.group names. A part that is a whole word of some
// names means these alone.
std::vector<std::size_t> group_of(const Env& env, const std::string& group) {
  std::vector<std::string> names;
  for (const Signal& signal : env.signals().observation) names.push_back(signal.name);
  const auto refuse = [&](const std::string& why) {
    throw OptionError("sensor.group", group, why);
  };

  const std::vector<std::string> patterns = parts_of(group);
  if (!patterns.empty() && std::ssize(names) != env.observation_size())
    refuse("this task does not name its observations; must be \"\"");
  std::vector<bool> chosen(static_cast<std::size_t>(env.observation_size()), patterns.empty());
  for (const std::string& pattern : patterns) {
    const auto is_in_one = [&](auto match) {
      return std::ranges::any_of(names, [&](auto& name) { return match(name, pattern); });
    };
    if (!is_in_one(matches))
      refuse(
          fmt::format("\"{}\" names no observation; must be a list of names, their beginnings "
                      "or their *ends, of {}",
                      pattern, fmt::join(names, ", ")));
    const auto match = is_in_one(matches_words) ? matches_words : matches;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (match(names[i], pattern)) chosen[i] = true;
  }
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) out.push_back(i);
  return out;
}

// Standard normal numbers of a stream, made 64 at a time.
class Normals {
 public:
  void start(std::uint64_t seed, Kind kind) {
    seed_ = seed;
    kind_ = kind;
    position_ = made_to_ = 0;
  }
  double next() {
    if (position_ >= made_to_) make();
    return numbers_[position_++ % kMade];
  }

  void archive(Archive& archive) {
    archive(position_);
    if (archive.restores()) made_to_ = 0;
  }

 private:
  static constexpr std::uint64_t kMade = 64;  // fill_normal works in pieces of 64

  void make() {
    const std::uint64_t first = position_ / kMade * kMade;
    fill_normal(seed_, Stream::disturbance, static_cast<std::uint32_t>(kind_), first, numbers_);
    made_to_ = first + kMade;
  }

  std::uint64_t seed_ = 0;
  Kind kind_ = Kind::sensor_noise;
  std::uint64_t position_ = 0, made_to_ = 0;
  std::array<float, kMade> numbers_;
};

class Sensor final : public Disturbance {
 public:
  Sensor(std::unique_ptr<Env> inner, const SensorOptions& options,
         const std::vector<double>& spread)
      : Disturbance(std::move(inner)), options_(options) {
    for (const std::size_t i : group_of(EnvWrapper::inner(), options.group))
      readings_.push_back({.index = i, .spread = spread.at(i)});
  }

  Step step(std::span<const double> action, std::span<double> out) override {
    const Step result = inner().step(action, out);
    if (options_.drift > 0) {
      for (Reading& r : readings_) r.drift += options_.drift * r.spread * drift_.next();
    }
    read(out);
    if (options_.dropped > 0) {
      for (Reading& r : readings_) {
        if (dropped_.uniform() < options_.dropped) out[r.index] = r.last;
        r.last = out[r.index];
      }
    }
    return result;
  }

 protected:
  void draw(std::uint64_t seed) override {
    noise_.start(seed, Kind::sensor_noise);
    drift_.start(seed, Kind::sensor_drift);
    dropped_ = disturbance_stream(seed, Kind::sensor_dropped);
    Random random = disturbance_stream(seed, Kind::sensor_bias);
    for (Reading& r : readings_) {
      r.bias = options_.bias * r.spread * random.normal();
      r.drift = 0;
    }
  }

  void observe_first(std::span<double> out) override {
    read(out);
    for (Reading& r : readings_) r.last = out[r.index];
  }

  void archive_episode(Archive& archive) override {
    archive(noise_, drift_, dropped_);
    for (Reading& r : readings_) archive(r.drift, r.last);
  }

 private:
  struct Reading {
    std::size_t index = 0;  // its place in the observation
    double spread = 0;
    double bias = 0, drift = 0;
    double last = 0;
  };

  void read(std::span<double> out) {
    for (const Reading& r : readings_) out[r.index] += r.bias + r.drift;
    if (options_.noise > 0) {
      for (const Reading& r : readings_) out[r.index] += options_.noise * r.spread * noise_.next();
    }
    if (options_.resolution > 0) {
      for (const Reading& r : readings_) {
        const double quantum = options_.resolution * r.spread;
        if (quantum > 0) out[r.index] = quantum * std::round(out[r.index] / quantum);
      }
    }
  }

  SensorOptions options_;
  std::vector<Reading> readings_;
  Normals noise_, drift_;
  Random dropped_;
};

}  // namespace

std::vector<Field<SensorOptions>> sensor_options() {
  using Keys = SensorOptions;
  return {
      field(&Keys::noise, "noise", {0, 1e3},
            "standard deviation of noise, in units of each observation's spread under random "
            "actions"),
      field(&Keys::bias, "bias", {0, 1e3},
            "standard deviation of an offset drawn for each episode, in units of the spread"),
      field(&Keys::drift, "drift", {0, 1e3},
            "standard deviation of each step of a random walk that is added, in units of the "
            "spread"),
      field(&Keys::dropped, "dropped", {0, 1},
            "probability that a reading is dropped: the last one is repeated"),
      field(&Keys::resolution, "resolution", {0, 1e3},
            "readings are rounded to multiples of this, in units of the spread"),
      field(&Keys::group, "group",
            "the observations concerned: names, their beginnings, or their ends after `*`, "
            "separated by "
            "commas; whole words come first; empty: all"),
  };
}

bool is_on(const SensorOptions& options) {
  return options.noise > 0 || options.bias > 0 || options.drift > 0 || options.dropped > 0 ||
         options.resolution > 0;
}

std::unique_ptr<Env> with_sensors(std::unique_ptr<Env> inner, const SensorOptions& options,
                                  const std::vector<double>& spread) {
  if (!is_on(options)) return inner;
  return std::make_unique<Sensor>(std::move(inner), options, spread);
}

}  // namespace ovde
