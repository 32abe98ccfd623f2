#include "cuda/residual/products.h"

#include <dlfcn.h>

#include <string>

#include <fmt/format.h>

#include <ovde/error.h>

namespace ovde::cuda::residual {

namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;

// cuBLAS has two functions of this name.
using Multiply = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                    int, const void*, const void*, cudaDataType_t, int, long long,
                                    const void*, cudaDataType_t, int, long long, const void*, void*,
                                    cudaDataType_t, int, long long, int, cublasComputeType_t,
                                    cublasGemmAlgo_t);

// The functions of cuBLAS that are used.
struct Library {
  decltype(&cublasCreate) create;
  decltype(&cublasDestroy) destroy;
  decltype(&cublasSetStream) set_stream;
  decltype(&cublasSetWorkspace) set_workspace;
  Multiply multiply;
  decltype(&cublasGetStatusString) text;
};

#ifdef OVDE_KERNELS_ON_CPU
Library load() {
  return {cublasCreate,
          cublasDestroy,
          cublasSetStream,
          cublasSetWorkspace,
          cublasGemmStridedBatchedEx,
          cublasGetStatusString};
}
#else
Library load() {
  const std::string name = fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR);
  void* library = dlopen(name.c_str(), RTLD_NOW);
  if (!library) library = dlopen((OVDE_CUDA_LIBRARY_DIR "/" + name).c_str(), RTLD_NOW);
  if (!library)
    throw InputError(
        fmt::format("residual networks on a GPU need NVIDIA's cuBLAS, and {} was not found ({})",
                    name, dlerror()));
  const auto find = [&]<typename Function>(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(library, symbol));
    if (!function) throw Error(fmt::format("{} has no {}", name, symbol));
  };
  Library all{};
  find(all.create, "cublasCreate_v2");
  find(all.destroy, "cublasDestroy_v2");
  find(all.set_stream, "cublasSetStream_v2");
  find(all.set_workspace, "cublasSetWorkspace_v2");
  find(all.multiply, "cublasGemmStridedBatchedEx");
  find(all.text, "cublasGetStatusString");
  return all;
}
#endif

const Library& cublas() {
  static const Library library = load();
  return library;
}

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error(std::string("CUDA: ") + call + ": " + cublas().text(status));
}

}  // namespace

Products::Products() : workspace_(make_device_array<char>(kWorkspace)) {
  check(cublas().create(&handle_), "cublasCreate");
}
Products::~Products() { cublas().destroy(handle_); }

void Products::use(cudaStream_t stream) {
  stream_ = stream;
  check(cublas().set_stream(handle_, stream), "cublasSetStream");
  // setting the stream resets the workspace
  check(cublas().set_workspace(handle_, workspace_.get(), kWorkspace), "cublasSetWorkspace");
}

void Products::multiply(const Sizes& sizes, cublasOperation_t a_form, const Operand& a,
                        cublasOperation_t b_form, const Operand& b, float beta, const Operand& c,
                        void* to) const {
  const float one = 1;
  check(
      cublas().multiply(handle_, a_form, b_form, sizes.m, sizes.n, sizes.k, &one, a.data, a.type,
                        a.stride, a.step, b.data, b.type, b.stride, b.step, &beta, to, c.type,
                        c.stride, c.step, sizes.networks, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
      "cublasGemmStridedBatchedEx");
}

}  // namespace ovde::cuda::residual
