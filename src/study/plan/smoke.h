// A smoke run: the whole plan at a few epochs of small agents, to see that it works before the real
// thing is started. Its numbers mean nothing, and its folder says so.
#pragma once

#include <filesystem>

#include "study/plan/plan.h"

namespace ovde {

// Every cell of the plan, with two seeds and sizes that take a second or two.
Plan smoke_plan(Plan plan);

// Marks the folder of a study as one of smoke runs; and whether it is.
void mark_smoke(const std::filesystem::path& study);
bool is_smoke(const std::filesystem::path& study);

}  // namespace ovde
