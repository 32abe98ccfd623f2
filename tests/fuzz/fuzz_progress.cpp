// progress.csv: whatever is accepted must be written as it would be read.
#include <cstdlib>

#include "fuzz/fuzz.h"
#include "run/progress_csv.h"

void ovde::fuzz_one(std::span<const std::byte> input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  std::string again = csv_header() + "\n";
  const auto rows = parse_progress(text, "input");
  for (const EpochRow& row : rows) again += csv_row(row) + "\n";
  if (parse_progress(again, "again").size() != rows.size()) std::abort();
}
