// Plays the episodes of a stress test on all cores and stores those of a point when all are
// played, so that the same test continues where it was interrupted. An episode depends on its
// policy, environment and seed alone, not on the number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ovde/random.h>
#include "base/file_system.h"
#include "config/config.h"
#include "io/files.h"
#include "study/analyse/csv.h"
#include "train/episode_recording.h"

namespace ovde {

// The `run` of random actions in episodes.csv.
inline constexpr const char* kRandomRun = "random actions";

struct StressPolicy {
  fs::path run;    // its folder, or kRandomRun
  fs::path file;   // empty: random actions
  std::string id;  // checksum of the policy and of its undisturbed environment
};

// One policy in one environment.
struct StressPoint {
  std::shared_ptr<const StressPolicy> policy;
  std::string disturbance;  // empty: none
  double severity = 0;
  std::string settings;  // those of the disturbance, as text
  Config config;
};

struct PlayedEpisode {
  double total_reward = 0;
  int length = 0;
  bool success = false;
};

// An episode: the stream that draws its seed next, and that seed.
struct EpisodeStart {
  Random stream;
  std::uint64_t seed;
};

// The episodes of `ovde eval --seed`.
std::vector<EpisodeStart> episode_starts(std::uint64_t seed, int episodes);

// The lines of an episodes.csv: policy, run, disturbance, severity, settings, episode, seed,
// return, length, success. InputError if it is not one.
CsvReader episode_lines(const std::string& text, const fs::path& file);

// episodes.csv. Episodes are found by policy, settings and seed.
class EpisodeFile {
 public:
  // Reads the file if there is one; InputError if it is not one of these. Does not write.
  explicit EpisodeFile(fs::path path);

  const PlayedEpisode* find(const StressPoint& point, std::uint64_t seed) const;
  // Writes the episodes of a point that are not in the file.
  void add(const StressPoint& point, const std::vector<EpisodeStart>& starts,
           const std::vector<PlayedEpisode>& episodes);

 private:
  using Key = std::tuple<std::string, std::string, std::uint64_t>;
  fs::path path_;
  std::string contents_;
  std::map<Key, PlayedEpisode> episodes_;
  std::optional<GrowingFile> out_;
};

struct StressWork {
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::size_t done, std::size_t of)> progress = {};  // in episodes
};

// Plays the episodes that the file does not have. False: stopped before the end.
bool play_episodes(const std::vector<StressPoint>& points, const std::vector<EpisodeStart>& starts,
                   EpisodeFile& file, const StressWork& work);

// Plays one episode again and records it.
EpisodeRecording record_episode(const StressPoint& point, const EpisodeStart& start);

}  // namespace ovde
