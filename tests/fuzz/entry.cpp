// What libFuzzer calls.
#include <cstdint>

#include <ovde/error.h>
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    ovde::fuzz_one(std::as_bytes(std::span(data, size)));
  } catch (const ovde::Error&) {
  }
  return 0;
}
