// Batches as libtorch's tensors.
#pragma once

#include <torch/torch.h>

#include "nn/batch.h"

namespace ovde {

// A batch (features x samples) as a tensor with a sample a row.
inline torch::Tensor rows(const Batch& batch) {
  auto tensor = torch::empty({batch.samples(), batch.features()});
  for (int s = 0; s < batch.samples(); ++s) {
    for (int f = 0; f < batch.features(); ++f) tensor[s][f] = batch.at(f, s);
  }
  return tensor;
}

}  // namespace ovde
