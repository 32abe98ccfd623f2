// The interface of cuda/population.h in a build without CUDA code: errors with the reason.
#include <filesystem>

#include <ovde/error.h>
#include "cuda/population.h"

namespace ovde {

std::string why_no_gpu() {
  // a device file of NVIDIA's driver
  if (std::error_code ignored; !std::filesystem::exists("/dev/nvidiactl", ignored))
    return "this machine has no NVIDIA GPU (and this build no CUDA code)";
  return "this build has no CUDA code: it was made where nvcc was not found, or with OVDE_CUDA=OFF";
}

std::string gpu_name() { throw Error(why_no_gpu()); }

void check_gpu_population(std::span<const AgentOptions> agents, Precision) {
  check_algorithms(agents);
  throw InputError("no GPU can be used: " + why_no_gpu());
}

std::unique_ptr<GpuPopulation> make_gpu_population(std::span<const AgentOptions> agents,
                                                   Precision precision) {
  check_gpu_population(agents, precision);
  return nullptr;  // not reached
}

GpuCeilings measure_gpu() { throw Error(why_no_gpu()); }

}  // namespace ovde
