// Reads a plan's TOML file, whose keys docs/plans.md describes.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/algorithm.h"
#include "base/text.h"
#include "config/config.h"
#include "env/registry.h"
#include "io/toml.h"
#include "study/plan/plan.h"

namespace ovde {

namespace {

constexpr std::int64_t kMostEpochs = 10'000'000;  // as train.epochs
constexpr std::int64_t kMostSteps = 1'000'000'000'000'000;

const Words kMeasures = {"score", "frg", "runtime"};
const Words kPaperMeasures = {"score", "frg", "runtime", "p_value"};
const Words kShows = {"table", "curves", "bars", "profile", "sweep", "maps", "example"};

// Names in a study's folder that no row may have; some are those of earlier versions.
const Words kStudyFiles = {"lock",    "locks", "record.toml", "report.html",   "tables",
                           "figures", "slurm", "claims",      "processor.txt", "smoke.txt"};

// A number as printed with a bound: "1250+", "<0.001".
std::optional<PublishedNumber> bounded_figure(const std::string& printed) {
  if (printed.size() < 2) return std::nullopt;
  const bool at_least = printed.back() == '+';
  if (!at_least && printed.front() != '<') return std::nullopt;
  const std::string digits = at_least ? printed.substr(0, printed.size() - 1) : printed.substr(1);
  const auto value = parse_number<double>(digits);
  if (!value) return std::nullopt;
  return PublishedNumber{
      *value, std::nullopt,
      at_least ? PublishedNumber::Bound::at_least : PublishedNumber::Bound::below};
}

bool are_whole(const std::vector<double>& numbers, std::int64_t most) {
  return std::ranges::all_of(numbers, [&](double x) {
    return x >= 0 && x <= static_cast<double>(most) && x == std::floor(x);
  });
}

class PlanFile {
 public:
  explicit PlanFile(const std::string& file_name) : in_(file_name) {}

  Plan read(const toml::table& root) {
    in_.check_keys(
        root, "a study",
        {"title", "text", "measures", "show", "x", "relative_to", "epochs", "steps", "seeds",
         "config", "set", "row", "column", "cell", "group", "paper", "example", "maps", "slurm"});
    plan_.name = fs::path(in_.file_name()).stem().string();
    plan_.title = in_.text(root, "title").value_or(plan_.name);
    plan_.text = in_.text(root, "text").value_or("");
    plan_.measures = in_.words(root, "measures", "measure", kMeasures);
    if (plan_.measures.empty()) plan_.measures = {"score"};
    plan_.show = in_.words(root, "show", "way to show results", kShows);
    plan_.length = length(root);
    plan_.seeds = in_.seeds(root, "seeds");
    plan_.settings = configuration(root);
    for (Setting& own : settings(root)) plan_.settings.push_back(std::move(own));

    // rows and columns first: the others refer to them by name
    in_.for_each(root, "row", [&](const toml::table& entry) { read_row(entry); });
    in_.for_each(root, "column", [&](const toml::table& entry) { read_column(entry); });
    row_names_ = rows_and_groups_ = names_of(plan_.rows);
    column_names_ = names_of(plan_.columns);
    in_.for_each(root, "group", [&](const toml::table& entry) { read_group(entry); });
    in_.for_each(root, "cell", [&](const toml::table& entry) { read_override(entry); });
    in_.for_each(root, "example", [&](const toml::table& entry) { read_example(entry); });
    if (const toml::table* paper = in_.table(root, "paper")) read_paper(*paper);
    if (const toml::table* maps = in_.table(root, "maps")) read_maps(*maps);
    if (const auto x = in_.text(root, "x")) {
      in_.check_word(*root.get("x"), *x, "x", {"epochs", "steps"});
      plan_.x = *x;
    }
    if (const toml::table* slurm = in_.table(root, "slurm")) read_slurm(*slurm);
    if (const auto column = in_.text(root, "relative_to")) {
      in_.check_word(*root.get("relative_to"), *column, "column", column_names_);
      plan_.relative_to = *column;
    }
    check_grid(root);
    return std::move(plan_);
  }

 private:
  void read_row(const toml::table& entry) {
    in_.check_keys(entry, "a row", {"name", "task", "epochs", "steps", "seeds", "set", "vary"});
    PlanRow row;
    row.task = in_.required_text(entry, "a row", "task");
    std::string name = row.task;
    if (is_task_file(row.task)) {  // relative to the plan
      name = fs::path(row.task).stem();
      const auto folder = fs::path(in_.file_name()).parent_path();
      row.task = (folder / row.task).lexically_normal();
    }
    row.name = in_.text(entry, "name").value_or(name);
    row.length = length(entry);
    row.seeds = in_.seeds(entry, "seeds");
    row.settings = settings(entry);
    row.where = in_.where(entry);
    add_varied(entry, "row", row, plan_.rows, taken_rows_);
  }

  void read_column(const toml::table& entry) {
    if (const toml::node* node = entry.get("optional"))
      in_.refuse(*node,
                 "optional columns are gone: remove a column whose algorithm does not exist");
    in_.check_keys(entry, "a column", {"name", "algorithm", "role", "imported", "set", "vary"});
    PlanColumn column;
    column.imported = in_.flag(entry, "imported");
    if (column.imported) {
      column.name = in_.required_text(entry, "an imported column", "name");
      column.algorithm = in_.text(entry, "algorithm").value_or(column.name);
      for (const char* key : {"set", "vary"}) {
        if (const toml::node* node = entry.get(key))
          in_.refuse(
              *node,
              fmt::format("an imported column has no {}: its runs are another program's", key));
      }
    } else {
      column.algorithm = in_.required_text(entry, "a column", "algorithm");
      column.name = in_.text(entry, "name").value_or(column.algorithm);
      in_.check_word(*entry.get("algorithm"), column.algorithm, "algorithm",
                     names_of(algorithms()));
    }
    if (const auto role = in_.text(entry, "role")) {
      in_.check_word(*entry.get("role"), *role, "role", {"baseline", "ours"});
      column.role = *role == "ours" ? Role::ours : Role::baseline;
    }
    column.settings = settings(entry);
    column.where = in_.where(entry);
    add_varied(entry, "column", column, plan_.columns, taken_columns_);
  }

  void read_override(const toml::table& entry) {
    in_.check_keys(entry, "a cell", {"row", "column", "epochs", "steps", "seeds", "set"});
    Override own{in_.words(entry, "row", "row", row_names_),
                 in_.words(entry, "column", "column", column_names_), length(entry),
                 in_.seeds(entry, "seeds"), settings(entry)};
    if (own.rows.empty() && own.columns.empty())
      in_.refuse(entry, "a cell needs a row, a column or both");
    plan_.overrides.push_back(std::move(own));
  }

  void read_group(const toml::table& entry) {
    in_.check_keys(entry, "a group", {"name", "rows"});
    Group group{in_.required_text(entry, "a group", "name"),
                in_.words(entry, "rows", "row", row_names_)};
    if (group.rows.empty()) in_.refuse(entry, "a group needs rows");
    if (!taken_rows_.insert(group.name).second) refuse_second(entry, "row or group", group.name);
    rows_and_groups_.push_back(group.name);
    plan_.groups.push_back(std::move(group));
  }

  void read_example(const toml::table& entry) {
    in_.check_keys(entry, "an example", {"panel", "action", "mean", "epistemic", "aleatoric"});
    const auto number = [&](const char* key) {
      return in_.required_number(entry, "an example", key);
    };
    ExampleAction action{in_.required_text(entry, "an example", "panel"),
                         in_.required_text(entry, "an example", "action"), number("mean"),
                         number("epistemic"), number("aleatoric")};
    if (action.epistemic < 0 || action.aleatoric <= 0) {
      in_.refuse(entry, "epistemic must be at least 0 and aleatoric above 0");
    }
    plan_.example.push_back(std::move(action));
  }

  void read_maps(const toml::table& entry) {
    in_.check_keys(entry, "maps", {"steps", "epochs", "state", "shared_scale"});
    Maps maps{in_.numbers(entry, "steps"), in_.numbers(entry, "epochs"),
              in_.numbers(entry, "state"), in_.flag(entry, "shared_scale")};
    const bool all_steps = entry.get("steps") == nullptr;
    if (!all_steps && (maps.steps.size() != 2 || !are_whole(maps.steps, kMostSteps) ||
                       maps.steps[0] >= maps.steps[1])) {
      in_.refuse(entry, "maps needs steps = [first, last], whole numbers from 0");
    }
    if (!are_whole(maps.epochs, kMostEpochs))
      in_.refuse(entry, "maps takes epochs as whole numbers from 0");
    if (!maps.state.empty() && maps.state.size() != 2)
      in_.refuse(entry, "maps takes state = [x, y]");
    maps.where = in_.where(entry);
    plan_.maps = std::move(maps);
  }

  void read_slurm(const toml::table& entry) {
    for (const auto& [key, node] : entry) {
      std::vector<std::string> values;
      const auto add = [&](const toml::node& each) {
        const auto text = text_of(each);
        if (!text && !each.is_integer()) in_.refuse(each, "slurm takes texts and whole numbers");
        values.push_back(text ? *text : fmt::format("{}", number_of(each)));
      };
      if (const auto* list = node.as_array()) {
        for (const toml::node& each : *list) add(each);
      } else {
        add(node);
      }
      try {
        set_slurm_option(plan_.slurm, text_of(key), values);
      } catch (const InputError& error) {
        in_.refuse(node, error.what());
      }
    }
  }

  // [paper.<measure>]: a table of columns for each row
  void read_paper(const toml::table& paper) {
    Words keys = {"source", "runs", "note"};
    keys.insert(keys.end(), kPaperMeasures.begin(), kPaperMeasures.end());
    in_.check_keys(paper, "paper", keys);
    plan_.paper = in_.required_text(paper, "paper", "source");
    plan_.paper_note = in_.text(paper, "note").value_or("");
    plan_.paper_runs = static_cast<int>(in_.integer(paper, "runs", 1, 1'000'000).value_or(0));

    for (const std::string& measure : kPaperMeasures) {
      const toml::table* rows = in_.table(paper, measure);
      if (rows == nullptr) continue;
      for (const auto& [row_key, row_node] : *rows) {
        const std::string row = text_of(row_key);
        in_.check_word(row_node, row, "row or group", rows_and_groups_);
        for (const auto& [column_key, node] : in_.as_table(row_node, row)) {
          const std::string column = text_of(column_key);
          in_.check_word(node, column, "column", column_names_);
          plan_.published.push_back({measure, row, column, figure(node)});
        }
      }
    }
  }

  PublishedNumber figure(const toml::node& node) const {
    if (node.is_number()) return {number_of(node), std::nullopt, PublishedNumber::Bound::none};
    if (const auto* pair = node.as_array(); pair != nullptr && pair->size() == 2) {
      const toml::node &value = (*pair)[0], &deviation = (*pair)[1];
      if (value.is_number() && deviation.is_number())
        return {number_of(value), number_of(deviation), PublishedNumber::Bound::none};
    }
    if (const auto printed = text_of(node)) {
      if (const auto bounded = bounded_figure(*printed)) return *bounded;
    }
    in_.refuse(node, "a figure is a number, [mean, deviation], \"1250+\" or \"<0.001\"");
  }

  // A plan needs no grid if it has an example to show.
  void check_grid(const toml::table& root) const {
    if (plan_.rows.empty() && plan_.columns.empty() && !plan_.example.empty()) return;
    if (plan_.rows.empty()) in_.refuse(root, "the study has no [[row]]");
    if (plan_.columns.empty()) in_.refuse(root, "the study has no [[column]]");
    for (const PlanRow& row : plan_.rows) {
      const auto lacks = [&](const char* key) {
        throw InputError(fmt::format("{}: row '{}' has no {}, and neither has the study", row.where,
                                     row.name, key));
      };
      if (!plan_.length && !row.length) lacks("epochs");
      if (plan_.seeds.empty() && row.seeds.empty()) lacks("seeds");
    }
  }

  // `vary = { table.key = [v1, v2] }` stands for one row or column for each value, named after it.
  template <typename Axis>
  void add_varied(const toml::table& entry, const char* what, const Axis& axis,
                  std::vector<Axis>& to, std::unordered_set<std::string>& taken) const {
    const auto add = [&](Axis each) {
      check_name(entry, what, each.name);
      if (!taken.insert(each.name).second) refuse_second(entry, what, each.name);
      to.push_back(std::move(each));
      const std::size_t cells = std::max(std::size_t{1}, plan_.rows.size()) * plan_.columns.size();
      if (std::max(cells, plan_.rows.size()) > kMostCells)
        in_.refuse(entry, fmt::format("the study has more than {} cells", kMostCells));
    };
    const toml::table* vary = in_.table(entry, "vary");
    if (vary == nullptr) return add(axis);

    const auto leaves = in_.leaves(*vary);
    const auto* values = leaves.size() == 1 ? leaves[0].second->as_array() : nullptr;
    if (values == nullptr || values->empty())
      in_.refuse(*vary, "vary takes one key and a list of its values");
    const std::string& key = leaves[0].first;
    for (const toml::node& node : *values) {
      const OptionValue value = in_.option_value(node, key);
      Axis each = axis;
      each.name += " " + to_string(value);
      each.settings.push_back({key, value, in_.where(node)});
      each.swept = Swept{key, value};
      add(std::move(each));
    }
  }

  // The settings of the file that `config` names, without task, algorithm, seed and epochs.
  std::vector<Setting> configuration(const toml::table& root) const {
    const auto file = in_.text(root, "config");
    if (!file) return {};
    try {
      auto out = read_settings(fs::path(in_.file_name()).parent_path() / *file);
      std::erase_if(out,
                    [](const Setting& entry) { return entry.is_table || is_the_plans(entry.key); });
      return out;
    } catch (const InputError& error) {
      in_.refuse(*root.get("config"), error.what());
    }
  }

  static bool is_the_plans(const std::string& key) {
    return key.starts_with("run.") || key == "train.epochs";
  }

  std::vector<Setting> settings(const toml::table& entry) const {
    std::vector<Setting> out;
    const toml::table* set = in_.table(entry, "set");
    if (set == nullptr) return out;
    for (const auto& [key, node] : in_.leaves(*set)) {
      if (is_the_plans(key)) {
        in_.refuse(*node, key + " does not go into set: use task, algorithm, seeds and epochs");
      }
      out.push_back({key, in_.option_value(*node, key), in_.where(*node)});
    }
    return out;
  }

  std::optional<Length> length(const toml::table& entry) const {
    const auto epochs = in_.integer(entry, "epochs", 1, kMostEpochs);
    const auto steps = in_.integer(entry, "steps", 1, kMostSteps);
    if (epochs && steps) in_.refuse(*entry.get("steps"), "epochs and steps exclude each other");
    if (epochs) return Length::epochs(static_cast<int>(*epochs));
    if (steps) return Length{Length::Unit::environment_steps, static_cast<double>(*steps)};
    return std::nullopt;
  }

  // The name of a row or column is also that of its folder.
  void check_name(const toml::table& entry, const std::string& what,
                  const std::string& name) const {
    constexpr std::size_t kLongest = 200;
    const std::string folder = folder_name(name);
    if (folder.empty() || name.size() > kLongest || !is_one_line(name)) {
      in_.refuse(entry, fmt::format("the name '{}' of a {} must have an ASCII letter or digit, no "
                                    "tab or new line, and at most {} characters",
                                    name, what, kLongest));
    }
    if (what == "row" && std::ranges::find(kStudyFiles, folder) != kStudyFiles.end()) {
      in_.refuse(entry, fmt::format("a row cannot be named '{}': the study's folder has {} of its "
                                    "own",
                                    name, folder));
    }
  }

  [[noreturn]] void refuse_second(const toml::table& entry, const char* what,
                                  const std::string& name) const {
    in_.refuse(entry, fmt::format("a second {} named '{}'", what, name));
  }

  TomlReader in_;
  Plan plan_;
  std::unordered_set<std::string> taken_rows_, taken_columns_;
  Words row_names_, rows_and_groups_, column_names_;
};

}  // namespace

Plan parse_plan(const std::string& text, const std::string& file_name) {
  const toml::table top = parse_toml_table(text, file_name);
  refuse_task_file(top, file_name);
  return PlanFile(file_name).read(top);
}

}  // namespace ovde
