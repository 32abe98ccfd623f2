// Sums over rows for the gradients of a normalised layer's gain and shift.
#pragma once

namespace ovde::cuda {

// Sums over rows of a warp of what gives the gradients of gain and shift of the eight units
// that this lane has a part of: shift's are those of d, gain's those of d * n.
class UnitSums {
 public:
  __device__ void add(int i, float d, float n) {
    sums_[i] += d;
    sums_[8 + i] = __fmaf_rn(d, n, sums_[8 + i]);
  }
  // To the columns from `column` on. The eight lanes that share them add up, each keeping half of
  // the sums that it had: in a fixed order.
  __device__ void write(float* by_gain, float* by_shift, int column, int stride) {
    exchange<8>();
    exchange<4>();
    exchange<2>();
    if (column >= stride) return;
    const int lane = threadIdx.x % 32;
    float* to = (lane & 16 ? by_gain : by_shift) + column + (lane & 8 ? 4 : 0) + (lane & 4 ? 2 : 0);
    *reinterpret_cast<float2*>(to) = make_float2(sums_[0], sums_[1]);
  }

 private:
  template <int kKept>
  __device__ void exchange() {
    constexpr int kOther = 2 * kKept;  // the lane with which this one exchanges
    const bool upper = threadIdx.x & kOther;
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      const float given = upper ? sums_[i] : sums_[i + kKept];
      const float mine = upper ? sums_[i + kKept] : sums_[i];
      sums_[i] = mine + __shfl_xor_sync(~0u, given, kOther);
    }
  }

  float sums_[16] = {};
};

}  // namespace ovde::cuda
