// A custom task in one file, with the whole `ovde` program around it:
//
//   custom_env list tasks
//   custom_env train --task Valve-v0 --algo ovde_g --epochs 50 --set task.noise=0.3 --out valve
//   custom_env eval valve
//
// The task: hold the level of a leaking tank at a set point by turning its inlet valve. The inflow
// is noisy, and more so the further the valve is open.
#include <algorithm>
#include <cmath>

#include <ovde/env.h>
#include <ovde/program.h>

class Valve final : public ovde::Env, public ovde::Restorable {
 public:
  explicit Valve(const ovde::OptionValues& options)
      : noise_(options.number("noise")), set_point_(options.number("set_point")) {}

  int observation_size() const override { return 2; }
  const ovde::Box& action_space() const override { return action_space_; }

  // all randomness of an episode follows from its seed
  void reset(std::uint64_t seed, std::span<double> observation) override {
    seed_ = seed;
    random_ = ovde::Random(seed, ovde::Stream::environment);
    level_ = random_.uniform(0, 2);
    opening_ = 0.5;
    observe(observation);
  }

  ovde::Step step(std::span<const double> action, std::span<double> observation) override {
    opening_ = std::clamp(opening_ + 0.2 * action[0], 0.0, 1.0);
    const double inflow = opening_ * (1 + noise_ * random_.normal());
    level_ = std::clamp(level_ + 0.1 * (inflow - 0.5 * std::sqrt(level_)), 0.0, 3.0);
    observe(observation);

    const double error = level_ - set_point_;
    const bool overflow = level_ >= 3;
    return {.reward = overflow ? -100 : -error * error, .terminated = overflow};
  }

  // Restorable: a run that is killed in the middle of an episode resumes bit for bit
  std::optional<ovde::Bytes> save() const override {
    ovde::ByteWriter out;
    out.put(seed_);
    out.put(random_.position());
    out.put(level_);
    out.put(opening_);
    return out.take();
  }
  bool restore(std::span<const std::byte> bytes) override {
    ovde::ByteReader in(bytes);
    seed_ = in.get<std::uint64_t>();
    random_ = ovde::Random(seed_, ovde::Stream::environment);
    random_.seek(in.get<std::uint64_t>());
    level_ = in.get<double>();
    opening_ = in.get<double>();
    return true;
  }

 private:
  void observe(std::span<double> observation) const {
    observation[0] = level_ - set_point_;
    observation[1] = opening_;
  }

  double noise_, set_point_;
  ovde::Box action_space_ = ovde::box(1, -1, 1);
  std::uint64_t seed_ = 0;
  ovde::Random random_;
  double level_ = 0, opening_ = 0;
};

int main(int argc, char** argv) {
  ovde::Task task;
  task.name = "Valve-v0";
  task.summary = "hold the level of a leaking tank with a noisy pump";
  task.horizon = 200;
  task.options = {
      {.name = "noise",
       .default_value = 0.2,
       .help = "relative standard deviation of the inflow",
       .low = 0,
       .high = 10},
      {.name = "set_point", .default_value = 1.0, .help = "level to hold", .low = 0, .high = 3},
  };
  task.make = [](const ovde::OptionValues& options) { return std::make_unique<Valve>(options); };
  ovde::register_task(task);
  return ovde::run_program(argc, argv);
}
