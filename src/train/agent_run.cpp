#include "train/agent_run.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include <ovde/policy.h>
#include "base/text.h"
#include "base/version.h"
#include "run/run_state.h"

namespace ovde {

namespace {

// sections of a checkpoint, beside those of EpochLoop
constexpr const char *kConfig = "config", *kProgress = "progress", *kVisits = "visits",
                     *kCutOffs = "cut_offs", *kFormat = "format", *kRewardTerms = "reward_terms",
                     *kSizes = "sizes";
constexpr std::uint32_t kCurrentFormat = 2;

// The run does not continue with this configuration or environment. Unlike with a damaged
// checkpoint, an older one would not help.
class OtherRun : public InputError {
  using InputError::InputError;
};

// How often a run is saved and for how long it is trained may change; nothing else may.
void check_same_config(const Config& now, const Bytes& saved, const fs::path& folder) {
  const std::string text(reinterpret_cast<const char*>(saved.data()), saved.size());
  Config before = restore_config(parse_toml(text, "configuration of the checkpoint"));
  before.checkpoint = now.checkpoint;
  if (before.train.epochs < now.train.epochs) {  // trained for longer
    before.train.epochs = now.train.epochs;
    before.record.networks = now.record.networks;
  }
  if (const auto changed = differences(now, before); !changed.empty()) {
    throw OtherRun(fmt::format(
        "{} was changed since the run began ({}); change it back to resume, or start a new run",
        (folder / "config.toml").string(), fmt::join(changed, "; ")));
  }
}

// Numbers of an observation and of an action. An environment of a program may change.
struct Sizes {
  std::int32_t observation, action;
};

Sizes sizes_of(const Agent& agent) {
  const LearnerOptions& learner = agent.options().learner;
  return {learner.observation_size, learner.action_size};
}

void check_same_sizes(const Sections& sections, const Agent& agent, const Config& config) {
  const auto saved = sections.find(kSizes);
  if (saved == sections.end()) return;  // a checkpoint of an earlier version
  Sizes before{};
  restore_members(saved->second, before);
  const Sizes now = sizes_of(agent);
  if (before.observation == now.observation && before.action == now.action) return;
  throw OtherRun(fmt::format(
      "the run was trained with observations of {} and actions of {}, and {} now has observations "
      "of {} and actions of {}; resume it with the environment that it began with, or start a new "
      "run",
      plural(before.observation, "number"), plural(before.action, "number"), config.task,
      plural(now.observation, "number"), plural(now.action, "number")));
}

void check_format(const Sections& sections) {
  if (!sections.contains(kFormat))
    throw Error("was written by a version of ovde that was never released");
}

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

AgentRun::AgentRun(const Config& config, const fs::path& folder)
    : config_(config),
      folder_(folder),
      log_(folder),
      store_(folder),
      best_(folder),
      start_time_(unix_time()) {}

std::unique_ptr<AgentRun> AgentRun::start(const Config& config, const fs::path& folder,
                                          const std::string& command) {
  std::unique_ptr<AgentRun> run(new AgentRun(config, folder));
  run->command_ = command;
  run->loop_ = std::make_unique<EpochLoop>(config, config.seed);
  return run;
}

std::unique_ptr<AgentRun> AgentRun::resume(const fs::path& folder, const Config& population,
                                           const std::string& command) {
  Config config = read_config(folder);
  const bool longer = config.train.epochs < population.train.epochs;
  if (longer) {
    config.train.epochs = population.train.epochs;
    config.record = population.record;
  }
  std::unique_ptr<AgentRun> run(new AgentRun(config, folder));
  if (longer) run->longer_ = command;
  run->loaded_ = run->load_newest();
  // it would begin again at the first epoch
  if (!run->loaded_ && is_finished(folder)) {
    throw Error(
        fmt::format("{} cannot be trained for longer: it has no checkpoint (ovde clean "
                    "removed it, or checkpoint.final was false)",
                    folder.string()));
  }
  if (!run->loaded_) run->loop_ = std::make_unique<EpochLoop>(run->config_, run->config_.seed);
  return run;
}

void AgentRun::open(std::vector<std::string>& warnings) {
  const bool is_new = command_.has_value();
  if (is_new) {
    ensure_new_run_folder(folder_);
    write_config(folder_, config_, *command_);
  }
  // before state.json (expects_checkpoints)
  store_.make_folder();
  sync_folder(folder_);
  // the results of an earlier end stay until those of the new end replace them
  if (!is_new) compare_machines();
  write_state(folder_, RunState::training);
  if (longer_) write_config(folder_, config_, *longer_);
  best_.open(rows_);
  const std::vector<std::string> terms = loop_->reward_terms();
  progress_.emplace(folder_, rows_, terms);
  events_.emplace(folder_, start_time_, rows_, terms);
  if (config_.record.visits) {
    visits_ = loaded_ ? VisitFile::resume(folder_, saved_visits_, loop_->env_steps(), warnings_)
                      : VisitFile(folder_);
  }
  sync_folder(folder_);  // the files' names, before a checkpoint counts on them

  for (const std::string& text : warnings_) log_.add(LogLevel::warning, text);
  for (const std::string& text : warnings_) {
    // all agents of a population may have the same one
    if (std::ranges::find(warnings, text) == warnings.end()) warnings.push_back(text);
  }
  if (is_new) {
    log_.add(LogLevel::info,
             fmt::format("started: ovde {}, {} on {}, seed {}, {}", version(), config_.algorithm,
                         config_.task, config_.seed, plural(config_.train.epochs, "epoch")));
  } else {
    log_.add(LogLevel::info, loaded_ ? fmt::format("resumed after {}", how_far())
                                     : "resumed from the beginning: no checkpoint was written yet");
  }
}

void AgentRun::compare_machines() {
  try {
    const auto different = differences(read_state(folder_).machine, this_machine());
    if (different.empty()) return;
    warnings_.push_back(fmt::format(
        "the run was started on another machine or with other libraries ({}): the last bits of its "
        "results may differ from those of a run that was not interrupted",
        fmt::join(different, "; ")));
  } catch (const InputError&) {  // state.json is damaged, which the resumed run replaces
  }
}

// False: there is no checkpoint yet.
bool AgentRun::load_newest() {
  if (!store_.has_folder() && expects_checkpoints(folder_)) {
    throw Error(
        fmt::format("the checkpoints of {} are missing; put them back to resume, or start a "
                    "new run",
                    folder_.string()));
  }
  const auto checkpoints = store_.all();
  for (const fs::path& path : checkpoints) {
    try {
      load(path);
      return true;
    } catch (const NewerFormat&) {
      throw;
    } catch (const OtherRun&) {
      throw;
    } catch (const std::exception& error) {
      const std::string what = error.what();
      warnings_.push_back(what.starts_with(path.string())
                              ? what
                              : fmt::format("{}: cannot be used: {}", path.string(), what));
    }
  }
  if (!checkpoints.empty()) {
    throw Error(fmt::format("no checkpoint of {} can be used: {}", folder_.string(),
                            fmt::join(warnings_, "; ")));
  }
  return false;
}

void AgentRun::load(const fs::path& checkpoint) {
  const Sections sections = read_checkpoint(checkpoint);
  check_format(sections);
  check_same_config(config_, section(sections, kConfig), folder_);
  loop_ = std::make_unique<EpochLoop>(config_, config_.seed);
  check_same_sizes(sections, loop_->agent(), config_);
  const bool continued = loop_->restore(sections);
  store_.load(checkpoint, sections, loop_->agent().replay());
  Replay& replay = loop_->agent().replay();
  cut_offs_.clear();
  if (const auto saved = sections.find(kCutOffs); saved != sections.end()) {
    restore_with(saved->second, [this](Archive& archive) {
      while (!archive.at_end()) archive(cut_offs_.emplace_back());
    });
  }
  if (!continued) cut_offs_.push_back(replay.added() - 1);
  for (const std::int64_t row : cut_offs_) replay.cut_off(row);

  restore_with(section(sections, kProgress),
               [this](Archive& archive) { archive_progress(archive); });
  for (int i = 0; i < epochs_done(); ++i) {
    // the last policy of a run that is trained for longer
    if (!is_evaluated(i, config_.train)) clear_evaluation(rows_[i]);
  }
  if (const auto terms = sections.find(kRewardTerms); terms != sections.end()) {
    restore_with(terms->second, [this](Archive& archive) {
      for (EpochRow& row : rows_) archive(row.reward_terms);
    });
    for (EpochRow& row : rows_) {
      if (std::isnan(row.eval_return_mean)) row.reward_terms.clear();
    }
  }
  saved_epochs_ = epochs_done();
  const auto visits = sections.find(kVisits);
  saved_visits_ = visits == sections.end() ? std::nullopt : std::optional(visits->second);

  if (!continued) {
    warnings_.push_back(fmt::format(
        "task {} cannot save an episode: the one in progress is given up and a new one begins",
        config_.task));
  }
}

void AgentRun::archive_progress(Archive& archive) {
  double seconds = elapsed();
  double began = learnt_in_ ? seconds - *learnt_in_ : epoch_began_.value_or(-1);
  archive(start_time_, seconds, began);
  if (archive.restores()) {
    seconds_before_ = seconds;
    epoch_began_ = began < 0 ? std::nullopt : std::optional(began);
    rows_.resize(static_cast<std::size_t>(epochs_done()));
  }
  archive_rows(archive, rows_);
}

std::string AgentRun::how_far() const {
  return fmt::format("{} and {}", plural(epochs_done(), "epoch"),
                     plural(loop_->env_steps(), "environment step"));
}

double AgentRun::elapsed() const { return seconds_before_ + seconds_since(begin_); }

std::optional<EpochRow> AgentRun::epoch(Team& team, const std::atomic<bool>& stop) {
  begin_epoch();
  const std::optional<EpochRow> row = loop_->epoch(team, stop);
  if (!row) {
    record_visits();
    return std::nullopt;
  }
  record_networks(row->epoch);
  const EpochRow written = end_epoch(*row);
  save_if_due();
  return written;
}

void AgentRun::begin_epoch() {
  if (!epoch_began_) epoch_began_ = elapsed();
  const Replay& replay = loop_->agent().replay();
  const std::int64_t most_steps =
      config_.train.steps_per_epoch +
      (loop_->env_steps() < config_.train.warmup_steps ? config_.train.warmup_steps : 0);
  store_.before_overwriting(replay.added() + most_steps - 1 - replay.capacity());
  unsaved_ = true;
}

void AgentRun::record_visits() {
  if (visits_) visits_->append(loop_->take_visits());
}

void AgentRun::record_networks(int epoch) {
  if (std::ranges::find(config_.record.networks, epoch) == config_.record.networks.end()) return;
  fetch_();
  write_networks(folder_, epoch, loop_->agent(), loop_->task_action_space(), config_);
}

void AgentRun::end_updates() {
  record_visits();
  record_networks(epochs_done());
  learnt_in_ = elapsed() - *epoch_began_;
  epoch_began_.reset();
}

// The policy after the updates of `row`'s epoch, which the agent still has.
void AgentRun::write_policy_to(const fs::path& file, const EpochRow& row) {
  write_policy(file, loop_->agent().policy(), loop_->task_action_space(), origin_of(config_),
               {{"epoch", std::to_string(row.epoch)},
                {"eval_return_mean", fmt::format("{}", row.eval_return_mean)}});
}

EpochRow AgentRun::end_epoch(EpochRow row) {
  // only epochs that are evaluated however long the run is trained: the candidates do not depend on
  // where it ended first
  if (is_evaluated_always(row.epoch, config_.train))
    best_.offer(row, [&](const fs::path& file) { write_policy_to(file, row); });
  record_visits();
  row.seconds = elapsed();
  const double seconds = learnt_in_ ? *learnt_in_ : row.seconds - *epoch_began_;
  if (!learnt_in_) epoch_began_.reset();
  learnt_in_.reset();
  const std::int64_t steps_before = rows_.empty() ? 0 : rows_.back().env_steps;
  row.steps_per_second = static_cast<double>(row.env_steps - steps_before) / seconds;
  progress_->append(row);
  events_->append(row);
  rows_.push_back(row);
  return row;
}

void AgentRun::save_if_due() {
  const auto& [epochs, minutes, final] = config_.checkpoint;
  if ((epochs > 0 && epochs_done() - saved_epochs_ >= epochs) ||
      (minutes > 0 && seconds_since(saved_at_) >= 60 * minutes))
    save();
}

void AgentRun::save() {
  fetch_();
  Sections sections = loop_->save();
  sections[kFormat] = save_members(std::uint32_t{kCurrentFormat});
  sections[kSizes] = save_members(sizes_of(loop_->agent()));
  const std::string text = to_toml(config_, version(), "");
  const auto bytes = std::as_bytes(std::span(text));
  sections[kConfig] = Bytes(bytes.begin(), bytes.end());

  sections[kProgress] = save_with([this](Archive& archive) { archive_progress(archive); });
  if (!loop_->reward_terms().empty()) {
    sections[kRewardTerms] = save_with([this](Archive& archive) {
      for (EpochRow& row : rows_) archive(row.reward_terms);
    });
  }
  if (visits_) sections[kVisits] = visits_->saved();
  const Replay& replay = loop_->agent().replay();
  std::erase_if(cut_offs_, [&](std::int64_t row) { return row < replay.added() - replay.size(); });
  if (!cut_offs_.empty()) {
    sections[kCutOffs] = save_with([this](Archive& archive) {
      for (std::int64_t& row : cut_offs_) archive(row);
    });
  }

  store_.save(std::move(sections), replay,
              [this, text = "checkpoint after " + how_far()] { log_.add(LogLevel::info, text); });
  unsaved_ = false;
  saved_epochs_ = epochs_done();
  saved_at_ = Clock::now();
}

void AgentRun::save_now() {
  if (unsaved_) save();
  store_.wait();
}

std::optional<RunSummary> AgentRun::finish(const std::atomic<bool>& stop) {
  if (config_.checkpoint.final) save_now();
  store_.wait();
  write_policy_to(folder_ / kPolicyFile, rows_.back());
  const auto best = best_.choose(rows_.back(), [&](const fs::path& file) {
    Policy policy = Policy::load(file.string());
    return loop_->play([&](auto observation, auto action) { policy.act_unit(observation, action); },
                       stop);
  });
  if (!best) return std::nullopt;
  progress_->sync();  // the summary says that all rows are there
  events_->sync();
  if (visits_) visits_->sync();
  RunSummary summary = summary_of(config_, rows_);
  summary.version = version();
  summary.best_epoch = best->epoch;
  summary.best_return = best->mean_return;
  write_summary(folder_, summary);
  write_state(folder_, RunState::finished);
  log_.add(
      LogLevel::info,
      fmt::format("finished: score {:.6g}; the best policy is that after {}: mean return {:.6g}",
                  summary.score, plural(best->epoch + 1, "epoch"), best->mean_return));
  return summary;
}

void AgentRun::interrupt(const std::string& why) {
  save_now();
  write_state(folder_, RunState::interrupted);
  log_.add(LogLevel::info, why);
}

void AgentRun::fail(const std::string& error) noexcept {
  try {
    store_.wait();  // the checkpoint that is being written is logged before the error
  } catch (const std::exception&) {
  }
  log_.add(LogLevel::error, error);
  try {
    write_state(folder_, RunState::failed, error);
  } catch (const std::exception&) {  // the disk may be the reason
  }
}

std::unique_ptr<EpochLoop> read_latest_state(const fs::path& run) {
  Config config = read_config(run);
  config.train.replay = config.train.batch;  // it will not learn
  for (const auto& path : CheckpointStore(run).all()) {
    try {
      const Sections sections = read_checkpoint(path);
      check_format(sections);
      auto loop = std::make_unique<EpochLoop>(config, config.seed);
      loop->restore(sections);
      return loop;
    } catch (const NewerFormat&) {
      throw;
    } catch (const Error&) {  // damaged, or just removed
    }
  }
  return nullptr;
}

}  // namespace ovde
