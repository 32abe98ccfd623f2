#include "study/plan/plan.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "agent/algorithm.h"
#include "config/unread_keys.h"
#include "io/files.h"

namespace ovde {

namespace {

constexpr std::size_t kLargestFile = 1 << 20;

// Another program's runs have their epochs laid out as those of the plainest algorithm.
const std::string& algorithm_of(const PlanColumn& column) {
  static const std::string plainest = "sac";
  return column.imported ? plainest : column.algorithm;
}

bool available(const PlanColumn& column) {
  return !column.optional || std::ranges::any_of(algorithms(), [&](const Algorithm& a) {
    return a.name == column.algorithm;
  });
}

// Which overrides concern a cell, without asking each of them: a plan may have one for every cell.
class OverrideIndex {
 public:
  explicit OverrideIndex(const std::vector<Override>& overrides) : overrides_(overrides) {
    for (std::size_t i = 0; i < overrides.size(); ++i) {
      for (const std::string& row : overrides[i].rows) by_row_[row].push_back(i);
      if (overrides[i].rows.empty()) of_all_rows_.push_back(i);
    }
  }

  // In the order of the plan.
  template <typename Visit>
  void visit(const std::string& row, const std::string& column, const Visit& visit) const {
    std::vector<std::size_t> found = of_all_rows_;
    if (const auto own = by_row_.find(row); own != by_row_.end())
      found.insert(found.end(), own->second.begin(), own->second.end());
    std::ranges::sort(found);
    for (const std::size_t i : found) {
      const auto& columns = overrides_[i].columns;
      if (columns.empty() || std::ranges::find(columns, column) != columns.end())
        visit(overrides_[i]);
    }
  }

 private:
  const std::vector<Override>& overrides_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_row_;
  std::vector<std::size_t> of_all_rows_;
};

void append(std::vector<Setting>& to, const std::vector<Setting>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Of what is set for many cells, what the cell's algorithm has anything to do with. What none of
// the study's has stays, to be refused.
void append_concerning(std::vector<Setting>& to, const std::vector<Setting>& from, const Plan& plan,
                       const PlanColumn& column) {
  for (const Setting& setting : from) {
    const auto is_read = [&](const PlanColumn& by) {
      return available(by) && concerns(find_algorithm(algorithm_of(by)), setting.key);
    };
    if (is_read(column) || std::ranges::none_of(plan.columns, is_read)) to.push_back(setting);
  }
}

Cell make_cell(const Plan& plan, const PlanRow& row, const PlanColumn& column,
               const OverrideIndex& overrides) {
  Cell cell;
  cell.row = row.name;
  cell.column = column.name;
  cell.task = row.task;
  cell.algorithm = column.algorithm;
  cell.imported = column.imported;
  cell.epochs = row.epochs.value_or(plan.epochs);
  cell.seeds = row.seeds.empty() ? plan.seeds : row.seeds;

  cell.settings = {{"run.task", row.task, row.where},
                   {"run.algorithm", algorithm_of(column), column.where}};
  if (plan.maps && !plan.maps->epochs.empty())
    cell.settings.push_back({"record.networks", plan.maps->epochs, plan.maps->where});
  append_concerning(cell.settings, plan.settings, plan, column);
  append_concerning(cell.settings, row.settings, plan, column);
  append(cell.settings, column.settings);
  overrides.visit(row.name, column.name, [&](const Override& own) {
    if (own.epochs) cell.epochs = *own.epochs;
    if (!own.seeds.empty()) cell.seeds = own.seeds;
    append(cell.settings, own.settings);
  });
  cell.settings.push_back({"train.epochs", static_cast<double>(cell.epochs), row.where});
  cell.folder = folder_name(row.name) + "/" + folder_name(column.name);
  return cell;
}

// What the runs of a cell depend on, as text: its seeds, and of each key the value that wins.
std::string runs_of(const Cell& cell) {
  std::map<std::string, const OptionValue*> effective;
  for (const Setting& setting : cell.settings) effective[setting.key] = &setting.value;
  std::string out = fmt::format("{}\n", fmt::join(cell.seeds, " "));
  if (cell.imported) out += cell.folder + "\n";  // what is in it is known to nobody here
  for (const auto& [key, value] : effective) out += key + " = " + to_string(*value) + "\n";
  return out;
}

}  // namespace

// Letters, digits and "._-" stay; everything else becomes one dash: "OVDE(m)" -> "OVDE-m".
std::string folder_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
    if (plain) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  const bool says_nothing = out.find_first_not_of(".-") == std::string::npos;
  return says_nothing ? "" : out;
}

std::vector<Cell> expand(const Plan& plan) {
  const OverrideIndex overrides(plan.overrides);
  std::vector<Cell> cells;
  std::unordered_map<std::string, std::string> folder_of;  // what is run, and where
  std::unordered_set<std::string> folders;
  for (const PlanRow& row : plan.rows) {
    for (const PlanColumn& column : plan.columns) {
      if (!available(column)) continue;
      Cell cell = make_cell(plan, row, column, overrides);
      const auto [twin, is_new] = folder_of.try_emplace(runs_of(cell), cell.folder);
      if (!is_new) {
        cell.folder = twin->second;
      } else if (!folders.insert(cell.folder).second) {
        throw InputError(
            fmt::format("{}: row '{}' and column '{}' would share the folder {} with others; "
                        "names must differ in letters or digits",
                        row.where, row.name, column.name, cell.folder));
      }
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

bool is_about_runtimes(const Plan& plan) {
  return plan.measures == std::vector<std::string>{"runtime"};
}

const PublishedNumber* find_published(const Plan& plan, const std::string& measure,
                                      const std::string& row, const std::string& column) {
  const auto found = std::ranges::find_if(plan.published, [&](const Published& p) {
    return p.measure == measure && p.row == row && p.column == column;
  });
  return found == plan.published.end() ? nullptr : &found->figure;
}

Plan read_plan(const std::filesystem::path& file) {
  return parse_plan(read_file(file, kLargestFile), file.string());
}

}  // namespace ovde
