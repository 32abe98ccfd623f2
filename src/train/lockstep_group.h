// Agents that have done the same number of epochs and act and learn together on one GPU. An agent's
// failure is noted in its slot; a failure of the GPU is thrown.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/team.h"
#include "train/lockstep.h"
#include "train/work_sharing.h"

namespace ovde {

// An agent of one of the runs.
struct Slot {
  std::size_t population;  // index of its run
  int place;               // its place in that run
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

// The order of the protocol is collect, learn, evaluate. An evaluation has its own random numbers
// and environment and needs the policy after an epoch's updates, which the host keeps until the
// updates of the next epoch are done. So an epoch is evaluated during the next one: the threads
// step the environments whenever actions are there, and evaluate at all other times: while the GPU
// acts, while the last environments of a round step, and during the updates. The epoch's row is
// written after that. Threads without work steal it from other populations (work_sharing.h).
class LockstepGroup final : private SharedWork {
 public:
  LockstepGroup(std::vector<Slot*> slots, const GpuDevice& gpu, Team& team,
                const WorkStealer& stealer);
  ~LockstepGroup();

  void epoch(std::span<PopulationRun* const> runs);

  // Evaluates the last epoch, unless `stop` is true, and writes its rows.
  void evaluate_last(std::span<PopulationRun* const> runs, const std::atomic<bool>& stop);

  // Copies the state of the agents that continue back from the GPU.
  void fetch_all();

 private:
  // The work of one thread in an epoch.
  void work(LongestFirstQueue& evaluations);
  void step_agents(int piece);
  bool take_piece();         // takes a piece of a round, if one is waiting
  bool do_piece() override;  // the same, by another population's thread
  void wait_for_updates(bool asks);
  bool evaluate(int i, LongestFirstQueue& evaluations);

  // Called by one thread at a time: the first, then the thread that has ended a round.
  void begin_collecting(bool warm_up);
  void begin_round();  // the next actions; after the last step, the updates
  void end_round();
  void learn();

  void finish_epoch(std::span<PopulationRun* const> runs);
  // Writes the rows of the evaluated epoch.
  void end_rows(std::span<PopulationRun* const> runs);
  void prepare(int i);
  void step(int i);

  EpochLoop& loop(int i) const { return slots_[i]->run->loop(); }
  // Whether the epoch before has to be evaluated.
  bool is_evaluated(int i) const { return loop(i).awaits_evaluation() && loop(i).evaluation_due(); }
  int size() const { return static_cast<int>(slots_.size()); }
  // The part of the configuration that all agents share (in_step()).
  const TrainConfig& protocol() const { return slots_.front()->run->config().train; }
  void fetch(int i);

  // work(i) for every active agent of one piece.
  template <typename Work>
  void for_piece(int piece, Work&& work);
  // work(i) for every active agent, on the team.
  template <typename Work>
  void for_each(Work&& work);
  // A call of the population; its errors are given a message that says where.
  template <typename Call>
  auto on_gpu(Call&& call);

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

}  // namespace ovde
