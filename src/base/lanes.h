// Lets an equation be written once for CPU and GPU: OVDE_BOTH compiles a function for both, and the
// caller passes an object that computes sums over quantiles or actions: one thread on a CPU, a warp
// on a GPU.
#pragma once

#ifdef __CUDACC__
#define OVDE_BOTH __host__ __device__
#else
#define OVDE_BOTH
#endif

namespace ovde {

// One thread, in order. A warp has the same functions (cuda/tile/warp.cuh).
struct OneThread {
  // work(i) for i = 0 .. n - 1
  template <typename Work>
  OVDE_BOTH void each(int n, const Work& work) const {
    for (int i = 0; i < n; ++i) work(i);
  }

  // the sum of term(i)
  template <typename Term>
  OVDE_BOTH double sum(int n, const Term& term) const {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += term(i);
    return sum;
  }
};

}  // namespace ovde
