#include "stress/episodes.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include <ovde/policy.h>
#include "base/team.h"
#include "config/build.h"
#include "train/evaluation.h"

namespace ovde {

namespace {

constexpr const char* kHeader =
    "policy,run,disturbance,severity,settings,episode,seed,return,length,success";

// The actions of one episode.
Act actor_of(const StressPolicy& policy, std::uint64_t seed, std::shared_ptr<Policy>& loaded) {
  if (policy.file.empty()) {
    return [random = Random(seed, Stream::scaling)](auto, auto action) mutable {
      for (double& each : action) each = random.uniform(-1, 1);
    };
  }
  if (!loaded) loaded = std::make_shared<Policy>(Policy::load(policy.file.string()));
  return [loaded](auto observation, auto action) { loaded->act_unit(observation, action); };
}

// nullopt: stopped.
std::optional<PlayedEpisode> play(Env& env, const Act& act, const EpisodeStart& start,
                                  const std::atomic<bool>& stop) {
  Evaluation evaluation(env, act, start.stream, kAllSteps, 1);
  if (!evaluation.advance(kAllSteps, stop)) return std::nullopt;
  const EvaluationResult& result = evaluation.result();
  return PlayedEpisode{result.returns[0], static_cast<int>(result.lengths[0]),
                       result.successes > 0};
}

// What a thread needs for the episodes of a point.
struct Stage {
  const StressPoint* point = nullptr;
  std::unique_ptr<Env> env;
  std::shared_ptr<const StressPolicy> policy;  // whose networks are loaded
  std::shared_ptr<Policy> loaded;
};

class Player {
 public:
  Player(const std::vector<StressPoint>& points, const std::vector<EpisodeStart>& starts,
         EpisodeFile& file, const StressWork& work)
      : points_(points), starts_(starts), file_(file), work_(work), left_(points.size()) {
    for (std::size_t p = 0; p < points.size(); ++p) {
      for (std::size_t e = 0; e < starts.size(); ++e) {
        if (file.find(points[p], starts[e].seed) != nullptr) continue;
        jobs_.emplace_back(p, e);
        ++left_[p];
      }
    }
    total_ = points.size() * starts.size();
  }

  bool run() {
    if (work_.progress) work_.progress(total_ - jobs_.size(), total_);
    const int threads = std::max(1, std::min(work_.threads, static_cast<int>(jobs_.size())));
    Team team(threads);
    team.run(threads, [&](int) { work(); });
    return done_ == jobs_.size();
  }

 private:
  void work() {
    Stage stage;
    try {
      for (std::size_t j = next_++; j < jobs_.size() && !stop_; j = next_++) {
        if (!play_one(stage, jobs_[j].first, jobs_[j].second)) return;
      }
    } catch (...) {
      stop_ = true;
      throw;
    }
  }

  bool play_one(Stage& stage, std::size_t p, std::size_t e) {
    const StressPoint& point = points_[p];
    if (stage.point != &point) stage.env = make(point.config);
    if (stage.policy != point.policy) stage.loaded.reset();
    stage.point = &point;
    stage.policy = point.policy;
    const Act act = actor_of(*point.policy, starts_[e].seed, stage.loaded);
    const auto episode = play(*stage.env, act, starts_[e], work_.stop ? *work_.stop : stop_);
    if (!episode) return false;
    if (!std::isfinite(episode->total_reward)) {
      throw Error(fmt::format("{}: the return of the episode with seed {} is not finite ({})",
                              point.policy->run.string(), starts_[e].seed, point.settings));
    }
    const std::lock_guard lock(mutex_);
    played_[p].resize(starts_.size());
    played_[p][e] = *episode;
    --left_[p];
    write_complete_points();
    if (++done_ % 8 == 0 || done_ == jobs_.size())
      if (work_.progress) work_.progress(total_ - jobs_.size() + done_, total_);
    return true;
  }

  // In the order of the points, so that the file does not depend on the number of threads.
  void write_complete_points() {
    for (; written_ < points_.size() && left_[written_] == 0; ++written_) {
      const auto found = played_.find(written_);
      if (found == played_.end()) continue;
      file_.add(points_[written_], starts_, found->second);
      played_.erase(found);
    }
  }

  std::unique_ptr<Env> make(const Config& config) {
    std::unique_lock lock(making_, std::defer_lock);
    if (!find_task(config.task).makes_side_by_side) lock.lock();
    return make_environment(config);
  }

  const std::vector<StressPoint>& points_;
  const std::vector<EpisodeStart>& starts_;
  EpisodeFile& file_;
  const StressWork& work_;
  std::vector<std::pair<std::size_t, std::size_t>> jobs_;  // point and episode
  std::size_t total_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};  // a thread failed
  std::mutex making_;

  std::mutex mutex_;               // guards the members below
  std::vector<std::size_t> left_;  // episodes of each point
  std::map<std::size_t, std::vector<PlayedEpisode>> played_;
  std::size_t written_ = 0, done_ = 0;
};

}  // namespace

CsvReader episode_lines(const std::string& text, const fs::path& file) {
  CsvReader in(text, file.string());
  if (fmt::format("{}", fmt::join(in.header(), ",")) != kHeader)
    throw InputError(fmt::format("{}: its first line must be {}", file.string(), kHeader));
  return in;
}

EpisodeFile::EpisodeFile(fs::path path) : path_(std::move(path)) {
  if (is_there(path_)) contents_ = read_file(path_);
  contents_.resize(contents_.rfind('\n') + 1);  // a line that was cut off does not count
  if (contents_.empty()) contents_ = std::string(kHeader) + "\n";
  CsvReader in = episode_lines(contents_, path_);
  while (in.next()) {
    const auto seed = in.number<std::uint64_t>(6);
    const auto total_reward = in.number<double>(7);
    const auto length = in.number<int>(8), success = in.number<int>(9);
    if (!seed || !total_reward || !std::isfinite(*total_reward) || !length || !success)
      in.refuse("not an episode");
    episodes_[{in.field(0), in.field(4), *seed}] = {*total_reward, *length, *success != 0};
  }
}

const PlayedEpisode* EpisodeFile::find(const StressPoint& point, std::uint64_t seed) const {
  const auto found = episodes_.find({point.policy->id, point.settings, seed});
  return found == episodes_.end() ? nullptr : &found->second;
}

void EpisodeFile::add(const StressPoint& point, const std::vector<EpisodeStart>& starts,
                      const std::vector<PlayedEpisode>& episodes) {
  std::string lines;
  for (std::size_t e = 0; e < starts.size(); ++e) {
    if (find(point, starts[e].seed) != nullptr) continue;
    const PlayedEpisode& episode = episodes[e];
    episodes_[{point.policy->id, point.settings, starts[e].seed}] = episode;
    lines += csv_line(point.policy->id, point.policy->run.string(), point.disturbance,
                      point.severity, point.settings, e, starts[e].seed, episode.total_reward,
                      episode.length, episode.success ? 1 : 0);
  }
  if (!out_) out_.emplace(path_, contents_);
  out_->append(lines);
}

std::vector<EpisodeStart> episode_starts(std::uint64_t seed, int episodes) {
  Random stream(seed, Stream::evaluation_seeds);
  std::vector<EpisodeStart> out;
  for (int e = 0; e < episodes; ++e) {
    const Random before = stream;
    out.push_back({before, next_episode_seed(stream)});
  }
  return out;
}

bool play_episodes(const std::vector<StressPoint>& points, const std::vector<EpisodeStart>& starts,
                   EpisodeFile& file, const StressWork& work) {
  return Player(points, starts, file, work).run();
}

EpisodeRecording record_episode(const StressPoint& point, const EpisodeStart& start) {
  RecordingEnv env(point.config, {});
  std::shared_ptr<Policy> loaded;
  play(env, actor_of(*point.policy, start.seed, loaded), start, kNever);
  EpisodeRecording recording = env.take();
  recording.source = point.policy->file.filename().string();
  return recording;
}

}  // namespace ovde
