// A GpuPopulation without a GPU: copies of the agents, which act and learn as on the CPU, to the
// bit. They see nothing but the arguments of its functions and the inputs in acting().
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <memory>
#include <vector>

#include <ovde/error.h>
#include "agent/agent.h"
#include "agent/equations.h"
#include "train/lockstep.h"

namespace ovde {

// Faults to simulate, and counts of calls.
struct StandInFaults {
  int bad_agent = -1;     // reports that a loss was not finite in its first update
  int act_fails_at = -1;  // call of act(), from 0
  int acts = 0, populations = 0;
  std::function<void()> while_acting = [] {};
};

class StandInPopulation final : public GpuPopulation {
 public:
  StandInPopulation(std::span<const AgentOptions> options, StandInFaults& faults)
      : faults_(faults),
        plain_(std::make_unique<bool[]>(options.size())),
        scouts_(std::make_unique<bool[]>(options.size())) {
    for (const AgentOptions& o : options) {
      copies_.push_back(make_agent(o));
      acting_.observations = std::max(acting_.observations, o.learner.observation_size);
      acting_.actions = std::max(acting_.actions, o.learner.action_size);
      acting_.samples = std::max(acting_.samples, device_rule(o).samples());
      acting_.fractions = std::max(acting_.fractions, o.learner.critic.quantiles);
    }
    const std::size_t n = options.size();
    observation_.resize(n * acting_.observations);
    noise_.resize(n * acting_.samples);
    fraction_.resize(n * acting_.fractions);
    for (auto* rows : {&mean_, &std_, &moved_}) rows->resize(n * acting_.actions);
    m_.resize(n);
    choice_.resize(n);
    acting_.observation = observation_;
    acting_.explorer_noise = noise_;
    acting_.fraction = fraction_;
    acting_.plain = {plain_.get(), n};
    acting_.scouts = {scouts_.get(), n};
    acting_.mean = mean_;
    acting_.std = std_;
    acting_.moved = moved_;
    acting_.m = m_;
    acting_.choice = choice_;
    ++faults_.populations;
  }

  void upload(int index, Agent& agent) override {
    copy_state(agent, *copies_[index]);
    copies_[index]->explorer_noise() = agent.explorer_noise();
    add_rows(index, agent.replay());
  }
  void download(int index, Agent& agent) override { copy_state(*copies_[index], agent); }

  void download_policies(std::span<Agent* const> agents) override {
    for (std::size_t i = 0; i < agents.size(); ++i) {
      const LearnerState from = copies_[i]->state(), to = agents[i]->state();
      for (const auto& network : agents[i]->policy().networks) {
        for (std::size_t k = 0; k < from.arrays.size(); ++k) {
          if (holds_parameters(from.arrays[k].first) &&
              from.arrays[k].first.starts_with(network.name + "."))
            std::ranges::copy(from.arrays[k].second, to.arrays[k].second.begin());
        }
      }
      *to.updates = *from.updates;
    }
  }

  void add_rows(int index, const Replay& replay) override {
    Replay& copy = copies_[index]->replay();
    copy.restore(0, replay.raw(0, replay.size()));
    copy.set_added(replay.added());
  }

  void set_optimism(int index, float optimism) override {
    copies_[index]->host_side().set_optimism(optimism);
  }

  void set_reward_scale(int index, float factor) override {
    copies_[index]->host_side().set_reward_scale(factor);
  }

  const PopulationActing& acting() const override { return acting_; }

  void act() override {
    if (faults_.acts++ == faults_.act_fails_at) throw Error("CUDA: act: the cable is loose");
    faults_.while_acting();
    for (std::size_t i = 0; i < copies_.size(); ++i) act(i);
  }

  // On a thread of its own, as a GPU computes beside its host.
  void update(int n) override {
    running_ = std::async(std::launch::async, [this, n] {
      std::vector<PopulationReport> reports;
      for (const auto& copy : copies_) reports.push_back(learn(*copy, n));
      return reports;
    });
  }
  bool is_done() override {
    return running_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  std::vector<PopulationReport> finish() override {
    auto reports = running_.get();
    if (faults_.bad_agent >= 0) reports.at(faults_.bad_agent).first_bad = 7;
    return reports;
  }
  double bytes_per_update() const override { return 0; }

 private:
  // Copies the state that updates change; the state of acting stays with the host's agents.
  static void copy_state(Agent& from, Agent& to) {
    const LearnerState a = from.state(), b = to.state();
    for (std::size_t k = 0; k < a.arrays.size(); ++k) {
      const std::string& name = a.arrays[k].first;
      if (!name.starts_with("observation.") && !name.starts_with("returns."))
        std::ranges::copy(a.arrays[k].second, b.arrays[k].second.begin());
    }
    for (std::size_t k = 0; k < a.statistics.size(); ++k) {
      const std::string& name = a.statistics[k].first;
      if (name.starts_with("rnd.") || name.starts_with("scout.rnd."))
        std::ranges::copy(a.statistics[k].second, b.statistics[k].second.begin());
    }
    *b.updates = *a.updates;
    to.restored();
  }

  static PopulationReport learn(Agent& agent, int n) {
    PopulationReport report;
    if (agent.replay().size() == 0) return report;  // failed in its warm-up
    Team alone(1);
    for (int i = 0; i < n; ++i) {
      const UpdateReport one = agent.update(alone);
      report.update.critic_loss += one.critic_loss / n;
      if (one.actor_loss)
        report.update.actor_loss = report.update.actor_loss.value_or(0) + *one.actor_loss / n;
      report.update.temperature = one.temperature;
    }
    report.value = agent.value_report();
    return report;
  }

  void act(std::size_t i) {
    Agent& copy = *copies_[i];
    const auto input =
        std::span<const float>(observation_)
            .subspan(i * acting_.observations, copy.options().learner.observation_size);
    if (!plain_[i] && !scouts_[i]) expect_noise(i);
    copy.host_side().let_scout_act(scouts_[i]);
    const Proposal proposal = copy.host_side().propose(input, plain_[i]);
    const auto row = static_cast<std::ptrdiff_t>(i) * acting_.actions;
    std::ranges::copy(proposal.mean, mean_.begin() + row);
    std::ranges::copy(proposal.std, std_.begin() + row);
    std::ranges::copy(proposal.moved, moved_.begin() + row);
    m_[i] = proposal.m;
    choice_[i] = proposal.choice;
  }

  // The explorer draws from a copy of the agent's stream; what was handed over must be the same.
  void expect_noise(std::size_t i) {
    const AgentOptions& options = copies_[i]->options();
    if (!device_rule(options).explores()) return;
    Random ahead = copies_[i]->explorer_noise();
    if (is_implicit(options.learner.critic.head)) {
      for (int k = 0; k < options.learner.critic.quantiles; ++k)
        ASSERT_EQ(fraction_[i * acting_.fractions + k],
                  options.learner.critic.head == CriticHead::iqn
                      ? static_cast<float>(ahead.uniform())
                      : kEqualWidths)
            << "agent " << i;
    }
    for (int k = 0; k < device_rule(options).samples(); ++k)
      ASSERT_EQ(noise_[i * acting_.samples + k], ahead.normal()) << "agent " << i;
  }

  StandInFaults& faults_;
  std::vector<std::unique_ptr<Agent>> copies_;
  std::unique_ptr<bool[]> plain_, scouts_;
  std::vector<float> observation_, fraction_;
  std::vector<double> noise_, mean_, std_, moved_, m_;
  std::vector<int> choice_;
  PopulationActing acting_{};
  std::future<std::vector<PopulationReport>> running_;
};

// Refuses an agent with more than 100 hidden units, as a GPU has limits of its own.
inline GpuDevice stand_in(StandInFaults& faults) {
  const auto check = [](std::span<const AgentOptions> options, Precision) {
    for (const AgentOptions& o : options) {
      const NetworkOptions& network = o.learner.network;
      if (network.kind == NetworkKind::mlp && network.hidden.front() > 100)
        throw InputError("too wide for the stand-in");
    }
  };
  const auto make = [&faults](std::span<const AgentOptions> options, Precision) {
    return std::make_unique<StandInPopulation>(options, faults);
  };
  return {check, make};
}

}  // namespace ovde
