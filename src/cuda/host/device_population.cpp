#include "cuda/host/device_population.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <ovde/error.h>

namespace ovde::cuda {

namespace {

// Empty if the learner has no such array.
std::span<float> array(const LearnerState& state, const std::string& name) {
  for (const auto& [key, values] : state.arrays) {
    if (key == name) return values;
  }
  return {};
}

// Calls visit(device, values) for the arrays of a learner that the state has, and for the
// statistics of its bonus.
template <typename Learner, typename Visit>
void for_each_array(const LearnerState& state, const Learner& learner, Visit&& visit) {
  for (const auto& [name, device] : learner.arrays) {
    if (const auto values = array(state, name); !values.empty()) visit(device, values);
  }
  double* device = learner.statistics;
  for (const auto& [name, values] : state.statistics) {
    if (!name.starts_with(learner.prefix + "rnd.")) continue;
    visit(std::span(device, values.size()), values);
    device += values.size();
  }
}

}  // namespace

void check_memory(std::span<const double> bytes) {
  constexpr double kUsable = 0.95;  // the driver, the kernels and the graphs take the rest
  std::size_t available = 0, total = 0;
  check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  const double free = kUsable * static_cast<double>(available);
  double needed = 0;
  std::size_t fit = 0;
  for (const double of_one : bytes) {
    needed += of_one;
    if (needed <= free) ++fit;
  }
  if (fit == bytes.size()) return;
  throw InputError(
      fmt::format("{} agents need {:.1f} GB of memory on the GPU, {:.1f} GB are free: {} of them "
                  "would fit (more with a smaller train.replay)",
                  bytes.size(), 1e-9 * needed, 1e-9 * free, fit));
}

void add_network(const std::string& name, const Network& net, int size, StateArrays& arrays) {
  for_each_network_array(name, net, [&](const std::string& array, float* values) {
    arrays.push_back({array, {values, static_cast<std::size_t>(size)}});
  });
}

DevicePopulation::DevicePopulation(std::span<const AgentOptions> agents, std::size_t rows)
    : learners_of_(agents.size()), uploaded_(agents.size()) {
  for (const AgentOptions& options : agents) {
    const LearnerOptions& learner = options.learner;
    const ExplorerDraws draws = explorer_draws(options);
    acting_.observations = std::max(acting_.observations, learner.observation_size);
    acting_.actions = std::max(acting_.actions, learner.action_size);
    acting_.samples = std::max(acting_.samples, draws.samples);
    acting_.fractions = std::max(acting_.fractions, draws.fractions);
    policies_.push_back(learner.policy);
  }
  acting_.observation = mapped_.take<float>(rows * acting_.observations);
  acting_.fraction = mapped_.take<float>(rows * acting_.fractions);
  acting_.explorer_noise = mapped_.take<double>(rows * acting_.samples);
  for (auto* flags : {&acting_.plain, &acting_.scouts}) *flags = mapped_.take<bool>(rows);
  for (auto* numbers : {&acting_.mean, &acting_.std, &acting_.moved})
    *numbers = mapped_.take<double>(rows * acting_.actions);
  acting_.m = mapped_.take<double>(rows);
  acting_.choice = mapped_.take<int>(rows);
}

void DevicePopulation::add_learner(Learner learner) {
  learners_of_[learner.agent].push_back(static_cast<int>(learners_.size()));
  learners_.push_back(std::move(learner));
  progress_.emplace_back();
  observed_.push_back(0);
}

void DevicePopulation::upload(int index, ovde::Agent& agent) {
  const LearnerState state = agent.state();
  for (const int at : learners_of_[index]) {
    const std::string& prefix = learners_[at].prefix;
    for_each_array(state, learners_[at],
                   [&](auto device, auto values) { stream_.write(device, values); });
    for (const auto& [name, values] : state.statistics) {
      if (name == prefix + "rnd.next_row") observed_[at] = static_cast<std::int64_t>(values[0]);
    }
    progress_[at].updates = *state.updates;
    std::ranges::copy(array(state, prefix + "log_alpha"), progress_[at].log_alpha);
    parameters_changed(at);
  }
  set_reward_scale(index, agent.host_side().reward_scale());
  uploaded_[index] = agent.replay().added() - agent.replay().size();
  add_rows(index, agent.replay());
  stream_.wait();
}

void DevicePopulation::download(int index, ovde::Agent& agent) {
  const LearnerState state = agent.state();
  for (const int at : learners_of_[index]) {
    for_each_array(state, learners_[at],
                   [&](auto device, auto values) { stream_.read(values, device); });
    if (const auto to = array(state, learners_[at].prefix + "log_alpha"); !to.empty())
      std::ranges::copy(progress_[at].log_alpha, to.begin());
  }
  stream_.wait();
  *state.updates = progress_[index].updates;
  agent.restored();
}

void DevicePopulation::download_policies(std::span<ovde::Agent* const> agents) {
  for (std::size_t i = 0; i < agents.size(); ++i) {
    const LearnerState state = agents[i]->state();
    for (const auto& policy : agents[i]->policy().networks) {
      for (const auto& [name, device] : learners_[i].arrays) {
        if (name == parameters_of(policy.name) || name == statistics_of(policy.name))
          stream_.read(array(state, name), device);
      }
    }
    *state.updates = progress_[i].updates;
  }
  stream_.wait();
}

void DevicePopulation::add_rows(int index, const Replay& replay) {
  float* device = learners_[index].replay;
  replay.for_each_piece(uploaded_[index], replay.added(), [&](auto at, auto count) {
    const auto rows = replay.raw(at, count);
    stream_.write(std::span(device + at * replay.row_floats(), rows.size()), rows);
  });
  uploaded_[index] = replay.added();
  for (const int at : learners_of_[index]) {
    progress_[at].replay_rows = replay.size();
    progress_[at].replay_added = replay.added();
  }
}

void DevicePopulation::set_reward_scale(int index, float factor) {
  for (const int at : learners_of_[index]) progress_[at].reward_scale = factor;
}

void DevicePopulation::begin_updates(int n) {
  updates_ = n;
  for (Progress& progress : progress_) {
    progress.critic_loss = progress.actor_loss = 0;
    progress.alpha = std::exp(progress.log_alpha[0]);
  }
}

std::int64_t DevicePopulation::unseen_batches(int learner, int batch) {
  const Progress& progress = progress_[learner];
  const auto added = static_cast<std::int64_t>(progress.replay_added);
  const std::int64_t unseen = std::min(added - std::exchange(observed_[learner], added),
                                       static_cast<std::int64_t>(progress.replay_rows));
  return std::max<std::int64_t>((unseen + batch - 1) / batch, 1);
}

std::vector<PopulationReport> DevicePopulation::reports() const {
  std::vector<PopulationReport> all(learners_of_.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    UpdateReport& update = all[i].update;
    update.critic_loss = progress_[i].critic_loss / updates_;
    if (policies_[i] != PolicyKind::greedy) update.actor_loss = progress_[i].actor_loss / updates_;
    if (policies_[i] == PolicyKind::gaussian)
      update.temperature = std::exp(progress_[i].log_alpha[0]);
    for (const int at : learners_of_[i]) {
      if (all[i].first_bad == 0) all[i].first_bad = progress_[at].first_bad;
    }
  }
  return all;
}

}  // namespace ovde::cuda
