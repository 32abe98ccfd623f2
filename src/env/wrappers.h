// What stands between a task and an agent: the time limit and the scaling of actions from [-1, 1]
// to the task's box. Each is an Env around another Env.
#pragma once

#include <memory>
#include <vector>

#include <ovde/env.h>

namespace ovde {

// Truncates an episode after `horizon` steps.
class TimeLimit final : public Env {
 public:
  TimeLimit(std::unique_ptr<Env> inner, int horizon);

  int observation_size() const override { return inner_->observation_size(); }
  const Box& action_space() const override { return inner_->action_space(); }
  void reset(std::uint64_t seed, std::span<double> observation) override;
  Step step(std::span<const double> action, std::span<double> observation) override;
  bool disturb(double scale, Random& random, std::span<double> observation) override {
    return inner_->disturb(scale, random, observation);
  }
  std::optional<double> coordinate(const std::string& name) const override {
    return inner_->coordinate(name);
  }
  std::vector<std::string> coordinates() const override { return inner_->coordinates(); }
  std::optional<Bytes> save() const override;
  bool restore(std::span<const std::byte> bytes) override;

 private:
  std::unique_ptr<Env> inner_;
  int horizon_;
  int steps_ = 0;
};

// Takes actions in [-1, 1] (clipped), hands them on in the inner task's box.
class ScaledActions final : public Env {
 public:
  explicit ScaledActions(std::unique_ptr<Env> inner);

  int observation_size() const override { return inner_->observation_size(); }
  const Box& action_space() const override { return unit_; }
  void reset(std::uint64_t seed, std::span<double> observation) override {
    inner_->reset(seed, observation);
  }
  Step step(std::span<const double> action, std::span<double> observation) override;
  bool disturb(double scale, Random& random, std::span<double> observation) override {
    return inner_->disturb(scale, random, observation);
  }
  std::optional<double> coordinate(const std::string& name) const override {
    return inner_->coordinate(name);
  }
  std::vector<std::string> coordinates() const override { return inner_->coordinates(); }
  std::optional<Bytes> save() const override { return inner_->save(); }
  bool restore(std::span<const std::byte> bytes) override { return inner_->restore(bytes); }

 private:
  std::unique_ptr<Env> inner_;
  Box unit_;
  std::vector<double> scaled_;
};

}  // namespace ovde
