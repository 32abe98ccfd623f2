#include "study/report/train_command.h"

#include <fmt/format.h>

#include "io/shell.h"

namespace ovde {

std::string seeds_text(const std::vector<RunResult>& runs) {
  std::string out;
  for (std::size_t first = 0; first < runs.size();) {
    std::size_t last = first;
    while (last + 1 < runs.size() && runs[last + 1].seed == runs[last].seed + 1) ++last;
    out += fmt::format("{}{}", out.empty() ? "" : ",", runs[first].seed);
    if (last > first) out += fmt::format("-{}", runs[last].seed);
    first = last + 1;
  }
  return out;
}

std::string train_command(const CellResult& cell) {
  std::string out =
      fmt::format("ovde train --task {} --algo {} --seeds {}", shell_word(cell.cell.task),
                  shell_word(cell.cell.algorithm), seeds_text(cell.runs));
  for (const Setting& setting : cell.asked)
    out += " --set " + shell_word(fmt::format("{}={}", setting.key, to_string(setting.value)));
  return out;
}

}  // namespace ovde
