#include "train/lockstep.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/clock.h"
#include "base/team.h"
#include "train/work_sharing.h"

namespace ovde {

namespace {

// An agent of one of the runs.
struct Slot {
  std::size_t population;  // index of its run
  int agent;               // its index in that run
  Place* place;
  AgentRun* run;
  bool active = true;  // neither it nor its run has failed
  std::exception_ptr failure;
};

// Runs `work`, which concerns the agent in `slot` alone; an exception becomes its failure.
template <typename Work>
void guarded(Slot& slot, Work&& work) {
  if (!slot.active) return;
  try {
    work();
  } catch (const std::exception& error) {
    slot.active = false;
    slot.failure = std::current_exception();
    slot.run->fail(error.what());
  }
}

// Agents that have done the same number of epochs and act and learn together on one GPU. An agent's
// failure is noted in its slot; a failure of the GPU is thrown.
//
// The order of the protocol is collect, learn, evaluate. An evaluation has its own random numbers
// and environment and needs the policy after an epoch's updates, which the host keeps until the
// updates of the next epoch are done. So an epoch is evaluated during the next one: the threads
// step the environments whenever actions are there, and evaluate at all other times: while the GPU
// acts, while the last environments of a round step, and during the updates. The epoch's row is
// written after that. Threads without work steal it from other populations (work_sharing.h).
class LockstepGroup final : private SharedWork {
 public:
  LockstepGroup(std::vector<Slot*> slots, const GpuDevice& gpu, Team& team,
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

  ~LockstepGroup() {
    for (Slot* slot : slots_) slot->run->learns_elsewhere([] {});
  }

  void epoch(std::span<PopulationRun* const> runs) {
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
    finish_epoch(runs);
    ++epoch_;
  }

  // Evaluates the last epoch, unless `stop` is true, and writes its rows.
  void evaluate_last(std::span<PopulationRun* const> runs, const std::atomic<bool>& stop) {
    for_each([&](int i) {
      if (!is_evaluated(i)) return;
      loop(i).begin_evaluation();
      loop(i).advance_evaluation(kAllSteps, stop);
    });
    if (stop) return;
    end_rows(runs);
    for_each([&](int i) { slots_[i]->place->finish_if_done(stop); });
  }

  // Copies the state of the agents that have not finished back from the GPU.
  void fetch_all() {
    doing_ = "bringing back the agents";
    for (int i = 0; i < size(); ++i) {
      if (slots_[i]->active && !slots_[i]->place->summary) fetch(i);
    }
  }

 private:
  // The work of one thread in an epoch.
  void work(LongestFirstQueue& evaluations) {
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
  bool take_piece() {
    const int piece = rounds_.take();
    if (piece < 0) return false;
    step_agents(piece);
    if (rounds_.done()) end_round();
    return true;
  }

  // The same, by another population's thread.
  bool do_piece() override {
    try {
      return take_piece();
    } catch (...) {  // thrown by end_round(), which one thread at a time calls
      failed_elsewhere_ = std::current_exception();
      gpu_failed_ = true;
      return true;
    }
  }

  // Steals work until the updates are done. One thread asks the GPU about them, and not all the
  // time: that would keep other threads from launching kernels. Without other populations the wait
  // is left to finish_epoch().
  void wait_for_updates(bool asks) {
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
  bool evaluate(int i, LongestFirstQueue& evaluations) {
    std::int64_t left = 0;  // after a failure the evaluation has ended
    try {
      if (!loop(i).advance_evaluation(stretch_, rounds_.waiting()))
        left = loop(i).evaluation_left();
    } catch (const std::exception&) {
      // noted in the slot later: another thread may be stepping this agent now
      evaluation_failures_[i] = std::current_exception();
    }
    if (left > 0 && rounds_.waiting()) return true;
    evaluations.give_back(i, left);
    return false;
  }

  // ---- called by one thread at a time: the first, then the thread that has ended a round

  void begin_collecting(bool warm_up) {
    warming_up_ = warm_up;
    doing_ = warm_up ? "acting in the warm-up" : "acting";
    step_ = 0;
    steps_ = warm_up ? protocol().warmup_steps : protocol().steps_per_epoch;
    for (int i = 0; i < size(); ++i) {
      guarded(*slots_[i], [&] {
        loop(i).begin_collecting(warm_up);
        population_->acting().plain[i] = loop(i).acts_plainly();
        if (steps_ > 0) prepare(i);
      });
    }
    begin_round();
  }

  // Computes the next actions, or, after the last step, the updates.
  void begin_round() {
    if (step_ < steps_) {
      on_gpu([this] { population_->act(); });
      rounds_.open();
    } else if (warming_up_) {
      begin_collecting(false);
    } else {
      learn();
    }
  }

  void end_round() {
    ++step_;
    begin_round();
  }

  void learn() {
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

  void step_agents(int piece) {
    const bool last = step_ + 1 == steps_;
    for_piece(piece, [this, last](int i) {
      step(i);
      if (!last) prepare(i);
    });
  }

  // Copies the observation that agent i acts on next, and draws its explorer's random numbers.
  void prepare(int i) {
    const PopulationActing& acting = population_->acting();
    agents_[i]->to_input(loop(i).observe(), acting.observation.subspan(i * acting.observations));
    acting.scouts[i] = agents_[i]->host_side().scout_acts();
    if (!acting.plain[i] && !acting.scouts[i])
      draw_for_explorer(draws_[i], i, agents_[i]->explorer_noise(), acting);
  }

  // Takes the behaviour policy's action of agent i in its environment.
  void step(int i) {
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

  void finish_epoch(std::span<PopulationRun* const> runs) {
    const std::vector<PopulationReport> reports = on_gpu([this] { return population_->finish(); });
    end_rows(runs);  // the rows of the epoch before: the host still has its policies
    on_gpu([this] { population_->download_policies(agents_); });
    for_each([&](int i) {
      agents_[i]->policy_restored();
      const PopulationReport& report = reports[i];
      if (report.first_bad != 0)
        throw Error("a loss is not finite: " + loop(i).where(report.first_bad));
      loop(i).finish_updates(report.update, report.value);
      slots_[i]->run->end_updates();
      slots_[i]->run->save_if_due();
    });
  }

  // Writes the rows of the evaluated epoch.
  void end_rows(std::span<PopulationRun* const> runs) {
    for_each([&](int i) {
      if (evaluation_failures_[i]) std::rethrow_exception(evaluation_failures_[i]);
      rows_[i].reset();
      if (loop(i).awaits_evaluation()) rows_[i] = slots_[i]->run->end_epoch(loop(i).finish_epoch());
    });
    for (int i = 0; i < size(); ++i) {
      const Slot& slot = *slots_[i];
      if (slot.active && rows_[i])
        runs[slot.population]->progress().epoch_done(slot.agent, *rows_[i]);
    }
  }

  void fetch(int i) {
    const std::lock_guard lock(population_mutex_);
    on_gpu([&] { population_->download(i, *agents_[i]); });
  }

  // A call of the population; its errors are given a message that says where.
  template <typename Call>
  std::invoke_result_t<Call> on_gpu(Call&& call) {
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
  void for_piece(int piece, Work&& work) {
    // agents of the same task follow one another: those of a slow task go to different pieces
    for (int i = piece; i < size(); i += pieces_) guarded(*slots_[i], [&] { work(i); });
  }

  // work(i) for every active agent, on the team.
  template <typename Work>
  void for_each(Work&& work) {
    team_.run(pieces_, [&](int piece) { for_piece(piece, work); });
  }

  EpochLoop& loop(int i) const { return slots_[i]->run->loop(); }
  // Whether the epoch before has to be evaluated.
  bool is_evaluated(int i) const { return loop(i).awaits_evaluation() && loop(i).evaluation_due(); }
  int size() const { return static_cast<int>(slots_.size()); }
  // The part of the configuration that all agents share (in_step()).
  const TrainConfig& protocol() const { return slots_.front()->run->config().train; }

  std::vector<Slot*> slots_;
  Team& team_;
  WorkStealer stealer_;
  int pieces_;   // the agents are divided into these for the threads
  int stretch_;  // steps of an evaluation at a time
  std::unique_ptr<GpuPopulation> population_;
  std::mutex population_mutex_;
  std::vector<Agent*> agents_;
  std::vector<ExplorerDraws> draws_;           // one for each agent
  std::vector<std::optional<EpochRow>> rows_;  // written by the last end_rows()
  std::vector<std::exception_ptr> evaluation_failures_;

  // the position in the epoch, also for messages
  int epoch_;
  std::string doing_ = "making the population";
  bool warming_up_ = false;
  std::int64_t step_ = -1, steps_ = 0;  // step -1: not stepping
  Rounds rounds_;                       // one for every step
  std::atomic<bool> collecting_{false};
  std::atomic<bool> learnt_{false};  // the epoch's updates are done
  std::atomic<bool> gpu_failed_{false};
  std::exception_ptr failed_elsewhere_;  // the GPU's failure in a thread of another population
};

// The agents of all runs, and the failures.
class LockstepDriver {
 public:
  LockstepDriver(std::span<PopulationRun* const> runs, const GpuDevice& gpu, int threads,
                 const std::atomic<bool>& stop, const WorkStealer& stealer)
      : runs_(runs),
        gpu_(gpu),
        stop_(stop),
        stealer_(stealer),
        team_(threads),
        failures_(runs.size()) {
    for (std::size_t r = 0; r < runs.size(); ++r) {
      try {
        runs[r]->start(stop);
      } catch (const std::exception&) {
        failures_[r] = std::current_exception();
        continue;
      }
      auto& places = runs[r]->places();
      for (int i = 0; i < static_cast<int>(places.size()); ++i) {
        if (!places[i].summary)
          slots_.push_back({.population = r,
                            .agent = i,
                            .place = &places[i],
                            .run = places[i].run.get(),
                            .failure = {}});
      }
    }
  }

  std::vector<std::exception_ptr> run() {
    complete_epochs();
    try {
      while (!stop_ && advance()) {
      }
    } catch (const std::exception& error) {
      fail_all(error.what());
    }
    return failures_;
  }

 private:
  bool is_left(const Slot& slot) const { return slot.active && !slot.run->done(); }

  // An epoch that was interrupted on the CPU is completed there.
  void complete_epochs() {
    team_.run(static_cast<int>(slots_.size()), [this](int i) { complete_epoch(slots_[i]); });
    leave_failed_runs();
  }

  void complete_epoch(Slot& slot) {
    guarded(slot, [&] {
      if (slot.run->loop().between_epochs()) return;
      Team alone(1);
      const auto row = slot.run->epoch(alone, stop_);
      slot.run->loop().agent().use(nullptr);
      if (row) runs_[slot.population]->progress().epoch_done(slot.agent, *row);
      slot.place->finish_if_done(stop_);
    });
  }

  // Trains the agents with the fewest epochs until they have caught up with the next ones, or until
  // one of them ends. False: no agent is left.
  bool advance() {
    int epoch = std::numeric_limits<int>::max(), next = epoch;
    for (const Slot& slot : slots_) {
      if (is_left(slot)) epoch = std::min(epoch, slot.run->epochs_done());
    }
    std::vector<Slot*> behind;
    for (Slot& slot : slots_) {
      if (!is_left(slot)) continue;
      if (slot.run->epochs_done() == epoch) {
        behind.push_back(&slot);
      } else {
        next = std::min(next, slot.run->epochs_done());
      }
    }
    if (behind.empty()) return false;

    LockstepGroup group(behind, gpu_, team_, stealer_);
    const auto any_left = [&] {
      return std::ranges::any_of(behind, [&](const Slot* slot) { return is_left(*slot); });
    };
    int last = next;
    for (const Slot* slot : behind) last = std::min(last, slot->run->config().train.epochs);
    for (; epoch < last && !stop_ && any_left(); ++epoch) {
      group.epoch(runs_);
      leave_failed_runs();
    }
    if (!stop_) group.evaluate_last(runs_, stop_);
    leave_failed_runs();
    if (!stop_) report_finished_runs();
    group.fetch_all();
    return true;
  }

  // Without waiting for the runs that take longer.
  void report_finished_runs() {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      if (failures_[r]) continue;
      try {
        runs_[r]->report_if_finished();
      } catch (const std::exception&) {  // thrown by the sink
        failures_[r] = std::current_exception();
      }
    }
  }

  // Saves the other agents of a failed run, where the fault allows it.
  void leave_failed_runs() {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      if (failures_[r]) continue;
      for (Slot& slot : slots_) {
        if (slot.population != r || !slot.failure) continue;
        slot.place->busy = true;  // keeps its last checkpoint
        if (!failures_[r]) failures_[r] = slot.failure;
      }
      if (!failures_[r]) continue;
      for (Slot& slot : slots_) {
        if (slot.population == r && is_left(slot)) complete_epoch(slot);
      }
      try {
        runs_[r]->interrupt_all("stopped: another agent of the population failed");
      } catch (const std::exception&) {
      }
      for (Slot& slot : slots_) {
        if (slot.population == r) slot.active = false;
      }
    }
  }

  void fail_all(const std::string& why) {
    const auto failure = std::current_exception();
    for (Slot& slot : slots_) {
      if (!is_left(slot)) continue;
      slot.run->fail(why);
      failures_[slot.population] = failure;
    }
  }

  std::span<PopulationRun* const> runs_;
  const GpuDevice& gpu_;
  const std::atomic<bool>& stop_;
  WorkStealer stealer_;
  Team team_;
  std::vector<Slot> slots_;
  std::vector<std::exception_ptr> failures_;
};

}  // namespace

GpuDevice device_of(const std::string& name, const std::string& asked_by) {
  if (name == "cpu") return {};
  if (name != "cuda") throw InputError(fmt::format("{} {}: must be cpu or cuda", asked_by, name));
  if (const std::string why = why_no_gpu(); !why.empty())
    throw InputError(fmt::format("{} cuda: {}", asked_by, why));
  return {check_gpu_population, make_gpu_population};
}

bool in_step(const Config& a, const Config& b) {
  const auto together = [](const TrainConfig& train) {
    return std::tuple(train.steps_per_epoch, train.updates_per_step, train.warmup_steps,
                      train.batch, train.precision);
  };
  return together(a.train) == together(b.train) && a.network.kind == b.network.kind;
}

std::vector<std::exception_ptr> train_in_lockstep(std::span<PopulationRun* const> runs,
                                                  const GpuDevice& gpu, int threads,
                                                  const std::atomic<bool>& stop,
                                                  const WorkStealer& stealer) {
  return LockstepDriver(runs, gpu, threads, stop, stealer).run();
}

}  // namespace ovde
