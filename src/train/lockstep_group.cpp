#include "train/lockstep_group.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/clock.h"

namespace ovde {

LockstepGroup::LockstepGroup(std::vector<LockstepSlot*> slots, const GpuDevice& gpu, Team& team,
                             const WorkStealer& stealer)
    : slots_(std::move(slots)),
      team_(team),
      stealer_(stealer),
      // a few pieces for each thread balance the load
      pieces_(std::min(size(), 4 * team.threads())),
      stretch_(std::max(100, protocol().eval_steps / 32)),
      rows_(slots_.size()),
      evaluation_failures_(slots_.size()),
      epoch_(slots_.front()->run->epochs_done()),
      rounds_(pieces_) {
  std::vector<AgentOptions> options;
  for (int i = 0; i < size(); ++i) {
    Agent& agent = loop(i).agent();
    agents_.push_back(&agent);
    draws_.push_back(explorer_draws(agent.options()));
    options.push_back(agent.options());
  }
  on_gpu([&] {
    population_ = gpu.make(options, protocol().precision);
    for (int i = 0; i < size(); ++i) population_->upload(i, *agents_[i]);
  });
  for (int i = 0; i < size(); ++i) slots_[i]->run->learns_elsewhere([this, i] { fetch(i); });
}

LockstepGroup::~LockstepGroup() {
  for (LockstepSlot* slot : slots_) slot->run->learns_elsewhere([] {});
}

void LockstepGroup::epoch() {
  for_each([&](int i) {
    slots_[i]->run->begin_epoch();
    if (is_evaluated(i)) loop(i).begin_evaluation();
  });
  std::vector<std::int64_t> left;
  for (int i = 0; i < size(); ++i)
    left.push_back(slots_[i]->active && is_evaluated(i) ? loop(i).evaluation_left() : 0);
  LongestFirstQueue evaluations(left);

  collecting_ = true;
  learnt_ = false;
  {
    const WorkOffer offer(stealer_, *this);
    team_.run(team_.threads(), [&](int piece) {
      try {
        if (piece == 0) begin_collecting(epoch_ == 0);
        work(evaluations);
        wait_for_updates(piece == 0);
      } catch (...) {
        gpu_failed_ = true;
        throw;
      }
    });
  }
  if (failed_elsewhere_) std::rethrow_exception(failed_elsewhere_);
  finish_epoch();
  ++epoch_;
}

void LockstepGroup::evaluate_last(const std::atomic<bool>& stop) {
  for_each([&](int i) {
    if (!is_evaluated(i)) return;
    loop(i).begin_evaluation();
    loop(i).advance_evaluation(kAllSteps, stop);
  });
  if (stop) return;
  end_rows();
  for_each([&](int i) { slots_[i]->place->finish_if_done(stop); });
}

void LockstepGroup::fetch_all() {
  doing_ = "bringing back the agents";
  for (int i = 0; i < size(); ++i) {
    if (slots_[i]->active && !slots_[i]->place->summary) fetch(i);
  }
}

// The work of one thread in an epoch: the steps of agents first, then evaluations.
void LockstepGroup::work(LongestFirstQueue& evaluations) {
  int evaluating = -1;  // the agent that this thread evaluates
  while (!gpu_failed_) {
    if (take_piece()) continue;
    if (evaluating >= 0 || (evaluating = evaluations.take()) >= 0) {
      if (!evaluate(evaluating, evaluations)) evaluating = -1;
    } else if (!collecting_) {
      return;
    } else if (!stealer_.steal()) {
      std::this_thread::yield();
    }
  }
}

// Takes a piece of a round, if one is waiting.
bool LockstepGroup::take_piece() {
  const int piece = rounds_.take();
  if (piece < 0) return false;
  step_agents(piece);
  if (rounds_.done()) end_round();
  return true;
}

// take_piece() for a thread of another population.
bool LockstepGroup::do_piece() {
  try {
    return take_piece();
  } catch (...) {  // thrown by end_round(), which one thread at a time calls
    failed_elsewhere_ = std::current_exception();
    gpu_failed_ = true;
    return true;
  }
}

// Steals work until the updates are done. One thread asks the GPU whether they are, with pauses:
// asking all the time would keep other threads from launching kernels. Without other populations
// finish_epoch() waits instead.
void LockstepGroup::wait_for_updates(bool asks) {
  constexpr double kPause = 50e-6;  // seconds
  if (stealer_.shared == nullptr) return;
  auto asked = Clock::now();
  while (!learnt_ && !gpu_failed_) {
    if (asks && seconds_since(asked) > kPause) {
      asked = Clock::now();
      learnt_ = on_gpu([this] { return population_->is_done(); });
    } else if (!stealer_.steal()) {
      std::this_thread::yield();
    }
  }
}

// Continues the evaluation of agent i for a number of steps, or until a round is waiting. True:
// the thread keeps the evaluation, to continue after the round.
bool LockstepGroup::evaluate(int i, LongestFirstQueue& evaluations) {
  std::int64_t left = 0;  // after a failure the evaluation has ended
  try {
    if (!loop(i).advance_evaluation(stretch_, rounds_.waiting())) left = loop(i).evaluation_left();
  } catch (const std::exception&) {
    // noted in the slot later: another thread may be stepping this agent now
    evaluation_failures_[i] = std::current_exception();
  }
  if (left > 0 && rounds_.waiting()) return true;
  evaluations.give_back(i, left);
  return false;
}

// ---- called by one thread at a time: the first, then the thread that has ended a round

void LockstepGroup::begin_collecting(bool warm_up) {
  warming_up_ = warm_up;
  doing_ = warm_up ? "acting in the warm-up" : "acting";
  step_ = 0;
  steps_ = warm_up ? protocol().warmup_steps : protocol().steps_per_epoch;
  for (int i = 0; i < size(); ++i) {
    slots_[i]->guard([&] {
      loop(i).begin_collecting(warm_up);
      population_->acting().plain[i] = loop(i).acts_plainly();
      if (steps_ > 0) prepare(i);
    });
  }
  begin_round();
}

// Computes the next actions, or, after the last step, the updates.
void LockstepGroup::begin_round() {
  if (step_ < steps_) {
    on_gpu([this] { population_->act(); });
    rounds_.open();
  } else if (warming_up_) {
    begin_collecting(false);
  } else {
    learn();
  }
}

void LockstepGroup::end_round() {
  ++step_;
  begin_round();
}

void LockstepGroup::learn() {
  step_ = -1;
  doing_ = "the updates";
  on_gpu([&] {
    for (int i = 0; i < size(); ++i) {
      population_->add_rows(i, agents_[i]->replay());
      if (const auto optimism = agents_[i]->host_side().chosen_optimism())
        population_->set_optimism(i, *optimism);
      population_->set_reward_scale(i, agents_[i]->host_side().reward_scale());
    }
    population_->update(updates_per_epoch(protocol()));
  });
  collecting_ = false;
}

void LockstepGroup::step_agents(int piece) {
  const bool last = step_ + 1 == steps_;
  for_piece(piece, [this, last](int i) {
    step(i);
    if (!last) prepare(i);
  });
}

// Copies the observation that agent i acts on next, and draws its explorer's random numbers.
void LockstepGroup::prepare(int i) {
  const PopulationActing& acting = population_->acting();
  agents_[i]->to_input(loop(i).observe(), acting.observation.subspan(i * acting.observations));
  acting.scouts[i] = agents_[i]->host_side().scout_acts();
  if (!acting.plain[i] && !acting.scouts[i])
    draw_for_explorer(draws_[i], i, agents_[i]->explorer_noise(), acting);
}

// Takes the behaviour policy's action of agent i in its environment.
void LockstepGroup::step(int i) {
  const PopulationActing& acting = population_->acting();
  const std::span<double> action = loop(i).action();
  const auto row = [&](std::span<const double> all) {
    return all.subspan(i * acting.actions, action.size());
  };
  const Proposal proposal{.mean = row(acting.mean),
                          .std = row(acting.std),
                          .moved = row(acting.moved),
                          .m = acting.m[i],
                          .choice = acting.choice[i]};
  loop(i).advance(agents_[i]->host_side().decide(proposal, acting.plain[i], action));
}

void LockstepGroup::finish_epoch() {
  const std::vector<PopulationReport> reports = on_gpu([this] { return population_->finish(); });
  end_rows();  // the rows of the epoch before: the host still has its policies
  on_gpu([this] { population_->download_policies(agents_); });
  for_each([&](int i) {
    agents_[i]->policy_restored();
    const PopulationReport& report = reports[i];
    if (report.first_bad != 0)
      throw Error("a loss is not finite, " + loop(i).where(report.first_bad));
    loop(i).finish_updates(report.update, report.value);
    slots_[i]->run->end_updates();
    slots_[i]->run->save_if_due();
  });
}

// Writes the rows of the evaluated epoch.
void LockstepGroup::end_rows() {
  for_each([&](int i) {
    if (evaluation_failures_[i]) std::rethrow_exception(evaluation_failures_[i]);
    rows_[i].reset();
    if (loop(i).awaits_evaluation()) rows_[i] = slots_[i]->run->end_epoch(loop(i).finish_epoch());
  });
  for (int i = 0; i < size(); ++i) {
    const LockstepSlot& slot = *slots_[i];
    if (slot.active && rows_[i]) slot.progress->epoch_done(slot.agent, *rows_[i]);
  }
}

void LockstepGroup::fetch(int i) {
  const std::lock_guard lock(population_mutex_);
  on_gpu([&] { population_->download(i, *agents_[i]); });
}

// A call of the population; its errors are given a message that says where.
template <typename Call>
std::invoke_result_t<Call> LockstepGroup::on_gpu(Call&& call) {
  try {
    return call();
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(fmt::format("{}: in epoch {}, {}", error.what(), epoch_,
                            step_ < 0 ? doing_ : fmt::format("{}, step {}", doing_, step_)));
  }
}

// work(i) for every active agent of one piece.
template <typename Work>
void LockstepGroup::for_piece(int piece, Work&& work) {
  // agents of the same task follow one another: those of a slow task go to different pieces
  for (int i = piece; i < size(); i += pieces_) slots_[i]->guard([&] { work(i); });
}

// work(i) for every active agent, on the team.
template <typename Work>
void LockstepGroup::for_each(Work&& work) {
  team_.run(pieces_, [&](int piece) { for_piece(piece, work); });
}

}  // namespace ovde
