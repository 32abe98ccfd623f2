#include "cli/console/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ovde {

std::string printable(std::string_view text, std::string_view keep) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F, which some terminals interpret, are 0xc2 and a second byte in UTF-8
    const bool two_bytes =
        byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (!(is_control(byte) || two_bytes) || keep.find(text[i]) != std::string_view::npos) {
      out += text[i];
      continue;
    }
    out += fmt::format("\\x{:02x}", byte);
    if (two_bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
  }
  return out;
}

void print_text(const std::string& text) { std::fputs(printable(text, "\n").c_str(), stdout); }

std::string format_duration(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::clamp(seconds, 0.0, 1e9)));
  const long long hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

}  // namespace ovde
