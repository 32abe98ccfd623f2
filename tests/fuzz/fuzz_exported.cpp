// Files of ovde export in every format: whatever is accepted can be asked for its tests.
#include <string>

#include "fuzz/fuzz.h"
#include "policy/export.h"

void ovde::fuzz_one(std::span<const std::byte> input) {
  const std::string bytes(reinterpret_cast<const char*>(input.data()), input.size());
  check_tests(parse_export(bytes, "input"), "input");
}
