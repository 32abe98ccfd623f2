// A study file: whatever is accepted must expand to cells, or be refused by what they say.
#include <string>

#include "config/config.h"
#include "fuzz/fuzz.h"
#include "study/plan/plan.h"

void ovde::fuzz_one(std::span<const std::byte> input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  for (const Cell& cell : expand(parse_plan(text, "input"))) resolve_config(cell.settings);
}
