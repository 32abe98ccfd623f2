// A request's head: what is accepted has one name of a host and a path without control characters.
#include <algorithm>
#include <cstdlib>

#include "fuzz/fuzz.h"
#include "serve/http_server.h"

void ovde::fuzz_one(std::span<const std::byte> input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  ParsedHead head;
  if (parse_head(text, head) != 0) return;
  is_allowed_host(head.host, true, "node");
  head.request.number("id");
  const bool is_plain = std::ranges::none_of(
      head.request.path, [](char c) { return static_cast<unsigned char>(c) <= 0x20; });
  if (!is_plain || !head.request.path.starts_with('/')) std::abort();
}
