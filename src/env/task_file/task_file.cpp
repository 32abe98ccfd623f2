#include "env/task_file/task_file.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/text.h"
#include "env/mujoco/model.h"
#include "env/task_file/quantities.h"
#include "io/files.h"
#include "io/toml.h"

namespace ovde {

namespace {

constexpr std::size_t kLargestTaskFile = 1 << 20;
constexpr double kLargestNumber = 1e12;  // the message says so too
constexpr double kMostSteps = 100'000;   // the engine's steps in one action, at most

// The text with a space for each line break and other control character.
std::string one_line(std::string text) {
  std::ranges::replace_if(text, is_control, ' ');
  return text;
}

bool has_twice(std::vector<int> numbers) {
  std::ranges::sort(numbers);
  return std::ranges::adjacent_find(numbers) != numbers.end();
}

// Whether a formula can read this name.
bool is_word(const std::string& name) {
  const auto in_word = [](unsigned char c) { return c < 128 && (std::isalnum(c) || c == '_'); };
  return !name.empty() && std::ranges::all_of(name, in_word) && !std::isdigit(name[0]) &&
         name != "and" && name != "or" && name != "not";
}

class TaskFileReader {
 public:
  TaskFileReader(const std::string& path, bool is_new)
      : in_(path),
        top_(parse_toml_table(read_file(path, kLargestTaskFile), path)),
        is_new_(is_new) {
    task_.name = path;
  }

  TaskFile read() {
    in_.check_keys(top_, "a task file",
                   {"model", "summary", "horizon", "constants", "control", "reset", "command",
                    "observation", "reward", "end", "success", "spread"});
    task_.summary = in_.text(top_, "summary").value_or("task of " + task_.name);
    if (!is_one_line(task_.summary)) refuse_new(*top_.get("summary"), "summary must be one line");
    task_.horizon = static_cast<int>(in_.integer(top_, "horizon", 1, 10'000'000).value_or(1000));
    read_model();
    const DataPointer data = make_data(*task_.loaded_model);
    FormulaCompiler compiler(*task_.loaded_model, *data);
    formulas_ = &compiler;
    read_control();
    read_constants();
    read_commands();
    read_reset();
    read_observation();
    read_reward();
    read_ends();
    read_spread();
    file_.cells = compiler.cells();
    file_.snapshots = compiler.snapshots();
    file_.before = std::move(compiler.snapshot_program());
    file_.unused_sensors = compiler.unused_sensors();
    task_.reads_sensors = compiler.reads_sensors();
    return std::move(file_);
  }

 private:
  const mjModel& model() const { return *task_.loaded_model; }

  // Refuses the file of a new run. The same file in a run of an earlier version is accepted.
  void refuse_new(const toml::node& node, const std::string& why) const {
    if (is_new_) in_.refuse(node, why);
  }

  // Calls `function`; gives its errors file and line of the node.
  template <typename Function>
  auto at(const toml::node& node, Function function) const {
    try {
      return function();
    } catch (const InputError& error) {
      in_.refuse(node, error.what());
    }
  }

  void read_model() {
    const std::string name = in_.required_text(top_, "a task file", "model");
    const toml::node& node = *top_.get("model");
    if (std::filesystem::path(name).is_absolute())
      refuse_new(node, "runs keep a copy of the model: its path must be relative to this file");
    file_.model_path = (std::filesystem::path(task_.name).parent_path() / name).string();
    check_model_exists();
    try {
      task_.loaded_model = load_model(file_.model_path);
    } catch (const Error& error) {
      in_.refuse(node, error.what());
    }
    if (const double step = model().opt.timestep; !(step > 0))
      in_.refuse(node, fmt::format("the model's timestep is {} s; must be above 0", step));
  }

  void check_model_exists() const {
    namespace fs = std::filesystem;
    const fs::path path = file_.model_path;
    std::error_code error;
    if (fs::is_regular_file(path, error)) return;
    std::vector<std::string> there;
    const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      if (at->path().extension() == ".xml") there.push_back(at->path().filename());
    }
    std::ranges::sort(there);
    if (fs::is_directory(path, error)) {
      in_.refuse(
          *top_.get("model"),
          fmt::format("the model '{}' is a folder; must be a file{}", *in_.text(top_, "model"),
                      there.empty() ? "" : ", such as " + there.front()));
    }
    at(*top_.get("model"),
       [&] { refuse_name("model file", path.filename(), there, folder.string()); });
  }

  double number(const toml::node& node, const std::string& what) const {
    if (!node.is_number() || !(std::abs(number_of(node)) <= kLargestNumber))
      in_.refuse(node, what + " must be a number from -1e12 to 1e12");
    return number_of(node);
  }

  std::vector<double> list(const toml::node& node, const std::string& what,
                           std::size_t size) const {
    std::vector<double> all;
    if (const auto* array = node.as_array())
      for (const toml::node& element : *array) all.push_back(number(element, what));
    if (all.size() != size)
      in_.refuse(node, fmt::format("{} must be a list of {} numbers", what, size));
    return all;
  }

  // One number for all, or a list with one for each.
  std::vector<double> one_or_each(const toml::node& node, const std::string& what,
                                  std::size_t size) const {
    if (node.is_number()) return std::vector<double>(size, number(node, what));
    return list(node, what, size);
  }

  int named(const toml::node& node, int type, const std::string& kind) {
    const auto name = text_of(node);
    if (!name) in_.refuse(node, fmt::format("must be the name of one {}, a string", kind));
    return at(node, [&] { return number_in(model(), type, kind, *name); });
  }

  void read_control() {
    const auto* control = in_.table(top_, "control");
    const toml::table empty;
    if (control == nullptr) control = &empty;
    in_.check_keys(*control, "control", {"frame_skip", "rate", "actuators", "centre", "scale"});
    task_.frame_skip =
        static_cast<int>(in_.integer(*control, "frame_skip", 1, kMostSteps).value_or(1));
    const double step = model().opt.timestep;
    if (const toml::node* rate = control->get("rate")) {
      if (control->contains("frame_skip"))
        in_.refuse(*rate, "rate and frame_skip exclude each other");
      if (number(*rate, "rate") <= 0)
        in_.refuse(*rate, "rate is the number of actions per second; must be above 0");
      const double steps = 1 / (number(*rate, "rate") * step);
      task_.frame_skip = static_cast<int>(std::lround(std::clamp(steps, 1.0, kMostSteps)));
      const double low = std::clamp(std::floor(steps), 1.0, kMostSteps - 1);
      if (std::abs(steps - task_.frame_skip) > 1e-6 * steps)
        in_.refuse(*rate, fmt::format("an action must last a whole number of the model's steps of "
                                      "{} s: rate may be {:.8g} or {:.8g}",
                                      step, 1 / (low * step), 1 / ((low + 1) * step)));
    }
    read_actuators(*control);

    const std::size_t count = file_.actuators.size();
    task_.actions.emplace();
    file_.centre.assign(count, 0);
    file_.scale.assign(count, 1);
    const toml::node* const scale = control->get("scale");
    if (scale != nullptr) file_.scale = one_or_each(*scale, "scale", count);
    if (std::ranges::count(file_.scale, 0) > 0)
      refuse_new(*scale, "scale must not be 0: the action would do nothing");
    if (const toml::node* centre = control->get("centre")) {
      if (scale == nullptr) in_.refuse(*centre, "centre needs scale, the size of an action of 1");
      if (text_of(*centre)) {
        const int key = named(*centre, mjOBJ_KEY, "keyframe");
        for (std::size_t i = 0; i < count; ++i)
          file_.centre[i] = model().key_ctrl[key * model().nu + file_.actuators[i]];
      } else {
        file_.centre = one_or_each(*centre, "centre", count);
      }
    }
    const std::vector<Signal> signals = control_signals(model());
    for (std::size_t i = 0; i < count; ++i) {
      const int actuator = file_.actuators[i];
      Signal signal = signals[actuator];
      const bool limited = model().actuator_ctrllimited[actuator];
      if (scale == nullptr && !limited)
        in_.refuse(top_, fmt::format("actuator '{}' has no ctrlrange: give it one in the model, or "
                                     "give control.scale",
                                     signal.name));
      const double* const range = model().actuator_ctrlrange + 2 * actuator;
      task_.actions->low.push_back(scale == nullptr ? range[0] : -1);
      task_.actions->high.push_back(scale == nullptr ? range[1] : 1);
      if (scale != nullptr) {
        signal.unit =
            fmt::format("{:g} x {}", file_.scale[i], signal.unit.empty() ? "control" : signal.unit);
        if (file_.centre[i] != 0) signal.unit += fmt::format(" around {:g}", file_.centre[i]);
        if (limited && leaves(range, file_.centre[i], file_.scale[i])) {
          signal.unit += fmt::format(", clipped to {:g} to {:g}", range[0], range[1]);
          file_.clipped.push_back(actuator);
        }
      }
      check_signal(top_, signal, "actuator");
      task_.controls.push_back(signal);
    }
    file_.action = formulas_->reserve(static_cast<int>(count));
    Value action = file_.action;
    for (const Signal& signal : task_.controls)
      action.signals.push_back({signal.name + "_applied_action", signal.unit});
    formulas_->define("action", action);
    formulas_->define("dt", formulas_->constant(task_.frame_skip * step));
  }

  // Whether centre + scale * action is beyond the range for some action in [-1, 1].
  bool leaves(const double* range, double centre, double scale) const {
    const double slack = 1e-9 * (range[1] - range[0]);
    return !(model().opt.disableflags & mjDSBL_CLAMPCTRL) &&
           (centre - std::abs(scale) < range[0] - slack ||
            centre + std::abs(scale) > range[1] + slack);
  }

  void read_actuators(const toml::table& control) {
    if (const toml::node* names = control.get("actuators")) {
      if (!names->is_array()) in_.refuse(*names, "actuators must be a list of names");
      for (const toml::node& name : *names->as_array())
        file_.actuators.push_back(named(name, mjOBJ_ACTUATOR, "actuator"));
      if (has_twice(file_.actuators)) in_.refuse(*names, "an actuator is named twice");
      if (file_.actuators.empty()) in_.refuse(*names, "actuators must name one at least");
    } else {
      for (int i = 0; i < model().nu; ++i) file_.actuators.push_back(i);
    }
    if (file_.actuators.empty())
      in_.refuse(*top_.get("model"), "the model has no actuators to control");
  }

  void read_constants() {
    const auto* constants = in_.table(top_, "constants");
    if (constants == nullptr) return;
    const std::vector<std::string> taken = formulas_->names();
    for (const auto& [name, node] : *constants) {
      check_word(node, text_of(name));
      if (std::ranges::find(taken, text_of(name)) != taken.end())
        in_.refuse(node, fmt::format("formulas have a {} of their own", text_of(name)));
      formulas_->define(text_of(name), formulas_->constant(number(node, text_of(name))));
    }
  }

  void check_word(const toml::node& node, const std::string& name) const {
    if (!is_word(name))
      refuse_new(node, fmt::format("formulas cannot read '{}': a name has letters, digits and _, "
                                   "no digit first, and is not and, or, not",
                                   one_line(name)));
  }

  void read_commands() {
    const auto* commands = in_.table(top_, "command");
    if (commands == nullptr) return;
    for (const auto& [key, node] : *commands) {
      TaskFile::Command command{.name = text_of(key)};
      check_word(node, command.name);
      const toml::node* range = &node;
      std::string unit;
      if (const auto* table = node.as_table()) {
        in_.check_keys(*table, "a command", {"range", "unit", "every"});
        range = table->get("range");
        if (range == nullptr) in_.refuse(node, command.name + " needs range, such as [0, 1]");
        unit = in_.text(*table, "unit").value_or("");
        if (const toml::node* every = table->get("every")) {
          const double steps = number(*every, "every") / seconds_per_action();
          if (steps < 1 || steps > 1e9)
            in_.refuse(*every, "every must be at least one action's time");
          command.every = static_cast<int>(std::lround(steps));
          if (std::abs(steps - command.every) > 1e-6 * steps)
            refuse_new(*every,
                       fmt::format("every must be a whole number of actions, which last {:g} s",
                                   seconds_per_action()));
        }
      }
      const auto* array = range->as_array();
      const bool several = array != nullptr && !array->empty() && array->front().is_array();
      const auto add = [&](const toml::node& pair) {
        const std::vector<double> bounds = list(pair, "the range of " + command.name, 2);
        if (bounds[0] > bounds[1]) in_.refuse(pair, "a range must be in ascending order");
        command.low.push_back(bounds[0]);
        command.high.push_back(bounds[1]);
      };
      if (several) {
        for (const toml::node& pair : *array) add(pair);
      } else {
        add(*range);
      }
      command.cells = formulas_->reserve(static_cast<int>(command.low.size()));
      Value value = command.cells;
      value.signals = numbered("command_" + command.name, value.size, unit);
      formulas_->define("command." + command.name, value);
      file_.commands.push_back(std::move(command));
    }
  }

  static std::vector<Signal> numbered(const std::string& name, int size, const std::string& unit) {
    std::vector<Signal> all;
    for (int i = 0; i < size; ++i)
      all.push_back({size == 1 ? name : fmt::format("{}_{}", name, i), unit});
    return all;
  }

  double seconds_per_action() const { return task_.frame_skip * model().opt.timestep; }

  void read_reset() {
    const mjModel& m = model();
    file_.start_positions.assign(m.qpos0, m.qpos0 + m.nq);
    file_.start_velocities.assign(m.nv, 0);
    const auto* reset = in_.table(top_, "reset");
    if (reset == nullptr) return;
    in_.check_keys(*reset, "reset", {"keyframe", "pose", "draw"});
    if (const toml::node* key = reset->get("keyframe")) {
      const int number = named(*key, mjOBJ_KEY, "keyframe");
      std::copy_n(m.key_qpos + number * m.nq, m.nq, file_.start_positions.begin());
      std::copy_n(m.key_qvel + number * m.nv, m.nv, file_.start_velocities.begin());
    }
    if (const auto* pose = in_.table(*reset, "pose")) {
      for (const auto& [key, node] : *pose) {
        const std::string joint = text_of(key);
        const auto where =
            coordinates(at(node, [&] { return number_in(m, mjOBJ_JOINT, "joint", joint); }), false);
        if (node.is_number() && where.size() > 1)
          refuse_new(node, fmt::format("{} must be a list of {} numbers", joint, where.size()));
        const std::vector<double> values = one_or_each(node, joint, where.size());
        for (std::size_t i = 0; i < where.size(); ++i) file_.start_positions[where[i]] = values[i];
      }
    }
    const toml::node* const draw = reset->get("draw");
    if (draw == nullptr) return;
    if (!draw->is_array()) in_.refuse(*draw, "draw must be a list of tables");
    for (const toml::node& node : *draw->as_array())
      read_draw(in_.as_table(node, "an entry of draw"));
  }

  void read_draw(const toml::table& table) {
    in_.check_keys(table, "an entry of draw",
                   {"positions", "velocities", "uniform", "normal", "range", "disc"});
    TaskFile::Draw draw;
    draw.velocities = table.contains("velocities");
    const toml::node* const joints = table.get(draw.velocities ? "velocities" : "positions");
    if (joints == nullptr || (draw.velocities && table.contains("positions")))
      in_.refuse(table,
                 "an entry of draw needs positions or velocities: \"all\" or names of joints");
    if (text_of(*joints) == "all") {
      const int count = static_cast<int>(draw.velocities ? model().nv : model().nq);
      for (int i = 0; i < count; ++i) draw.coordinates.push_back(i);
    } else if (const auto* names = joints->as_array()) {
      for (const toml::node& name : *names) {
        const auto own = coordinates(named(name, mjOBJ_JOINT, "joint"), draw.velocities);
        draw.coordinates.insert(draw.coordinates.end(), own.begin(), own.end());
      }
    } else {
      in_.refuse(*joints, "must be \"all\" or a list of names of joints");
    }
    if (draw.coordinates.empty()) refuse_new(*joints, "must name one joint at least");
    if (has_twice(draw.coordinates)) refuse_new(*joints, "a joint is named twice");

    using Kind = TaskFile::Draw::Kind;
    constexpr std::pair<const char*, Kind> kinds[] = {{"uniform", Kind::uniform},
                                                      {"normal", Kind::normal},
                                                      {"range", Kind::range},
                                                      {"disc", Kind::disc}};
    int given = 0;
    for (const auto& [name, kind] : kinds) {
      const toml::node* const node = table.get(name);
      if (node == nullptr) continue;
      ++given;
      draw.kind = kind;
      if (kind == Kind::range) {
        const std::vector<double> bounds = list(*node, "range", 2);
        draw.low = bounds[0];
        draw.high = bounds[1];
      } else {
        draw.high = number(*node, name);
        draw.low = kind == Kind::uniform || kind == Kind::disc ? -draw.high : 0;
      }
      if (draw.low > draw.high)
        in_.refuse(*node, kind == Kind::range ? "range must be in ascending order"
                                              : fmt::format("{} must not be negative", name));
    }
    if (given != 1)
      in_.refuse(table, "an entry of draw needs exactly one of uniform, normal, range, disc");
    if (draw.kind == Kind::disc && (draw.coordinates.size() != 2 || draw.high <= 0))
      in_.refuse(table, "disc needs two joints with one coordinate each, and a positive radius");
    file_.draws.push_back(std::move(draw));
  }

  std::vector<int> coordinates(int joint, bool velocities) const {
    const auto [q, nq, v, nv] = coordinates_of(model(), joint);
    std::vector<int> all(velocities ? nv : nq);
    std::iota(all.begin(), all.end(), velocities ? v : q);
    return all;
  }

  // The elements of a list that must be there.
  const toml::array& entries(const char* key) const {
    const toml::node* const node = top_.get(key);
    if (node == nullptr) in_.refuse(top_, fmt::format("a task file needs {}", key));
    const auto* array = node->as_array();
    if (array == nullptr || array->empty())
      in_.refuse(*node, fmt::format("{} must be a list that is not empty", key));
    return *array;
  }

  // The formula of a node: a string or a number.
  Value formula(const toml::node& node, Program& program) {
    if (node.is_number()) return formulas_->constant(number(node, "a formula"));
    const auto text = text_of(node);
    if (!text) in_.refuse(node, "a formula must be a string or a number");
    return at(node, [&] { return formulas_->compile(*text, program); });
  }

  void read_observation() {
    std::vector<Value> values;
    for (const toml::node& node : entries("observation")) {
      const auto* table = node.as_table();
      const toml::node* value = &node;
      if (table != nullptr) {
        in_.check_keys(*table, "an observation", {"name", "value", "unit"});
        value = table->get("value");
        if (value == nullptr) in_.refuse(node, "an observation needs value, a formula");
      }
      TaskFile::Term term{
          .name = "", .where = in_.where(node), .value = formula(*value, file_.observe)};
      term.name = text_of(*value).value_or("a number");
      if (table != nullptr) name_signals(*table, term.value);
      if (term.value.signals.empty())
        in_.refuse(node,
                   fmt::format("give this observation a name: {{ name = \"...\", value = '{}' }}",
                               term.name));
      for (const Signal& signal : term.value.signals) {
        check_signal(node, signal, "observation");
        if (std::ranges::find(task_.observed, signal.name, &Signal::name) != task_.observed.end() ||
            std::ranges::count(term.value.signals, signal.name, &Signal::name) > 1)
          refuse_new(node, fmt::format("observation '{}' is there twice: give each a name of its "
                                       "own, {{ name = \"...\", value = '{}' }}",
                                       signal.name, term.name));
      }
      task_.observed.insert(task_.observed.end(), term.value.signals.begin(),
                            term.value.signals.end());
      file_.observed.push_back(std::move(term));
    }
    task_.observation_size = static_cast<int>(task_.observed.size());
    file_.observation = formulas_->reserve(task_.observation_size);
    int to = file_.observation.at;
    for (const TaskFile::Term& term : file_.observed) {
      FormulaCompiler::copy(term.value, to, file_.observe);
      to += term.value.size;
    }
  }

  void check_signal(const toml::node& node, const Signal& signal, const char* what) const {
    if (signal.name.empty() || !is_one_line(signal.name + signal.unit))
      refuse_new(node, fmt::format("the name and unit of {} '{}' must be text of one line", what,
                                   one_line(signal.name)));
  }

  // name = "x", or one name for each element; unit = "m".
  void name_signals(const toml::table& table, Value& value) {
    const std::string unit = in_.text(table, "unit").value_or("");
    if (const toml::node* name = table.get("name")) {
      if (const auto* names = name->as_array()) {
        value.signals.clear();
        for (const toml::node& each : *names)
          value.signals.push_back({text_of(each).value_or(""), unit});
        if (static_cast<int>(value.signals.size()) != value.size)
          in_.refuse(*name, fmt::format("{} names for {} numbers", names->size(), value.size));
        return;
      }
      value.signals = numbered(in_.text(table, "name").value_or(""), value.size, unit);
    } else if (table.contains("unit")) {
      for (Signal& signal : value.signals) signal.unit = unit;
    }
  }

  void read_reward() {
    for (const toml::node& node : entries("reward")) {
      const toml::table& table = in_.as_table(node, "an entry of reward");
      in_.check_keys(table, "an entry of reward", {"name", "value", "weight"});
      const toml::node* const value = table.get("value");
      if (value == nullptr) in_.refuse(node, "an entry of reward needs value, a formula");
      TaskFile::Term term{.name = in_.required_text(table, "an entry of reward", "name"),
                          .where = in_.where(node),
                          .value = formula(*value, file_.rewards)};
      if (term.name.empty() || !std::ranges::all_of(term.name, [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
          }))
        in_.refuse(*table.get("name"),
                   "the name of a reward must have the characters a-z, 0-9 and _");
      if (std::ranges::find(file_.reward, term.name, &TaskFile::Term::name) != file_.reward.end())
        in_.refuse(node, fmt::format("reward '{}' is given twice", term.name));
      weigh(table, term);
      file_.reward.push_back(std::move(term));
    }
  }

  void weigh(const toml::table& table, TaskFile::Term& term) {
    const toml::node* const weight = table.get("weight");
    if (weight != nullptr && weight->is_array()) {
      if (static_cast<int>(weight->as_array()->size()) != term.value.size)
        in_.refuse(*weight, fmt::format("reward '{}': {} weights for a value of size {}", term.name,
                                        weight->as_array()->size(), term.value.size));
      const auto weights = list(*weight, "weight", static_cast<std::size_t>(term.value.size));
      term.value = formulas_->dot(formulas_->constants(weights), term.value, file_.rewards);
      return;
    }
    if (term.value.size != 1)
      in_.refuse(table, fmt::format("reward '{}' has {} numbers: take their sum or norm, or give a "
                                    "list of {} weights",
                                    term.name, term.value.size, term.value.size));
    if (weight == nullptr) return;
    term.value =
        formulas_->dot(formulas_->constant(number(*weight, "weight")), term.value, file_.rewards);
  }

  void read_ends() {
    if (const toml::node* list = top_.get("end")) {
      if (!list->is_array()) in_.refuse(*list, "end must be a list of conditions");
      for (const toml::node& node : *list->as_array()) {
        const toml::node* when = &node;
        std::optional<std::string> name;
        if (const auto* table = node.as_table()) {
          in_.check_keys(*table, "an entry of end", {"name", "when"});
          when = table->get("when");
          if (when == nullptr) in_.refuse(node, "an entry of end needs when, a condition");
          name = in_.text(*table, "name");
        }
        TaskFile::Term end = condition(*when, name);
        if (std::ranges::find(file_.end, end.name, &TaskFile::Term::name) != file_.end.end())
          refuse_new(node, fmt::format("end '{}' is there twice", end.name));
        file_.end.push_back(std::move(end));
      }
    }
    if (const toml::node* success = top_.get("success"))
      file_.success = condition(*success, "success");
  }

  TaskFile::Term condition(const toml::node& node, const std::optional<std::string>& name) {
    TaskFile::Term term{.name = name.value_or(one_line(text_of(node).value_or("a number"))),
                        .where = in_.where(node),
                        .value = formula(node, file_.ends)};
    if (term.value.size != 1)
      in_.refuse(node, fmt::format("a condition must be one number, not {}: use all() or any()",
                                   term.value.size));
    if (term.name.empty() || !is_one_line(term.name))
      refuse_new(node,
                 fmt::format("the name of end '{}' must be text of one line", one_line(term.name)));
    if (term.value.number)
      refuse_new(node, fmt::format("'{}' is {} in every step; a condition must depend on the state",
                                   term.name, *term.value.number));
    return term;
  }

  void read_spread() {
    const auto* spread = in_.table(top_, "spread");
    if (spread == nullptr) return;
    in_.check_keys(*spread, "spread", {"positions", "velocities"});
    const auto read = [&](const char* key) {
      const toml::node* const node = spread->get(key);
      if (node == nullptr) in_.refuse(*spread, fmt::format("spread needs {}", key));
      const auto all = list(*node, key, static_cast<std::size_t>(model().nv));
      if (std::ranges::any_of(all, [](double x) { return x < 0; }))
        refuse_new(*node, fmt::format("{} must not be negative", key));
      return all;
    };
    task_.position_spread = read("positions");
    task_.velocity_spread = read("velocities");
  }

  TomlReader in_;
  toml::table top_;
  bool is_new_;
  FormulaCompiler* formulas_ = nullptr;
  TaskFile file_;
  MujocoTask& task_ = file_.task;
};

}  // namespace

std::shared_ptr<const TaskFile> read_task_file(const std::string& path, bool is_new) {
  return std::make_shared<const TaskFile>(TaskFileReader(path, is_new).read());
}

}  // namespace ovde
