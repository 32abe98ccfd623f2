// What a build without CUDA code says of GPUs.
#include <ovde/error.h>
#include "cuda/population.h"

namespace ovde {

std::string why_no_gpu() { return "this build has no CUDA code"; }

std::string gpu_name() { throw Error(why_no_gpu()); }

std::unique_ptr<GpuPopulation> make_gpu_population(std::span<const AgentOptions>, Precision) {
  throw InputError("--device cuda: " + why_no_gpu());
}

GpuCeilings measure_gpu() { throw Error(why_no_gpu()); }

}  // namespace ovde
