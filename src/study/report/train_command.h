// The command of the program that trains a cell's runs again, wherever they were made.
#pragma once

#include <string>
#include <vector>

#include "study/analyse/results.h"

namespace ovde {

// Of runs in the order of their seeds: "0-4,7".
std::string seeds_text(const std::vector<RunResult>& runs);

std::string train_command(const CellResult& cell);

}  // namespace ovde
