#include "train/lockstep.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/actor_critic_agent.h"
#include "math/team.h"

namespace ovde {

namespace {

// An agent of one of the runs.
struct Slot {
  std::size_t run;  // index of it
  int place;        // in it
  Member* member;
  bool active = true;  // it and its run have not failed
  std::exception_ptr failure;
};

// Hands out agents to evaluate, a stretch of steps at a time, the one that is furthest behind
// first: few long evaluations would not divide among the threads.
class EvaluationQueue {
 public:
  explicit EvaluationQueue(std::size_t agents) : entries_(agents) {}

  void leave_out(int agent) { entries_[agent].ended = true; }
  // -1: all that is left is being worked on.
  int take() {
    const std::lock_guard lock(mutex_);
    int next = -1;
    for (int i = 0; i < static_cast<int>(entries_.size()); ++i) {
      if (entries_[i].ended || entries_[i].busy) continue;
      if (next < 0 || entries_[i].stretches < entries_[next].stretches) next = i;
    }
    if (next >= 0) entries_[next].busy = true;
    return next;
  }
  void give_back(int agent, bool ended) {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[agent];
    entry.busy = false;
    entry.ended = ended;
    ++entry.stretches;
  }

 private:
  struct Entry {
    bool busy = false, ended = false;
    int stretches = 0;
  };
  std::vector<Entry> entries_;
  std::mutex mutex_;
};

// Agents between the same two epochs, and their copies on the GPU. What an agent does wrong is
// noted in its slot; what the GPU does wrong is thrown.
class Lockstep {
 public:
  Lockstep(std::vector<Slot*> slots, const MakePopulation& make, Team& team);
  ~Lockstep();

  void epoch(std::span<OpenRun* const> runs);

  // Brings back what the agents that go on have learnt.
  void fetch_all();

 private:
  void collect(bool warm_up);
  void prepare(int i);
  void step(int i);
  void evaluate();
  void finish_epoch(std::span<OpenRun* const> runs);

  AgentRun& run(int i) const { return slots_[i]->member->run(); }
  int size() const { return static_cast<int>(slots_.size()); }
  // One that all share.
  int setting(const char* key) const { return slots_.front()->member->config().train.integer(key); }
  void fetch(int i);

  // work(i) for every active agent, on the team.
  template <typename Work>
  void for_each(Work&& work);
  // A call of the population; what it throws gets a message that says where.
  template <typename Call>
  auto on_gpu(Call&& call);

  std::vector<Slot*> slots_;
  Team& team_;
  std::unique_ptr<GpuPopulation> population_;
  std::mutex population_mutex_;
  std::vector<Agent*> agents_;
  std::vector<EpochRow> rows_;

  // where it is
  int epoch_;
  std::string doing_ = "making the population";
  std::int64_t step_ = -1;  // -1: that has no steps
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
    slot.member->log(LogLevel::error, error.what());
  }
}

template <typename Call>
auto Lockstep::on_gpu(Call&& call) {
  try {
    return call();
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(fmt::format("{}: in epoch {}, {}", error.what(), epoch_,
                            step_ < 0 ? doing_ : fmt::format("{}, step {}", doing_, step_)));
  }
}

template <typename Work>
void Lockstep::for_each(Work&& work) {
  // a few pieces for each thread: enough to even out, few enough to hand out quickly
  const int pieces = std::min(size(), 4 * team_.threads());
  team_.run(pieces, [&](int piece) {
    for (int i = size() * piece / pieces; i < size() * (piece + 1) / pieces; ++i)
      guarded(*slots_[i], [&] { work(i); });
  });
}

Lockstep::Lockstep(std::vector<Slot*> slots, const MakePopulation& make, Team& team)
    : slots_(std::move(slots)),
      team_(team),
      rows_(slots_.size()),
      epoch_(slots_.front()->member->epochs_done()) {
  std::vector<AgentOptions> options;
  for (int i = 0; i < size(); ++i) {
    Agent& agent = run(i).agent();
    agents_.push_back(&agent);
    options.push_back(agent.options());
  }
  on_gpu([&] {
    population_ = make(options, precision_of(slots_.front()->member->config()));
    for (int i = 0; i < size(); ++i) population_->upload(i, *agents_[i]);
  });
  for (int i = 0; i < size(); ++i) slots_[i]->member->learns_elsewhere([this, i] { fetch(i); });
}

Lockstep::~Lockstep() {
  for (Slot* slot : slots_) slot->member->learns_elsewhere(nullptr);
}

void Lockstep::fetch(int i) {
  const std::lock_guard lock(population_mutex_);
  on_gpu([&] { population_->download(i, *agents_[i]); });
}

void Lockstep::fetch_all() {
  doing_ = "bringing back the agents";
  for (int i = 0; i < size(); ++i) {
    if (slots_[i]->active && !slots_[i]->member->done()) fetch(i);
  }
}

// The order of the protocol is evaluate, collect, learn. An evaluation has random numbers and an
// environment of its own and needs the policy from before the updates, which is what the host has
// until they are done: it runs beside them.
void Lockstep::epoch(std::span<OpenRun* const> runs) {
  for_each([&](int i) { slots_[i]->member->begin_epoch(); });
  if (epoch_ == 0) collect(true);
  collect(false);

  doing_ = "the updates";
  on_gpu([&] {
    for (int i = 0; i < size(); ++i) population_->add_rows(i, agents_[i]->replay());
    population_->update(setting("steps_per_epoch"));
  });
  evaluate();
  finish_epoch(runs);
  ++epoch_;
}

void Lockstep::collect(bool warm_up) {
  doing_ = warm_up ? "acting in the warm-up" : "acting";
  std::ranges::fill(population_->acting().plain, warm_up);
  const std::int64_t steps = setting(warm_up ? "warmup_steps" : "steps_per_epoch");
  for_each([&](int i) {
    run(i).begin_collecting(warm_up);
    if (steps > 0) prepare(i);
  });
  for (step_ = 0; step_ < steps; ++step_) {
    on_gpu([this] { population_->act(); });
    const bool last = step_ + 1 == steps;
    for_each([this, last](int i) {
      step(i);
      if (!last) prepare(i);
    });
  }
  step_ = -1;
}

// What agent i acts on next.
void Lockstep::prepare(int i) {
  const PopulationActing& acting = population_->acting();
  const auto observation = run(i).observe();
  std::ranges::transform(observation, acting.observation.begin() + i * acting.observations,
                         [](double x) { return static_cast<float>(x); });
  if (!acting.plain[i])
    draw_for_explorer(agents_[i]->options(), i, agents_[i]->explorer_noise(), acting);
}

// The action that the behaviour policy of agent i gives, and its environment's step.
void Lockstep::step(int i) {
  const PopulationActing& acting = population_->acting();
  const std::span<double> action = run(i).action();
  const auto row = [&](std::span<const double> all) {
    return all.subspan(i * acting.actions, action.size());
  };
  run(i).advance(draw_action(row(acting.mean), row(acting.std), row(acting.moved), acting.m[i],
                             agents_[i]->behaviour_noise(), action));
}

void Lockstep::evaluate() {
  const int stretch = std::max(100, setting("eval_steps") / 8);
  const std::atomic<bool> never{false};
  EvaluationQueue queue(slots_.size());
  for (int i = 0; i < size(); ++i) {
    guarded(*slots_[i], [&] { run(i).begin_evaluation(); });
    if (!slots_[i]->active) queue.leave_out(i);
  }
  team_.run(team_.threads(), [&](int) {
    for (int i = queue.take(); i >= 0; i = queue.take()) {
      bool ended = true;  // by failing, unless it comes to say otherwise
      guarded(*slots_[i], [&] { ended = run(i).advance_evaluation(stretch, never); });
      queue.give_back(i, ended);
    }
  });
}

void Lockstep::finish_epoch(std::span<OpenRun* const> runs) {
  const std::vector<PopulationReport> reports = on_gpu([this] {
    auto finished = population_->finish();
    population_->download_policies(agents_);
    return finished;
  });
  for_each([&](int i) {
    const PopulationReport& report = reports[i];
    if (report.first_bad != 0)
      throw Error("a loss is not finite: " + run(i).where(report.first_bad));
    rows_[i] = slots_[i]->member->end_epoch(run(i).finish_epoch(report.update, report.value));
  });
  for (int i = 0; i < size(); ++i) {
    const Slot& slot = *slots_[i];
    if (slot.active) runs[slot.run]->progress().epoch_done(slot.place, rows_[i]);
  }
  for_each([&](int i) {
    const Slot& slot = *slots_[i];
    if (slot.member->done()) runs[slot.run]->places()[slot.place].summary = slot.member->finish();
  });
}

// Everything that is to be trained, and what became of it.
class Drive {
 public:
  Drive(std::span<OpenRun* const> runs, const MakePopulation& make, int threads,
        const std::atomic<bool>& stop)
      : runs_(runs), make_(make), stop_(stop), team_(threads), failures_(runs.size()) {
    for (std::size_t r = 0; r < runs.size(); ++r) {
      auto& places = runs[r]->places();
      for (int i = 0; i < static_cast<int>(places.size()); ++i) {
        if (places[i].is_left())
          slots_.push_back({.run = r, .place = i, .member = places[i].member.get(), .failure = {}});
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
  bool is_left(const Slot& slot) const { return slot.active && !slot.member->done(); }

  // What a CPU was in the middle of, it ends.
  void complete_epochs() {
    team_.run(static_cast<int>(slots_.size()), [this](int i) {
      Slot& slot = slots_[i];
      guarded(slot, [&] {
        if (slot.member->run().between_epochs()) return;
        Team alone(1);
        const auto row = slot.member->epoch(alone, stop_);
        slot.member->run().agent().use(nullptr);
        if (row) runs_[slot.run]->progress().epoch_done(slot.place, *row);
        if (slot.member->done())
          runs_[slot.run]->places()[slot.place].summary = slot.member->finish();
      });
    });
    leave_failed_runs();
  }

  // Trains the agents that are furthest behind until they have caught up with the next ones, or to
  // the end. False: none is left.
  bool advance() {
    int epoch = std::numeric_limits<int>::max(), next = epoch;
    for (const Slot& slot : slots_) {
      if (is_left(slot)) epoch = std::min(epoch, slot.member->epochs_done());
    }
    std::vector<Slot*> behind;
    for (Slot& slot : slots_) {
      if (!is_left(slot)) continue;
      if (slot.member->epochs_done() == epoch) {
        behind.push_back(&slot);
      } else {
        next = std::min(next, slot.member->epochs_done());
      }
    }
    if (behind.empty()) return false;

    Lockstep lockstep(behind, make_, team_);
    for (; epoch < next && !stop_; ++epoch) {
      lockstep.epoch(runs_);
      leave_failed_runs();
      if (std::ranges::none_of(behind, [&](const Slot* slot) { return is_left(*slot); })) break;
    }
    lockstep.fetch_all();
    return true;
  }

  // What the other agents of a run have learnt need not be lost, if the fault lets it be saved.
  void leave_failed_runs() {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      if (failures_[r]) continue;
      for (Slot& slot : slots_) {
        if (slot.run != r || !slot.failure) continue;
        runs_[r]->places()[slot.place].busy = true;  // it keeps its last checkpoint
        if (!failures_[r]) failures_[r] = slot.failure;
      }
      if (!failures_[r]) continue;
      try {
        runs_[r]->save_all("stopped: another agent of the population failed");
      } catch (const std::exception&) {
      }
      for (Slot& slot : slots_) {
        if (slot.run == r) slot.active = false;
      }
    }
  }

  void fail_all(const std::string& why) {
    const auto failure = std::current_exception();
    for (Slot& slot : slots_) {
      if (!is_left(slot)) continue;
      slot.member->log(LogLevel::error, why);
      failures_[slot.run] = failure;
    }
  }

  std::span<OpenRun* const> runs_;
  const MakePopulation& make_;
  const std::atomic<bool>& stop_;
  Team team_;
  std::vector<Slot> slots_;
  std::vector<std::exception_ptr> failures_;
};

}  // namespace

MakePopulation device_of(const std::string& name, const std::string& asked_by) {
  if (name == "cpu") return {};
  if (name != "cuda") throw InputError(fmt::format("{} {}: must be cpu or cuda", asked_by, name));
  if (const std::string why = why_no_gpu(); !why.empty())
    throw InputError(fmt::format("{} cuda: {}", asked_by, why));
  return make_gpu_population;
}

Precision precision_of(const Config& config) {
  return config.train.text("precision") == "fp32" ? Precision::fp32 : Precision::tf32;
}

bool in_step(const Config& a, const Config& b) {
  for (const char* key : {"epochs", "steps_per_epoch", "warmup_steps", "eval_steps", "batch"}) {
    if (a.train.integer(key) != b.train.integer(key)) return false;
  }
  return precision_of(a) == precision_of(b);
}

std::vector<std::exception_ptr> train_in_lockstep(std::span<OpenRun* const> runs,
                                                  const MakePopulation& make, int threads,
                                                  const std::atomic<bool>& stop) {
  for (OpenRun* run : runs) run->start();
  return Drive(runs, make, threads, stop).run();
}

}  // namespace ovde
