// The cells of a study on a GPU. Cells that are in step are one population; populations are trained
// side by side.

#include <algorithm>
#include <exception>
#include <iterator>
#include <list>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <ovde/error.h>
#include "run/run_lock.h"
#include "study/execute/board.h"
#include "train/lockstep.h"
#include "train/population_run.h"

namespace ovde {

namespace {

// A cell with its unfinished agents.
struct PlannedCell {
  Job* job;
  RunPlan plan;
  std::vector<AgentOptions> agents;
};
using CellGroup = std::vector<PlannedCell>;  // one population

std::vector<AgentOptions> agents_of(const CellGroup& group) {
  std::vector<AgentOptions> all;
  for (const PlannedCell& cell : group) std::ranges::copy(cell.agents, std::back_inserter(all));
  return all;
}

// Takes the next cells, in the order of the plan, that are trained at a time (one where runtimes
// are compared); cells that are in step are one group. Empty: none is left.
std::vector<CellGroup> take_groups(const StudyRequest& request, Board& board, bool wait) {
  std::vector<CellGroup> groups;
  std::size_t agents = 0;
  const auto group_of = [&](const Job& job) {
    return std::ranges::find_if(groups, [&](const CellGroup& group) {
      return in_step(group.front().job->config, job.config);
    });
  };
  const auto fits = [&](const Job& job) {
    if (measures_only_runtime(request.plan)) return false;
    if (agents + job.cell.seeds.size() > kMostAgentsTogether) return false;
    if (group_of(job) != groups.end()) return true;
    return std::cmp_less(groups.size(), request.threads) &&
           job.config.train.precision == groups.front().front().job->config.train.precision;
  };
  while (Job* job = groups.empty() ? board.take(wait) : board.take_if(fits, false)) {
    try {
      PlannedCell cell{job, plan_cell(*job, request), {}};
      cell.agents = agents_left(cell.plan);
      agents += cell.agents.size();
      auto group = group_of(*job);
      if (group == groups.end()) group = groups.emplace(group);
      group->push_back(std::move(cell));
    } catch (const std::exception& error) {
      board.failed(*job, error);
    }
  }
  return groups;
}

void train_group(const CellGroup& group, const StudyRequest& request, int threads,
                 const WorkStealer& stealer, Board& board) {
  std::list<CellSink> sinks;
  std::list<PopulationRun> open;
  std::vector<PopulationRun*> runs;
  std::vector<const Job*> jobs;
  for (const PlannedCell& cell : group) {
    try {
      open.emplace_back(cell.plan, sinks.emplace_back(*cell.job, board), threads);
      runs.push_back(&open.back());
      jobs.push_back(cell.job);
    } catch (const RunIsHeld& error) {
      board.give_back(*cell.job, error);
    } catch (const std::exception& error) {
      board.failed(*cell.job, error);
    }
  }
  std::vector<std::exception_ptr> failures;
  try {
    failures = train_in_lockstep(runs, request.gpu, threads,
                                 request.stop != nullptr ? *request.stop : kNever, stealer);
  } catch (const std::exception&) {
    failures.assign(runs.size(), std::current_exception());
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    try {
      if (failures[i]) std::rethrow_exception(failures[i]);
      runs[i]->close();
    } catch (const std::exception& error) {
      board.failed(*jobs[i], error);
    }
  }
}

// The groups; those with enough agents are split in two.
std::vector<CellGroup> populations_of(std::span<const CellGroup> groups, int full, int threads) {
  std::vector<CellGroup> out;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    CellGroup half[2];
    std::size_t agents[2] = {0, 0};
    for (const PlannedCell& cell : groups[g]) {
      const int which = agents[0] <= agents[1] ? 0 : 1;
      agents[which] += cell.agents.size();
      half[which].push_back(cell);
    }
    const bool is_large = std::cmp_greater_equal(std::min(agents[0], agents[1]), full);
    const std::size_t others = out.size() + groups.size() - g - 1;
    if (is_large && std::cmp_less(others + 1, threads)) {
      std::ranges::move(half, std::back_inserter(out));
    } else {
      out.push_back(groups[g]);
    }
  }
  return out;
}

// The threads of each population: at least one, the others in proportion to the environment steps.
std::vector<int> shares_of(std::span<const CellGroup> populations, int threads) {
  std::vector<double> steps;
  for (const CellGroup& population : populations) {
    double sum = 0;
    for (const PlannedCell& cell : population) {
      const TrainConfig& train = cell.plan.config.train;
      sum += static_cast<double>(cell.agents.size()) * train.epochs * train.steps_per_epoch;
    }
    steps.push_back(sum);
  }
  std::vector<int> shares(populations.size(), 1);
  for (int left = threads - static_cast<int>(shares.size()); left > 0; --left) {
    std::size_t next = 0;  // has the most steps per thread
    for (std::size_t i = 1; i < shares.size(); ++i) {
      if (steps[i] * shares[next] > steps[next] * shares[i]) next = i;
    }
    ++shares[next];
  }
  return shares;
}

// Trains the groups as independent populations with their own threads, which help each other: while
// the environments of one population step, the GPU computes the updates of another.
void train_side_by_side(std::span<const CellGroup> groups, const StudyRequest& request,
                        Board& board) {
  const auto populations = populations_of(groups, request.gpu.full, request.threads);
  const int count = static_cast<int>(populations.size());
  const std::vector<int> shares = shares_of(populations, request.threads);
  WorkStealing stealing(count);
  const auto train_one = [&](int i) {
    const WorkStealer stealer = count > 1 ? WorkStealer{&stealing, i} : WorkStealer{};
    train_group(populations[i], request, shares[i], stealer, board);
    stealing.finished();
  };
  std::vector<std::jthread> others;
  int next = 1;
  try {
    for (; next < count; ++next) {
      others.emplace_back([&, next] {
        train_one(next);
        stealing.steal_to_the_end(next, shares[next]);
      });
    }
  } catch (const std::system_error&) {  // no more threads: the others follow the first
  }
  train_one(0);
  for (; next < count; ++next) train_one(next);
  stealing.steal_to_the_end(0, shares[0]);
}

// Trains groups that do not fit on the GPU together one after the other, then in halves. A cell
// that does not fit alone fails.
void train_what_fits(std::span<const CellGroup> groups, const StudyRequest& request, Board& board) {
  if (board.stopped()) return;
  try {
    std::vector<AgentOptions> all;
    for (const CellGroup& group : groups)
      std::ranges::move(agents_of(group), std::back_inserter(all));
    if (!all.empty()) request.gpu.check(all, groups.front().front().job->config.train.precision);
  } catch (const InputError& error) {
    const CellGroup& first = groups.front();
    if (groups.size() == 1 && first.size() == 1) return board.failed(*first.front().job, error);
    std::vector<CellGroup> parts(groups.begin(), groups.end());
    if (groups.size() == 1) {
      const auto middle = first.begin() + static_cast<std::ptrdiff_t>(first.size() / 2);
      parts = {{first.begin(), middle}, {middle, first.end()}};
    }
    for (const CellGroup& part : parts) train_what_fits({&part, 1}, request, board);
    return;
  } catch (const std::exception& error) {
    for (const CellGroup& group : groups) {
      for (const PlannedCell& cell : group) board.failed(*cell.job, error);
    }
    return;
  }
  train_side_by_side(groups, request, board);
}

}  // namespace

void work_on_gpu(const StudyRequest& request, Board& board, bool wait) {
  while (true) {
    const std::vector<CellGroup> groups = take_groups(request, board, wait);
    if (groups.empty()) return;
    train_what_fits(groups, request, board);
  }
}

}  // namespace ovde
