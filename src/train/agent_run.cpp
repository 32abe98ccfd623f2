#include "train/agent_run.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "base/version.h"
#include "config/build.h"
#include "run/policy_file.h"
#include "run/run_folder.h"
#include "train/checkpoint_format.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

constexpr const char* kBestPolicy = "policy_best.safetensors";
constexpr const char *kConfig = "config", *kVisits = "visits", *kCutOffs = "cut_offs";
constexpr const char* kCheckpointLogged = "checkpoint at epoch";

// Not damage, and no reason to use an older checkpoint.
class ChangedConfig : public InputError {
  using InputError::InputError;
};

// How often a run is saved, and for how long it is trained, does not change it; everything else
// would.
void check_same_config(const Config& now, const Bytes& saved, const fs::path& folder) {
  const std::string text(reinterpret_cast<const char*>(saved.data()), saved.size());
  Config before = restore_config(parse_toml(text, "configuration of the checkpoint"));
  before.checkpoint = now.checkpoint;
  if (before.train.epochs < now.train.epochs) {  // it is trained for longer
    before.train.epochs = now.train.epochs;
    before.record.networks = now.record.networks;
  }
  if (const auto changed = differences(now, before); !changed.empty()) {
    throw ChangedConfig(fmt::format(
        "{} was changed since the run began ({}); change it back to resume, or start a new run",
        (folder / "config.toml").string(), fmt::join(changed, "; ")));
  }
}

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

AgentRun::AgentRun(const Config& config, const fs::path& folder)
    : config_(config), folder_(folder), log_(folder), store_(folder), start_time_(unix_time()) {}

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
  // one that was imported came without them
  if (!run->loaded_ && is_finished(folder) && !run->store_.has_folder()) {
    throw Error(
        fmt::format("{} has no checkpoints, and so cannot be trained for longer", folder.string()));
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
  if (longer_) {
    remove_summary(folder_);
    write_config(folder_, config_, *longer_);
  }
  store_.make_folder();
  if (fs::exists(folder_ / kBestPolicy)) {
    for (const EpochRow& row : rows_) best_return_ = std::fmax(best_return_, row.eval_return_mean);
  }
  progress_.emplace(folder_, rows_);
  events_.emplace(folder_, start_time_, rows_);
  if (config_.record.visits) {
    visits_ = loaded_ ? VisitFile::resume(folder_, saved_visits_, loop_->env_steps(), warnings_)
                      : VisitFile(folder_);
  }
  sync_folder(folder_);  // the files' names, before a checkpoint counts on them

  if (longer_ && !loaded_) {
    warnings_.push_back(
        fmt::format("{}: begins again at the first epoch: it left no checkpoint to go on from",
                    folder_.string()));
  }
  for (const std::string& text : warnings_) log(LogLevel::warning, text);
  warnings.insert(warnings.end(), warnings_.begin(), warnings_.end());
  if (is_new) {
    log(LogLevel::info,
        fmt::format("started: ovde {}, {} on {}, seed {}, {} epochs", version(), config_.algorithm,
                    config_.task, config_.seed, config_.train.epochs));
  } else {
    log(LogLevel::info, loaded_ ? fmt::format("resumed at epoch {}, environment step {}",
                                              epochs_done(), loop_->env_steps())
                                : "resumed from the beginning: no checkpoint was written yet");
  }
}

// False: there is no checkpoint yet.
bool AgentRun::load_newest() {
  check_checkpoints_there();
  const auto checkpoints = store_.all();
  for (const fs::path& path : checkpoints) {
    try {
      load(path);
      return true;
    } catch (const NewerFormat&) {
      throw;
    } catch (const ChangedConfig&) {
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

// A run of an older version has no folder before its first checkpoint, and its log none of those.
void AgentRun::check_checkpoints_there() const {
  if (store_.has_folder() || !log_.mentions(kCheckpointLogged)) return;
  throw Error(fmt::format(
      "the checkpoints of {} are gone, of which its log speaks; put them back to resume, or start "
      "a new run",
      folder_.string()));
}

void AgentRun::load(const fs::path& checkpoint) {
  const Sections sections = in_current_format(read_checkpoint(checkpoint));
  check_same_config(config_, section(sections, kConfig), folder_);
  loop_ = std::make_unique<EpochLoop>(config_, config_.seed);
  const bool continued = loop_->restore(sections);
  store_.load(checkpoint, sections, loop_->agent().replay());
  Replay& replay = loop_->agent().replay();
  cut_offs_.clear();
  if (const auto saved = sections.find(kCutOffs); saved != sections.end()) {
    for (ByteReader in(saved->second); !in.empty();) cut_offs_.push_back(in.get<std::int64_t>());
  }
  if (!continued) cut_offs_.push_back(replay.added() - 1);
  for (const std::int64_t row : cut_offs_) replay.cut_off(row);

  ByteReader in(section(sections, kProgress));
  start_time_ = in.get<double>();
  seconds_before_ = in.get<double>();
  const auto began = in.get<double>();
  epoch_began_ = began < 0 ? std::nullopt : std::optional(began);
  rows_.clear();
  for (int i = 0; i < epochs_done(); ++i) {
    rows_.push_back(get_row(in));
    // the last policy of a run that is now trained for longer
    if (!is_evaluated(i, config_.train)) clear_evaluation(rows_.back());
  }
  if (!in.empty()) throw Error("has more rows than epochs");
  saved_epochs_ = epochs_done();
  const auto visits = sections.find(kVisits);
  saved_visits_ = visits == sections.end() ? std::nullopt : std::optional(visits->second);

  if (!continued) {
    warnings_.push_back(fmt::format(
        "task {} cannot save an episode: the one in progress is given up and a new one begins",
        config_.task));
  }
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
  fetch();
  write_networks(folder_, epoch, loop_->agent(), loop_->task_action_space(), config_);
}

void AgentRun::end_updates() {
  record_visits();
  record_networks(epochs_done());
  learnt_in_ = elapsed() - *epoch_began_;
  epoch_began_.reset();
}

// The policy that was evaluated is still the agent's.
void AgentRun::keep_best(const EpochRow& row) {
  const bool better = !(row.eval_return_mean <= best_return_);
  if (std::isnan(row.eval_return_mean) || !better) return;
  write_policy(folder_ / kBestPolicy, loop_->agent().policy(), loop_->task_action_space(), config_,
               {{"epoch", std::to_string(row.epoch)},
                {"eval_return_mean", fmt::format("{}", row.eval_return_mean)}});
  best_return_ = row.eval_return_mean;
}

EpochRow AgentRun::end_epoch(EpochRow row) {
  keep_best(row);
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
  if (checkpoint_due()) save();
}

bool AgentRun::checkpoint_due() const {
  const int epochs = config_.checkpoint.epochs;
  const double minutes = config_.checkpoint.minutes;
  return (epochs > 0 && epochs_done() - saved_epochs_ >= epochs) ||
         (minutes > 0 && seconds_since(saved_at_) >= 60 * minutes);
}

void AgentRun::save() {
  fetch();
  Sections sections = loop_->save();
  mark_current_format(sections);
  const std::string text = to_toml(config_, version(), "");
  const auto bytes = std::as_bytes(std::span(text));
  sections[kConfig] = Bytes(bytes.begin(), bytes.end());

  ByteWriter rows;
  rows.put(start_time_);
  rows.put(elapsed());
  rows.put(learnt_in_ ? elapsed() - *learnt_in_ : epoch_began_.value_or(-1));
  for (const EpochRow& row : rows_) put_row(rows, row);
  sections[kProgress] = rows.take();
  if (visits_) sections[kVisits] = visits_->saved();
  const Replay& replay = loop_->agent().replay();
  std::erase_if(cut_offs_, [&](std::int64_t row) { return row < replay.added() - replay.size(); });
  if (!cut_offs_.empty()) {
    ByteWriter rows_cut;
    for (const std::int64_t row : cut_offs_) rows_cut.put(row);
    sections[kCutOffs] = rows_cut.take();
  }

  store_.save(std::move(sections), loop_->agent().replay());
  log(LogLevel::info, fmt::format("{} {}, environment step {}", kCheckpointLogged, epochs_done(),
                                  loop_->env_steps()));
  unsaved_ = false;
  saved_epochs_ = epochs_done();
  saved_at_ = Clock::now();
}

void AgentRun::save_now() {
  if (unsaved_) save();
  store_.wait();
}

RunSummary AgentRun::finish() {
  store_.wait();
  write_policy(folder_ / "policy.safetensors", loop_->agent().policy(), loop_->task_action_space(),
               config_);
  progress_->sync();  // the summary says that all rows are there
  events_->sync();
  if (visits_) visits_->sync();
  RunSummary summary = summarise(rows_);
  summary.task = config_.task;
  summary.algorithm = config_.algorithm;
  summary.seed = config_.seed;
  summary.version = version();
  write_summary(folder_, summary);
  log(LogLevel::info, fmt::format("finished: score {}", summary.score));
  return summary;
}

}  // namespace ovde
