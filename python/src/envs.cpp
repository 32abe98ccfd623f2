#include "envs.h"

#include <algorithm>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <ovde/error.h>
#include "base/clock.h"
#include "base/text.h"
#include "bindings.h"
#include "config/build.h"
#include "config/config_keys.h"
#include "env/noise.h"
#include "env/registry.h"
#include "env/wrappers.h"
#include "python_env.h"
#include "run/run_folder.h"
#include "run/run_status.h"
#include "train/evaluation.h"

namespace ovde::python {

namespace py = pybind11;

namespace {

constexpr int kPadding = 64;  // elements between the results of two threads, against false sharing
constexpr int kChunks = 8;    // chunks of a thread's share, which other threads may take

void check_action(const Env& env, const Numbers& action, py::ssize_t count) {
  const py::ssize_t expected = count * env.action_space().size();
  if (action.size() != expected) {
    throw InputError(
        fmt::format("an action has {}; must be {}", plural(action.size(), "number"), expected));
  }
}

NoiseOptions noise_of(const py::dict& settings) {
  Config config;
  for (const Setting& setting : to_settings(settings))
    check_setting(setting, config_tables()).set(config, setting.value);
  return config.noise;
}

}  // namespace

Config task_config(const std::string& task, const py::dict& settings) {
  // the algorithm is not used
  std::vector<Setting> all = {{"run.task", task, "task"}, {"run.algorithm", "sac", "algorithm"}};
  for (Setting& setting : to_settings(settings)) all.push_back(std::move(setting));
  return resolve_config(all);
}

Config config_of_run(const std::string& path) {
  Config config = read_config(policy_of_run(path).run);
  if (config.task.starts_with(kPythonTask))
    throw InputError(fmt::format(
        "{} is a Python environment: give it, as in evaluate(run, env_factory)", config.task));
  return config;
}

std::uint64_t EpisodeSeeds::first(std::uint64_t seed) {
  seed_ = seed;
  stream_ = Random(seed, Stream::episode_seeds);
  return seed;
}

std::uint64_t EpisodeSeeds::next() { return next_episode_seed(stream_); }

void EpisodeSeeds::archive(Archive& archive) {
  archive(seed_);
  if (archive.restores()) first(seed_);
  archive(stream_);
}

OneEnv::OneEnv(std::unique_ptr<Env> env, bool has_goal, int horizon)
    : env_(std::move(env)), has_goal_(has_goal), horizon_(horizon) {}

py::array_t<double> OneEnv::reset(std::optional<std::uint64_t> seed) {
  py::array_t<double> observation(env_->observation_size());
  env_->reset(seed ? seeds_.first(*seed) : seeds_.next(), view(observation));
  return observation;
}

py::tuple OneEnv::step(const Numbers& action) {
  check_action(*env_, action, 1);
  py::array_t<double> observation(env_->observation_size());
  const Step step = env_->step(view(action), view(observation));
  return py::make_tuple(observation, step.reward, step.terminated, step.truncated, step.success);
}

std::optional<py::bytes> OneEnv::save() const {
  const auto saved = saved_state(*env_);
  if (!saved) return std::nullopt;
  const Bytes bytes = save_members(seeds_, *saved);
  return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void OneEnv::restore(const std::string& bytes) {
  Bytes saved;
  restore_members(std::as_bytes(std::span(bytes)), seeds_, saved);
  if (!restore_state(*env_, saved)) throw Error("this environment cannot restore its state");
}

ManyEnvs::ManyEnvs(const Config& config, int count, int threads, bool copies)
    : places_(count),
      has_goal_(find_task(config.task).has_goal),
      copies_(copies),
      chooses_(threads <= 0),
      all_true_(count),
      shares_(std::clamp(chooses_ ? static_cast<int>(std::thread::hardware_concurrency()) : threads,
                         1, count)),
      team_(static_cast<int>(shares_.size())) {
  for (Place& place : places_) place.env = make_task(config);
  rows_ = make_rows();
  std::ranges::fill(view(rows_.observations), 0.0);
  std::fill_n(all_true_.mutable_data(), count, true);
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const auto bound = [&](std::size_t n) { return static_cast<int>(n * count / shares_.size()); };
    shares_[i].first = bound(i);
    shares_[i].last = bound(i + 1);
    shares_[i].ends.resize(shares_[i].last - shares_[i].first + kPadding);
  }
}

ManyEnvs::Rows ManyEnvs::make_rows() const {
  return {.observations = py::array_t<double>({size(), env().observation_size()}),
          .rewards = py::array_t<double>(size()),
          .terminated = py::array_t<bool>(size()),
          .truncated = py::array_t<bool>(size()),
          .success = py::array_t<bool>(size())};
}

// The calling thread has the first share; every worker thread always has the same one.
int ManyEnvs::own_share() const {
  static std::atomic<unsigned> workers{0};
  static thread_local const unsigned number = workers++;
  if (std::this_thread::get_id() == caller_) return 0;
  return 1 + static_cast<int>(number % (shares_.size() - 1));
}

template <typename Work>
void ManyEnvs::side_by_side(Work work) {
  caller_ = std::this_thread::get_id();
  busy_ = true;
  struct Free {
    bool& busy;
    ~Free() { busy = false; }
  } const free{busy_};  // after the interpreter's lock is taken again
  const py::gil_scoped_release released;

  if (is_alone()) {
    for (Share& share : shares_) work(share, share.first, share.last);
    return;
  }
  for (Share& share : shares_) share.next = share.first;
  const auto count = static_cast<int>(shares_.size());
  team_.run(count, [&](int) {
    const int own = count == 1 ? 0 : own_share();
    for (int i = 0; i < count; ++i) {
      Share& share = shares_[(own + i) % count];
      const int chunk = count == 1 ? size() : std::max(1, (share.last - share.first) / kChunks);
      for (int first; (first = share.next.fetch_add(chunk)) < share.last;)
        work(share, first, std::min(first + chunk, share.last));
    }
  });
}

// While the environments step, the interpreter's lock is released, and another thread may call.
void ManyEnvs::check_free() const {
  if (busy_) throw Error("another thread is stepping these environments");
}

py::array_t<double> ManyEnvs::reset(const std::vector<std::uint64_t>& seeds,
                                    const py::array_t<bool, py::array::c_style>& mask) {
  check_free();
  if (copies_) {
    Rows rows = make_rows();
    std::ranges::copy(view(rows_.observations), rows.observations.mutable_data());
    rows_ = std::move(rows);
  }
  const auto width = static_cast<std::size_t>(env().observation_size());
  double* const observations = rows_.observations.mutable_data();
  const bool* const wanted = mask.data();
  side_by_side([&](Share&, int first, int last) {
    for (int i = first; i < last; ++i) {
      if (!wanted[i]) continue;
      Place& place = places_[i];
      const std::uint64_t seed = seeds.empty() ? place.seeds.next() : place.seeds.first(seeds[i]);
      place.env->reset(seed, {observations + i * width, width});
      place.ended = false;
    }
  });
  return rows_.observations;
}

py::tuple ManyEnvs::step(const Numbers& actions) {
  check_free();
  check_action(env(), actions, size());
  if (copies_) rows_ = make_rows();
  const auto width = static_cast<std::size_t>(env().observation_size());
  const auto actions_width = static_cast<std::size_t>(env().action_space().size());
  const double* const action = actions.data();
  double* const observation = rows_.observations.mutable_data();
  double* const reward = rows_.rewards.mutable_data();
  const auto began = Clock::now();
  side_by_side([&](Share& share, int first, int last) {
    for (int i = first; i < last; ++i) {
      Place& place = places_[i];
      const std::span<double> row(observation + i * width, width);
      Step step;
      if (place.ended) {
        place.env->reset(place.seeds.next(), row);
      } else {
        step = place.env->step({action + i * actions_width, actions_width}, row);
      }
      place.ended = step.terminated || step.truncated;
      reward[i] = step.reward;
      share.ends[i - share.first] = {step.terminated, step.truncated, step.success};
    }
  });
  if (tries_ < kTries) {
    ++tries_;
    shortest_ = std::min(shortest_, seconds_since(began));
  }
  bool* const ended = rows_.terminated.mutable_data();
  bool* const cut = rows_.truncated.mutable_data();
  bool* const reached = rows_.success.mutable_data();
  for (const Share& share : shares_) {
    for (int i = share.first; i < share.last; ++i) {
      const Ends& ends = share.ends[i - share.first];
      ended[i] = ends.terminated;
      cut[i] = ends.truncated;
      reached[i] = ends.success;
    }
  }
  py::dict info;
  if (has_goal_) {
    info[success_key_] = rows_.success;
    info[success_mask_key_] = all_true_;
  }
  return py::make_tuple(rows_.observations, rows_.rewards, rows_.terminated, rows_.truncated,
                        std::move(info));
}

namespace {

template <typename Class>
void bind_spaces(Class& binding) {
  using Bound = typename Class::type;
  binding
      .def_property_readonly("observation_size",
                             [](const Bound& self) { return self.env().observation_size(); })
      .def_property_readonly(
          "action_low", [](const Bound& self) { return to_array(self.env().action_space().low); })
      .def_property_readonly(
          "action_high", [](const Bound& self) { return to_array(self.env().action_space().high); })
      .def_property_readonly("has_goal", &Bound::has_goal);
}

}  // namespace

void bind_envs(py::module_& module) {
  py::class_<OneEnv> one(module, "OneEnv");
  bind_spaces(one);
  const auto make_one = [](const Config& config) {
    return std::make_unique<OneEnv>(make_task(config), find_task(config.task).has_goal,
                                    config.horizon);
  };
  one.def(py::init([=](const std::string& task, const py::dict& settings) {
            return make_one(task_config(task, settings));
          }),
          "task"_a, "settings"_a)
      .def_static(
          "of_run", [=](const std::string& path) { return make_one(config_of_run(path)); },
          "path"_a)
      .def_static(
          "with_noise",
          [](py::object adapter, const py::dict& settings) {
            auto env =
                with_noise(std::make_unique<PythonEnv>(std::move(adapter)), noise_of(settings));
            return std::make_unique<OneEnv>(std::move(env), false, 0);
          },
          "adapter"_a, "settings"_a)
      .def_property_readonly("horizon", &OneEnv::horizon)
      .def("reset", &OneEnv::reset, "seed"_a = py::none())
      .def("step", &OneEnv::step, "action"_a)
      .def("save", &OneEnv::save)
      .def("restore", &OneEnv::restore, "state"_a);

  py::class_<ManyEnvs> many(module, "ManyEnvs");
  bind_spaces(many);
  many.def(py::init([](const std::string& task, const py::dict& settings, int count, int threads,
                       bool copies) {
             if (count < 1)
               throw InputError(fmt::format("{} environments: must be at least 1", count));
             return std::make_unique<ManyEnvs>(task_config(task, settings), count, threads, copies);
           }),
           "task"_a, "settings"_a, "count"_a, "threads"_a, "copies"_a)
      .def_property_readonly("threads", &ManyEnvs::threads)
      .def("reset", &ManyEnvs::reset, "seeds"_a, "mask"_a.noconvert())
      .def("step", &ManyEnvs::step, "actions"_a);
}

}  // namespace ovde::python
