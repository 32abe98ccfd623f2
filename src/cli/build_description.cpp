#include "cli/build_description.h"

#include <fmt/format.h>

#include "base/version.h"
#include "cli/commit.h"
#include "env/registry.h"
#include "nn/simd.h"

namespace ovde::cli {

namespace {

constexpr const char* kCompiler =
#ifdef __clang__
    "Clang ";
#else
    "GCC ";
#endif

constexpr const char* kInstructions =
#if defined(__AVX512F__)
    "AVX-512";
#elif defined(__AVX2__)
    "AVX2";
#elif defined(__AVX__)
        "AVX";
#elif defined(__aarch64__)
        "NEON";
#else
        "SSE2";
#endif

std::string or_none(const std::string& text) { return text.empty() ? "none" : text; }

}  // namespace

std::string build_description() {
  const std::string commit = OVDE_COMMIT;
  return fmt::format("ovde {}{}\n", version(), commit.empty() ? "" : " (" + commit + ")") +
         fmt::format("  compiler     {}{}\n", kCompiler, __VERSION__) +
         fmt::format("  instructions {} ({} floats at a time){}\n", kInstructions, kVector,
                     is_native_build() ? ", for the processor it was built on" : "") +
         fmt::format("  CUDA         {}\n", or_none(OVDE_CUDA_VERSION)) +
         fmt::format("  MuJoCo       {}\n", or_none(mujoco_version()));
}

}  // namespace ovde::cli
