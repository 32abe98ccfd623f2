#include "train/population_run.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "base/team.h"
#include "base/text.h"
#include "config/build.h"
#include "config/stored_config.h"
#include "env/registry.h"
#include "io/seeds.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"
#include "run/run_state.h"

namespace ovde {

namespace {

Config with_seed(Config config, std::uint64_t seed) {
  config.seed = seed;
  return config;
}

// The population in the folder of a run.
Population runs_in(const fs::path& folder) {
  if (!holds_population(folder)) {
    check_run_folder(folder);
    if (const auto above = population_above(folder)) {
      throw InputError(fmt::format("{} is one agent of a population; resume the population: {}",
                                   folder.string(), above->string()));
    }
  }
  return read_runs(folder).value();
}

// The configurations of the population and of its agents must agree.
void check_agents(const RunPlan& plan) {
  for (std::size_t i = 0; i < plan.seeds.size(); ++i) {
    const fs::path folder = agent_folder(plan.folder, plan.seeds, i);
    if (!holds_config(folder)) continue;
    Config agent = read_config(folder);
    agent.checkpoint = plan.config.checkpoint;
    if (agent.train.epochs < plan.config.train.epochs) {  // trained for longer
      agent.train.epochs = plan.config.train.epochs;
      agent.record = plan.config.record;
    }
    const auto changed = differences(with_seed(plan.config, plan.seeds[i]), agent);
    if (changed.empty()) continue;
    throw InputError(fmt::format(
        "{} does not fit {}: {}; change it back to resume, or start a new run",
        plan.folder.string(), (folder / "config.toml").string(), fmt::join(changed, "; ")));
  }
}

// Whether the agent has finished the epochs that the plan asks for.
bool has_ended(const fs::path& folder, const RunPlan& plan) {
  return is_finished(folder) && read_config(folder).train.epochs >= plan.config.train.epochs;
}

}  // namespace

RunPlan plan_new_run(const Config& config, const std::vector<std::uint64_t>& seeds,
                     const fs::path& folder, const std::string& command) {
  check_seeds(seeds);
  if (is_folder(folder)) RunLock::check_not_held(folder);
  check_new_run_folder(folder);
  return {config, seeds, folder, true, command};
}

RunPlan plan_rest_of_run(const fs::path& folder, const std::string& command,
                         std::optional<int> epochs) {
  Population population = runs_in(folder);
  const int asked = population.config.train.epochs;
  if (epochs && *epochs < asked) {
    throw InputError(fmt::format("the run in {} has {}; it can be given more, not {}",
                                 folder.string(), plural(asked, "epoch"), *epochs));
  }
  if (epochs && *epochs > asked) population.config = train_longer(population.config, *epochs);
  return {population.config, population.seeds, folder, false, command};
}

std::vector<AgentOptions> agents_left(const RunPlan& plan) {
  const auto env = make_environment(plan.config);
  std::vector<AgentOptions> agents;
  for (std::size_t i = 0; i < plan.seeds.size(); ++i) {
    if (plan.is_new || !has_ended(agent_folder(plan.folder, plan.seeds, i), plan))
      agents.push_back(agent_options(plan.config, *env, plan.seeds[i]));
  }
  return agents;
}

PopulationRun::PopulationRun(const RunPlan& plan, ProgressSink& progress, int threads,
                             const Check& check)
    : plan_(plan), progress_(progress), places_(plan.seeds.size()) {
  if (plan.is_new) {
    make_agents(threads, check);  // first: if the task refuses its options, no folder is made
    ensure_new_run_folder(plan.folder);
    lock_.emplace(plan.folder);
    check_holds_no_run(plan.folder);  // again, now that nobody else can write there
    open_agents();
    return;
  }
  lock_.emplace(plan.folder);
  // Others are added to a single agent, whose files move to a folder of their own. A population
  // that still has a config.toml was interrupted during the move.
  const bool moved = holds_population(plan.folder);
  if (holds_config(plan.folder) && (moved || plan.seeds.size() > 1)) {
    if (!moved && !has_ended(plan.folder, plan))  // throws if it cannot continue
      AgentRun::resume(plan.folder, plan.config, plan.command);
    make_population(plan.folder, plan.command);
  }
  check_agents(plan);
  make_agents(threads, check);
  open_agents();
}

fs::path PopulationRun::folder_of(std::size_t agent) const {
  return agent_folder(plan_.folder, plan_.seeds, agent);
}

// Throws if the run cannot continue. Writes nothing.
void PopulationRun::make_agents(int threads, const Check& check) {
  const auto make_agent = [&](int i) {
    const fs::path folder = folder_of(i);
    const Config config = with_seed(plan_.config, plan_.seeds[i]);
    if (lock_) lock_->check_free(folder);
    if (!plan_.is_new && has_ended(folder, plan_)) {
      places_[i].summary = summary_of(config, read_progress(folder));
    } else if (!plan_.is_new && holds_config(folder)) {
      places_[i].run = AgentRun::resume(folder, plan_.config, plan_.command);
    } else {  // new, or killed before this agent's folder was made
      places_[i].run = AgentRun::start(config, folder, plan_.command);
    }
  };
  const int agents = static_cast<int>(places_.size());
  // an unknown task is refused elsewhere
  const Task* task = registered_task(plan_.config.task);
  Team team(task != nullptr && task->makes_side_by_side ? std::min(threads, agents) : 1);
  team.run(agents, make_agent);
  if (std::ranges::none_of(places_, [](const Place& place) { return place.run != nullptr; })) {
    throw InputError(fmt::format("the run in {} is finished ({}): there is nothing to resume",
                                 plan_.folder.string(),
                                 plural(plan_.config.train.epochs, "epoch")));
  }
  if (!check) return;
  std::vector<AgentOptions> left;
  for (const Place& place : places_)
    if (place.run) left.push_back(place.run->loop().agent().options());
  check(left);
}

void PopulationRun::open_agents() {
  lock_->announce();
  if (plan_.seeds.size() > 1) {
    const auto there = read_population(plan_.folder);
    if (!there || there->seeds != plan_.seeds ||
        there->config.train.epochs != plan_.config.train.epochs)
      write_population(plan_.folder, {plan_.config, plan_.seeds}, plan_.command);
  }
  if (plan_.is_new)
    save_task_copy(plan_.config.task, plan_.config.task_options, plan_.folder / kTaskFolder);
  std::vector<std::string> warnings;
  if (!plan_.is_new) {
    const std::string changes = task_file_changes(plan_.config.task, plan_.config.task_options);
    if (!changes.empty()) {
      warnings.push_back(fmt::format(
          "{}; the run continues with its own copy in {}; a changed task needs a new run", changes,
          (plan_.folder / kTaskFolder).string()));
    }
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const fs::path folder = folder_of(i);
    make_folder(folder);
    lock_->cover(folder);
    if (places_[i].run) places_[i].run->open(warnings);
  }
  for (const std::string& text : warnings) progress_.warning(text);
}

void PopulationRun::start(const std::atomic<bool>& stop) {
  std::int64_t epochs_done = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    epochs_done += place.run ? place.run->epochs_done() : plan_.config.train.epochs;
    if (!place.run) continue;
    place.finish_if_done(stop);
    const int agent = static_cast<int>(i);
    place.run->loop().tell_warm_up([this, agent](std::int64_t steps, std::int64_t of) {
      progress_.warming_up(agent, steps, of);
    });
  }
  progress_.run_started(plan_, epochs_done);
}

// A failure to save one agent does not keep the others from being saved.
void PopulationRun::interrupt_all(const std::string& why) {
  std::exception_ptr first;
  for (Place& place : places_) {
    if (place.summary || place.busy) continue;
    try {
      place.run->interrupt(why);
    } catch (const std::exception&) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

bool PopulationRun::report_if_finished() {
  std::vector<RunSummary> summaries;
  for (const Place& place : places_) {
    if (!place.summary) return false;
    summaries.push_back(*place.summary);
  }
  if (std::exchange(reported_, true)) return true;
  progress_.run_finished(summaries);
  return true;
}

bool PopulationRun::close() {
  if (report_if_finished()) return true;
  interrupt_all("interrupted");
  return false;
}

}  // namespace ovde
