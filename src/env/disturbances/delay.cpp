// Actions and observations that arrive late (table `delay`).
#include <algorithm>

#include "env/disturbances/disturbances.h"

namespace ovde {

namespace {

// The delay of one direction: fixed, or drawn for each episode or step.
class Steps {
 public:
  Steps(const Range& range, DelayDraw draw, DisturbanceStream stream)
      : low_(static_cast<int>(range.low)),
        count_(static_cast<std::uint32_t>(range.high - range.low) + 1),
        each_step_(draw == DelayDraw::step && count_ > 1),
        stream_(stream) {}

  int most() const { return low_ + static_cast<int>(count_) - 1; }
  bool is_on() const { return most() > 0; }

  void start(std::uint64_t seed) {
    random_ = disturbance_stream(seed, stream_);
    now_ = drawn();
  }
  int next() { return each_step_ ? drawn() : now_; }

  void archive(Archive& archive) { archive(random_); }

 private:
  int drawn() { return low_ + static_cast<int>(random_.below(count_)); }

  int low_;
  std::uint32_t count_;
  bool each_step_;
  DisturbanceStream stream_;
  Random random_;
  int now_ = 0;
};

class Delay final : public Disturbance {
 public:
  Delay(std::unique_ptr<Env> inner, const DelayOptions& options)
      : Disturbance(std::move(inner)),
        action_delay_(options.action, options.draw, DisturbanceStream::action_delay),
        observation_delay_(options.observation, options.draw, DisturbanceStream::observation_delay),
        actions_(action_space().size(), action_delay_.most() + 1),
        observations_(observation_size(), observation_delay_.most() + 1) {}

  Step step(std::span<const double> in, std::span<double> out) override {
    if (action_delay_.is_on()) {
      actions_.push(in);
      in = actions_[action_delay_.next()];
    }
    const Step result = inner().step(in, out);
    if (observation_delay_.is_on()) {
      observations_.push(out);
      std::ranges::copy(observations_[observation_delay_.next()], out.begin());
    }
    return result;
  }

 protected:
  // Before the first action arrives, the task gets the middle of its action box.
  void draw(std::uint64_t seed) override {
    action_delay_.start(seed);
    observation_delay_.start(seed);
    actions_.fill(middle(action_space()));
  }
  // Before the first observation arrives, it is that of the start.
  void observe_first(std::span<double> observation) override { observations_.fill(observation); }

  void archive_episode(Archive& archive) override {
    archive(action_delay_, observation_delay_, actions_, observations_);
  }

 private:
  Steps action_delay_, observation_delay_;
  Ring actions_, observations_;
};

}  // namespace

std::vector<Field<DelayOptions>> delay_options() {
  using Keys = DelayOptions;
  const auto steps = [](const char* name, const char* help) {
    return Option{.name = name, .help = help, .low = 0, .high = 1000, .integer = true};
  };
  return {
      field(&Keys::action, steps("action", "steps by which actions are late")),
      field(&Keys::observation, steps("observation", "steps by which observations are late")),
      field(&Keys::draw, "draw",
            "a delay given as a range is drawn for each `episode` or for each `step`"),
  };
}

std::unique_ptr<Env> with_delays(std::unique_ptr<Env> inner, const DelayOptions& options) {
  if (options.action.high == 0 && options.observation.high == 0) return inner;
  return std::make_unique<Delay>(std::move(inner), options);
}

}  // namespace ovde
