// The random numbers of an update, addressed by its number: nothing to save, and the same on any
// number of threads. Each feature has a row of numbers, one for each sample.
#pragma once

#include <cstdint>

#include <ovde/random.h>
#include "nn/batch.h"

namespace ovde {

// Numbers in the row of one feature: the batch, rounded up so that the numbering is the same on
// machines with other vectors.
int noise_row(int batch);

// Standard normal numbers of update number `update` for every sample of `blocks`.
void fill_batch_noise(std::uint64_t seed, Stream stream, std::uint64_t update, Batch& noise,
                      Blocks blocks);

// The same with numbers U(0, 1).
void fill_batch_uniform(std::uint64_t seed, Stream stream, std::uint64_t update, Batch& numbers,
                        Blocks blocks);

}  // namespace ovde
