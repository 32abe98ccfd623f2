// Instructions of the GPU in assembly, and a block's shared memory. No other file in src/cuda has
// assembly: tests/on_cpu replaces this one to compile the kernels for a CPU.
#pragma once

#include <cstdint>

#ifdef __CUDA_ARCH__
#define OVDE_ON_DEVICE  // defined while code for the device is compiled
#endif

// Declares the block's dynamic shared memory.
#define OVDE_BLOCK_MEMORY(name) extern __shared__ __align__(128) unsigned char name[]

namespace ovde::cuda {

__device__ inline void assume_global(const void* pointer) { __builtin_assume(__isGlobal(pointer)); }

// A barrier of threads 0 .. 127 alone.
__device__ inline void sync_first_128() { asm volatile("bar.sync 1, 128;"); }

// ---- memory

// Starts to copy 16 bytes, or zeros unless valid, to shared memory; wait_for_copies() completes it.
__device__ inline void copy_async(float* to, const float* from, bool valid) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
               "r"(valid ? 16 : 0));
}
// Ends a group of copies.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;"); }
// Waits until at most the newest kLeft groups of this thread are in flight.
template <int kLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft));
}

__device__ inline void prefetch(const float* from) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

// ---- operands of the tensor cores, by a whole warp

// Four 8 x 4 blocks of floats; each lane passes the address of row lane % 8 of block lane / 8.
__device__ inline void load_blocks(std::uint32_t (&r)[4], const float* from) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(from));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}
// Four 8 x 8 blocks of fp16 numbers, each transposed; addresses likewise.
__device__ inline void load_transposed(std::uint32_t (&r)[4], const void* from) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(from));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

// c (16 x 8) += a b with 8 terms; the first 11 significant bits of each operand are read.
__device__ inline void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// c += (high_a + low_a) (high_b + low_b) without the product of the low parts, summed outside of
// the tensor cores, whose additions truncate.
__device__ inline void multiply_exact(float (&c)[4], const std::uint32_t (&high_a)[4],
                                      const std::uint32_t (&low_a)[4], std::uint32_t high_b0,
                                      std::uint32_t high_b1, std::uint32_t low_b0,
                                      std::uint32_t low_b1) {
  float sum[4] = {};
  multiply(sum, low_a, high_b0, high_b1);
  multiply(sum, high_a, low_b0, low_b1);
  multiply(sum, high_a, high_b0, high_b1);
#pragma unroll
  for (int i = 0; i < 4; ++i) c[i] += sum[i];
}
// The product of multiply() with 16 terms in fp16.
__device__ inline void multiply_half(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                     std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// ---- numbers

// Two numbers in fp16, the first in the lower half, clamped to its range; NaN stays NaN.
__device__ inline std::uint32_t pack(float first, float second) {
  std::uint32_t both;
  asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}

// Accurate to one or two units in the last place.
__device__ inline float fast_square_root(float x) {
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
}
// Accurate to the precision of fp16.
__device__ inline float fast_tanh(float x) {
  float t;
  asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(x));
  return t;
}

}  // namespace ovde::cuda
