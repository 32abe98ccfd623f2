// Another program's run, as CSV: whatever is accepted has its epochs, the last evaluation near the
// end.
#include <cmath>
#include <cstdlib>

#include "fuzz/fuzz.h"
#include "study/analyse/imported_run.h"

void ovde::fuzz_one(std::span<const std::byte> input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  TrainConfig train;
  train.epochs = 4;
  train.steps_per_epoch = train.warmup_steps = 20;
  const auto rows = parse_imported(text, "input", train);
  if (rows.size() != 4 || !std::isfinite(summarise(rows).score)) std::abort();
}
