#include "study/plan/plan.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/algorithm.h"
#include "io/files.h"

namespace ovde {

namespace {

constexpr std::size_t kLargestFile = 1 << 20;

bool available(const PlanColumn& column) {
  return !column.optional || std::ranges::any_of(algorithms(), [&](const Algorithm& a) {
    return a.name == column.algorithm;
  });
}

bool names(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::ranges::find(list, name) != list.end();
}

void append(std::vector<Setting>& to, const std::vector<Setting>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

Cell make_cell(const Plan& plan, const PlanRow& row, const PlanColumn& column) {
  Cell cell;
  cell.row = row.name;
  cell.column = column.name;
  cell.task = row.task;
  cell.algorithm = column.algorithm;
  cell.epochs = row.epochs.value_or(plan.epochs);
  cell.seeds = row.seeds.empty() ? plan.seeds : row.seeds;

  cell.settings = {{"run.task", row.task, row.where},
                   {"run.algorithm", column.algorithm, column.where}};
  if (plan.maps && !plan.maps->epochs.empty())
    cell.settings.push_back({"record.networks", plan.maps->epochs, plan.maps->where});
  append(cell.settings, plan.settings);
  append(cell.settings, row.settings);
  append(cell.settings, column.settings);
  for (const Override& own : plan.overrides) {
    if (!names(own.rows, row.name) || !names(own.columns, column.name)) continue;
    if (own.epochs) cell.epochs = *own.epochs;
    if (!own.seeds.empty()) cell.seeds = own.seeds;
    append(cell.settings, own.settings);
  }
  cell.settings.push_back({"train.epochs", static_cast<double>(cell.epochs), row.where});
  cell.folder = folder_name(row.name) + "/" + folder_name(column.name);
  return cell;
}

// What the runs of a cell depend on: of each key the value that wins.
std::map<std::string, OptionValue> effective(const Cell& cell) {
  std::map<std::string, OptionValue> out;
  for (const Setting& setting : cell.settings) out[setting.key] = setting.value;
  return out;
}

bool same_runs(const Cell& a, const Cell& b) {
  return a.seeds == b.seeds && effective(a) == effective(b);
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
  std::vector<Cell> cells;
  for (const PlanRow& row : plan.rows) {
    for (const PlanColumn& column : plan.columns) {
      if (!available(column)) continue;
      Cell cell = make_cell(plan, row, column);
      const auto twin =
          std::ranges::find_if(cells, [&](const Cell& other) { return same_runs(cell, other); });
      if (twin != cells.end()) {
        cell.folder = twin->folder;
      } else if (std::ranges::any_of(cells,
                                     [&](const Cell& c) { return c.folder == cell.folder; })) {
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
