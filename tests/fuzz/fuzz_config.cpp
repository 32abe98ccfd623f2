// A configuration file: whatever is accepted must read back as the same configuration.
#include <cstdlib>
#include <string>

#include "config/config.h"
#include "fuzz/fuzz.h"

void ovde::fuzz_one(std::span<const std::byte> input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  const Config config = resolve_config(parse_toml(text, "input"));
  const Config again = resolve_config(parse_toml(to_toml(config, "0", ""), "again"));
  if (!(config == again)) std::abort();
}
