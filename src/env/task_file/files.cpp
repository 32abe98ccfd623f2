// The task files that are in use, and the files that each consists of.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "env/registry.h"
#include "env/task_file/task_file.h"
#include "io/files.h"
#include "io/sha256.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

constexpr const char* kDigest = "sha256";  // the task's option that says which file it is
constexpr std::size_t kLargestModelFile = std::size_t{1} << 28;

// Elements of an MJCF file and their attributes, without comments.
class Elements {
 public:
  explicit Elements(const std::string& text) : text_(text) {}

  // Goes to the next element; false at the end.
  bool next() {
    while ((at_ = text_.find('<', at_)) != std::string::npos) {
      if (text_.compare(at_, 4, "<!--") == 0) {
        at_ = text_.find("-->", at_);
        if (at_ == std::string::npos) return false;
        continue;
      }
      const std::size_t end = text_.find('>', at_);
      if (end == std::string::npos) return false;
      element_ = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end;
      return true;
    }
    return false;
  }

  std::string name() const { return element_.substr(0, element_.find_first_of(" \t\r\n/")); }

  // The value of the attribute; empty if it has none.
  std::string attribute(const std::string& name) const {
    for (std::size_t i = element_.find(name); i != std::string::npos;
         i = element_.find(name, i + 1)) {
      const bool begins =
          i > 0 && std::string(" \t\r\n").find(element_[i - 1]) != std::string::npos;
      std::size_t at = element_.find_first_not_of(" \t\r\n", i + name.size());
      if (!begins || at == std::string::npos || element_[at] != '=') continue;
      at = element_.find_first_of("\"'", at);
      if (at == std::string::npos) return "";
      return element_.substr(at + 1, element_.find(element_[at], at + 1) - at - 1);
    }
    return "";
  }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
  std::string element_;
};

// The files that a model consists of: the includes, meshes, height fields, skins and textures.
class ModelFiles {
 public:
  explicit ModelFiles(const fs::path& model) : model_(model), folder_(model.parent_path()) {
    add(model);
    for (const auto& [element, file] : assets_) {
      const bool texture = element == "texture";
      const std::string own = texture ? textures_ : meshes_;
      const fs::path name = strips_paths_ ? file.substr(file.find_last_of("/\\") + 1) : file;
      const fs::path path = (own.empty() ? all_ : own) / name;
      if (path.is_absolute() || !fs::is_regular_file(folder_ / path)) outside_ = path;
      if (fs::is_regular_file(folder_ / path)) files_.insert((folder_ / path).lexically_normal());
    }
  }
  const std::set<fs::path>& files() const { return files_; }

  // InputError if a copy of the files would not be the same model.
  void check_copy() const {
    if (!outside_.empty())
      throw InputError(fmt::format(
          "{}: runs keep a copy of the model: the path of {} must be relative to the model's",
          model_.string(), outside_.string()));
  }

 private:
  void add(const fs::path& path) {
    if (!fs::is_regular_file(path) || !files_.insert(path.lexically_normal()).second) return;
    const std::string text = read_file(path, kLargestModelFile);
    Elements elements(text);
    while (elements.next()) {
      const std::string name = elements.name();
      if (name == "compiler") {
        keep(meshes_, elements.attribute("meshdir"));
        keep(textures_, elements.attribute("texturedir"));
        keep(all_, elements.attribute("assetdir"));
        if (const std::string strips = elements.attribute("strippath"); !strips.empty())
          strips_paths_ = strips == "true";
      }
      for (const char* key :
           {"file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback"}) {
        const std::string file = elements.attribute(key);
        if (file.empty()) continue;
        if (name == "include") {
          if (fs::path(file).is_absolute()) outside_ = file;
          add(folder_ / file);
        } else {
          assets_.emplace_back(name, file);
        }
      }
    }
  }
  static void keep(std::string& to, const std::string& value) {
    if (!value.empty()) to = value;
  }

  fs::path model_, folder_;
  std::string meshes_, textures_, all_;
  bool strips_paths_ = false;
  fs::path outside_;  // a file that a copy would not find
  std::vector<std::pair<std::string, std::string>> assets_;
  std::set<fs::path> files_;
};

// A task file with the contents of all its files, whose names are relative to their common folder.
struct Loaded {
  std::shared_ptr<const TaskFile> task;
  std::vector<std::pair<fs::path, std::string>> files;
  std::string digest;  // SHA-256 of the files
};

std::vector<std::pair<fs::path, std::string>> contents(const fs::path& task,
                                                       const ModelFiles& model) {
  std::set<fs::path> paths = model.files();
  paths.insert(task.lexically_normal());
  std::set<fs::path> absolute;
  for (const fs::path& path : paths) absolute.insert(fs::absolute(path).lexically_normal());
  fs::path common = absolute.begin()->parent_path();
  for (const fs::path& path : absolute) {
    const auto [end, other] = std::mismatch(common.begin(), common.end(), path.begin(), path.end());
    fs::path shared;
    for (auto part = common.begin(); part != end; ++part) shared /= *part;
    common = shared;
  }
  std::vector<std::pair<fs::path, std::string>> all;
  for (const fs::path& path : absolute)
    all.emplace_back(path.lexically_relative(common), read_file(path, kLargestModelFile));
  return all;
}

std::string digest_of(const std::vector<std::pair<fs::path, std::string>>& files) {
  std::string text;
  for (const auto& [name, content] : files)
    text += fmt::format("{} {}\n{}", name.generic_string(), content.size(), content);
  return sha256(std::as_bytes(std::span(text)));
}

// Plays one step: numbers that are not finite at once are an error of the file.
void try_out(const TaskFile& file, const MujocoTask& task) {
  const auto env = make_mujoco_env(task);
  std::vector<double> observation(env->observation_size()), action;
  const Box& box = env->action_space();
  for (int i = 0; i < box.size(); ++i) action.push_back(std::clamp(0.0, box.low[i], box.high[i]));
  const auto check = [&] {
    std::size_t first = 0;
    for (const TaskFile::Term& term : file.observed) {
      for (int i = 0; i < term.value.size; ++i) {
        if (!std::isfinite(observation[first + i]))
          throw InputError(fmt::format("{}: the observation is {} (in {})", term.where,
                                       observation[first + i], term.name));
      }
      first += term.value.size;
    }
  };
  try {
    env->reset(0, observation);
    check();
    env->step(action, observation);
    check();
  } catch (const InputError&) {
    throw;
  } catch (const Error& error) {
    throw InputError(error.what());
  }
}

class Store {
 public:
  const Task& find(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = tasks_.find(id);
    return found == tasks_.end() ? add(id, load(id, false)) : found->second.back();
  }

  // The file for a new run: read again if it has changed since.
  const Task& newest(const std::string& id) {
    const std::lock_guard lock(mutex_);
    if (const auto found = tasks_.find(id); found != tasks_.end()) {
      const std::string digest = OptionValues(found->second.back().options).text(kDigest);
      // the model is compiled only if a file has changed
      const ModelFiles model(files_.at(digest)->task->model_path);
      if (digest_of(contents(id, model)) == digest) return found->second.back();
    }
    return add(id, load(id, true));
  }

  // Null if no task with this digest was loaded.
  std::shared_ptr<const Loaded> get(const std::string& digest) {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(digest);
    return found == files_.end() ? nullptr : found->second;
  }

  void use_copy(const std::string& id, const std::string& digest, const fs::path& copy) {
    const std::lock_guard lock(mutex_);
    const auto known = files_.find(digest);
    const bool is_named = tasks_.contains(id);
    if (known != files_.end() && is_named) return;
    Loaded loaded = known == files_.end() ? load(copy, false) : *known->second;
    if (loaded.digest != digest) return;
    if (is_named) {
      keep(std::move(loaded));
    } else {
      add(id, std::move(loaded));
    }
  }

  static Loaded load(const std::string& path, bool is_new) {
    Loaded loaded;
    loaded.task = read_task_file(path, is_new);
    const ModelFiles model(loaded.task->model_path);
    if (is_new) model.check_copy();
    loaded.files = contents(path, model);
    loaded.digest = digest_of(loaded.files);
    return loaded;
  }

 private:
  // Tasks that were found before stay, since others refer to them.
  const Task& add(const std::string& id, Loaded loaded) {
    if (const auto found = tasks_.find(id); found != tasks_.end()) {
      const Task& newest = found->second.back();
      if (OptionValues(newest.options).text(kDigest) == loaded.digest) return newest;
    }
    const MujocoTask mujoco = mujoco_task(loaded.task);
    try_out(*loaded.task, mujoco);
    Task task;
    task.name = id;
    task.summary = mujoco.summary;
    task.horizon = mujoco.horizon;
    task.steps_per_epoch = 1000;
    task.has_goal = loaded.task->success.has_value();
    task.makes_side_by_side = true;
    Option option;
    option.name = kDigest;
    option.default_value = loaded.digest;
    option.help = "SHA-256 of the task file and its model";
    task.options = {option};
    task.make = [this, id](const OptionValues& options) {
      const auto loaded = get(options.text(kDigest));
      if (!loaded)
        throw InputError(fmt::format("{} has changed: it is not the file of SHA-256 {}", id,
                                     options.text(kDigest)));
      return make_mujoco_env(mujoco_task(loaded->task));
    };
    keep(std::move(loaded));
    return tasks_[id].emplace_back(std::move(task));
  }

  void keep(Loaded loaded) {
    const std::string digest = loaded.digest;
    files_.insert_or_assign(digest, std::make_shared<const Loaded>(std::move(loaded)));
  }

  std::mutex mutex_;
  std::map<std::string, std::list<Task>> tasks_;  // by path; the last one is the newest
  std::map<std::string, std::shared_ptr<const Loaded>> files_;  // by digest
};

Store& store() {
  static Store all;
  return all;
}

}  // namespace

const Task& find_task_file(const std::string& id) { return store().find(id); }
void refresh_task_file(const std::string& id) { store().newest(id); }

std::shared_ptr<const TaskFile> new_task_file(const std::string& path) {
  return store().get(OptionValues(store().newest(path).options).text(kDigest))->task;
}

std::optional<MujocoTask> mujoco_task_of_file(const Task& task) {
  const auto loaded = store().get(OptionValues(task.options).text(kDigest));
  return loaded ? std::optional(mujoco_task(loaded->task)) : std::nullopt;
}

void save_task_copy(const std::string& id, const OptionValues& options, const fs::path& folder) {
  if (!is_task_file(id)) return;
  const auto loaded = store().get(options.text(kDigest));
  if (!loaded) return;
  for (const auto& [name, content] : loaded->files) {
    make_folder((folder / name).parent_path());
    write_file_atomically(folder / name, content);
  }
}

void use_task_copy(const std::string& id, const std::string& sha256, const fs::path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != ".toml") continue;
    try {
      store().use_copy(id, sha256, at->path());
    } catch (const InputError&) {  // it was damaged: the run has no task then
    }
    return;
  }
}

namespace {

// False where the file cannot be read, too.
bool has_content(const fs::path& path, const std::string& content) {
  try {
    return read_file(path, kLargestModelFile) == content;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

std::string task_file_changes(const std::string& id, const OptionValues& options) {
  std::error_code error;
  if (!is_task_file(id) || !fs::exists(id, error)) return "";
  const auto run = store().get(options.text(kDigest));
  if (!run) return "";
  const auto is_task = [](const auto& file) { return file.first.extension() == ".toml"; };
  const auto task = std::ranges::find_if(run->files, is_task);
  std::vector<std::string> changes;
  for (const auto& [name, content] : run->files) {
    const fs::path from_task = name.lexically_relative(task->first.parent_path());
    const fs::path path = (fs::path(id).parent_path() / from_task).lexically_normal();
    if (!fs::is_regular_file(path, error)) {
      changes.push_back(fmt::format("{} is missing", path.string()));
    } else if (!has_content(path, content)) {
      changes.push_back(fmt::format("{} has changed since the run began", path.string()));
    }
  }
  return fmt::format("{}", fmt::join(changes, "; "));
}

}  // namespace ovde
