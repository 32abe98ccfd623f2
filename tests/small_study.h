// A study of tiny agents and short episodes, which runs in a second: its plan as text.
#pragma once

#include <string>
#include <vector>

namespace ovde {

inline const std::vector<std::string> kSmallSettings = {
    "task.horizon=20",       "network.hidden=[8]",  "train.steps_per_epoch=20",
    "train.warmup_steps=20", "train.eval_steps=20", "train.batch=8",
    "train.replay=200"};

// The settings as flags of `ovde train`.
inline std::string small_flags() {
  std::string flags;
  for (const std::string& setting : kSmallSettings) flags += " --set " + setting;
  return flags;
}

struct SmallStudy {
  int epochs = 4;
  std::string seeds = "0-1";
  std::string head = "";                                // more lines before the settings
  std::vector<std::string> settings = {};               // more settings of all cells
  std::vector<std::string> rows = {"a", "b"};           // row "a" is GridChaos-v0:a
  std::vector<std::string> columns = {"DSAC", "OVDE"};  // OVDE has the role "ours"
  std::string more = "";                                // lines after the last column

  std::string text() const {
    std::string plan =
        "epochs = " + std::to_string(epochs) + "\nseeds = \"" + seeds + "\"\n" + head + "set = { ";
    for (const std::string& setting : kSmallSettings) plan += setting + ", ";
    for (const std::string& setting : settings) plan += setting + ", ";
    plan.replace(plan.size() - 2, 2, " }\n");
    for (const std::string& row : rows)
      plan += "[[row]]\nname = \"" + row + "\"\ntask = \"GridChaos-v0:" + row + "\"\n";
    for (const std::string& column : columns) {
      plan += "[[column]]\nname = \"" + column + "\"\n";
      plan +=
          column == "OVDE" ? "algorithm = \"ovde_g\"\nrole = \"ours\"\n" : "algorithm = \"dsac\"\n";
    }
    return plan + more;
  }
};

}  // namespace ovde
