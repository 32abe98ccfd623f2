// Agents that have done the same number of epochs and act and learn together on one GPU. An agent's
// failure is noted in its slot; a failure of the GPU is thrown. Which agents form a group, and the
// end of failed runs, are lockstep.cpp's.
//
// The order of the protocol is collect, learn, evaluate. An evaluation has its own random numbers
// and environment and needs the policy after an epoch's updates, which the host keeps until the
// updates of the next epoch are done. So an epoch is evaluated during the next one: the threads
// step the environments whenever actions are there, and evaluate at all other times: while the GPU
// acts, while the last environments of a round step, and during the updates. The epoch's row is
// written after that. Threads without work steal it from other populations (work_sharing.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/team.h"
#include "cuda/population.h"
#include "train/lockstep.h"
#include "train/population_run.h"
#include "train/work_sharing.h"

namespace ovde {

// An agent of one of the runs that are trained in lockstep.
struct LockstepSlot {
  std::size_t population;  // index of its run
  int agent;               // its index in that run
  ProgressSink* progress;  // the run's
  Place* place;
  AgentRun* run;
  bool active = true;  // neither it nor its run has failed
  std::exception_ptr failure = {};

  // Does `work`, which concerns this agent alone; an exception becomes its failure.
  template <typename Work>
  void guard(Work&& work) {
    if (!active) return;
    try {
      work();
    } catch (const std::exception& error) {
      active = false;
      failure = std::current_exception();
      run->fail(error.what());
    }
  }
};

class LockstepGroup final : private SharedWork {
 public:
  LockstepGroup(std::vector<LockstepSlot*> slots, const GpuDevice& gpu, Team& team,
                const WorkStealer& stealer);
  ~LockstepGroup();

  // The steps and updates of one epoch, and the evaluation and row of the epoch before.
  void epoch();

  // Evaluates the last epoch, unless `stop` is true, and writes its rows.
  void evaluate_last(const std::atomic<bool>& stop);

  // Copies the state of the agents that have not finished back from the GPU.
  void fetch_all();

 private:
  // ---- called by every thread in an epoch

  void work(LongestFirstQueue& evaluations);
  bool take_piece();
  bool do_piece() override;
  void wait_for_updates(bool asks);
  bool evaluate(int i, LongestFirstQueue& evaluations);
  void step_agents(int piece);
  void prepare(int i);
  void step(int i);

  // ---- called by one thread at a time: the first, then the thread that has ended a round

  void begin_collecting(bool warm_up);
  void begin_round();
  void end_round();
  void learn();

  // ---- called between epochs

  void finish_epoch();
  void end_rows();

  // ----

  void fetch(int i);
  template <typename Call>
  std::invoke_result_t<Call> on_gpu(Call&& call);
  template <typename Work>
  void for_piece(int piece, Work&& work);
  template <typename Work>
  void for_each(Work&& work);

  EpochLoop& loop(int i) const { return slots_[i]->run->loop(); }
  // Whether the epoch before has to be evaluated.
  bool is_evaluated(int i) const { return loop(i).awaits_evaluation() && loop(i).evaluation_due(); }
  int size() const { return static_cast<int>(slots_.size()); }
  // The part of the configuration that all agents share (in_step()).
  const TrainConfig& protocol() const { return slots_.front()->run->config().train; }

  std::vector<LockstepSlot*> slots_;
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

}  // namespace ovde
