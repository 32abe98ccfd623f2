// population.toml: whatever is accepted must read back as the same population.
#include <cstdlib>
#include <string>

#include "fuzz/fuzz.h"
#include "run/run_folder.h"

void ovde::fuzz_one(std::span<const std::byte> input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  const Population population = parse_population(parse_toml(text, "input"), "input");
  const Population again = parse_population(parse_toml(to_toml(population, ""), "again"), "again");
  if (again.seeds != population.seeds || !(again.config == population.config)) std::abort();
}
