// Agents between the same two epochs, which act and learn together on one GPU, and an epoch of all
// of them. What an agent does wrong is noted in its slot; what the GPU does wrong is thrown.
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
#include "train/longest_first_queue.h"
#include "train/rounds.h"

namespace ovde {

// An agent of one of the runs.
struct Slot {
  std::size_t population;  // index of the run that it is an agent of
  int place;               // in that
  AgentRun* run;
  bool active = true;  // it and its run have not failed
  std::exception_ptr failure;
};

// Runs `work`, of the agent in `slot` alone.
template <typename Work>
void guarded(Slot& slot, Work&& work) {
  if (!slot.active) return;
  try {
    work();
  } catch (const std::exception& error) {
    slot.active = false;
    slot.failure = std::current_exception();
    slot.run->log(LogLevel::error, error.what());
  }
}

// The order of the protocol is collect, learn, evaluate. An evaluation has random numbers and an
// environment of its own and needs the policy that an epoch's updates led to, which is what the
// host has until those of the next epoch are done. So an epoch is evaluated in the course of the
// next one: the threads step the environments whenever there is an action to be taken, and evaluate
// at all other times: while the GPU acts, while the last ones of a round are being stepped, and
// beside the updates. Its row is written then. Threads for which that leaves nothing help other
// populations (neighbours.h).
class LockstepGroup final : private Helped {
 public:
  LockstepGroup(std::vector<Slot*> slots, const GpuDevice& gpu, Team& team,
                const Neighbour& neighbour);
  ~LockstepGroup();

  void epoch(std::span<PopulationRun* const> runs);

  // Evaluates the epoch that was last, unless `stop` is true, and writes its rows.
  void evaluate_last(std::span<PopulationRun* const> runs, const std::atomic<bool>& stop);

  // Brings back what the agents that go on have learnt.
  void fetch_all();

 private:
  // What each thread does in an epoch.
  void work(LongestFirstQueue& evaluations);
  void step_agents(int piece);
  bool take_piece();     // of a round, if one waits
  bool help() override;  // the same, by another population's thread
  void wait_for_updates(bool asks);
  bool evaluate(int i, LongestFirstQueue& evaluations);

  // One thread at a time: the first, and then whoever has ended a round.
  void begin_collecting(bool warm_up);
  void begin_round();  // the next actions, or what comes after the last
  void end_round();
  void learn();

  void finish_epoch(std::span<PopulationRun* const> runs);
  // Writes the rows of the epoch that has been evaluated.
  void end_rows(std::span<PopulationRun* const> runs);
  void prepare(int i);
  void step(int i);

  EpochLoop& loop(int i) const { return slots_[i]->run->loop(); }
  // Whether there is an evaluation to be done of the epoch before.
  bool is_evaluated(int i) const { return loop(i).awaits_evaluation() && loop(i).evaluation_due(); }
  int size() const { return static_cast<int>(slots_.size()); }
  // What all share of it (in_step()).
  const TrainConfig& protocol() const { return slots_.front()->run->config().train; }
  void fetch(int i);

  // work(i) for the agents of one of the pieces that they are divided in.
  template <typename Work>
  void for_piece(int piece, Work&& work);
  // work(i) for every active agent, on the team.
  template <typename Work>
  void for_each(Work&& work);
  // A call of the population; what it throws gets a message that says where.
  template <typename Call>
  auto on_gpu(Call&& call);

  std::vector<Slot*> slots_;
  Team& team_;
  Neighbour neighbour_;
  int pieces_;   // that the agents are divided in for the threads
  int stretch_;  // steps of an evaluation at a time
  std::unique_ptr<GpuPopulation> population_;
  std::mutex population_mutex_;
  std::vector<Agent*> agents_;
  std::vector<ExplorerDraws> draws_;           // of each agent
  std::vector<std::optional<EpochRow>> rows_;  // that end_rows() has written
  std::vector<std::exception_ptr> evaluation_failures_;

  // where it is
  int epoch_;
  std::string doing_ = "making the population";
  bool warming_up_ = false;
  std::int64_t step_ = -1, steps_ = 0;  // step -1: that has no steps
  Rounds rounds_;                       // one for every step
  std::atomic<bool> collecting_{false};
  std::atomic<bool> learnt_{false};    // the epoch's updates are done
  std::atomic<bool> given_up_{false};  // the GPU has failed
  std::exception_ptr failed_helping_;  // how, where it was another population's thread that saw it
};

}  // namespace ovde
