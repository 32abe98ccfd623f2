#include "cuda/residual/network.h"

#include <algorithm>
#include <type_traits>

#include "cuda/kernels/launch.cuh"
#include "cuda/tile/warp.cuh"
#include "nn/equations.h"

namespace ovde::cuda::residual {

namespace {

// ---- numbers in pairs

__device__ float2 load_pair(const float* x) { return *reinterpret_cast<const float2*>(x); }
__device__ float2 load_pair(const __half* x) {
  return __half22float2(*reinterpret_cast<const __half2*>(x));
}
__device__ void store_pair(float* x, float2 v) { *reinterpret_cast<float2*>(x) = v; }
__device__ void store_pair(__half* x, float2 v) {
  *reinterpret_cast<__half2*>(x) = __float22half2_rn(v);
}
// A pair as it lies in memory.
template <typename T>
struct PairOf {
  using Type = float2;
};
template <>
struct PairOf<__half> {
  using Type = __half2;
};
__device__ float2 unpacked(float2 x) { return x; }
__device__ float2 unpacked(__half2 x) { return __half22float2(x); }

__device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x, a.y * b.y); }
__device__ float2 operator*(float s, float2 a) { return make_float2(s * a.x, s * a.y); }
__device__ float2 relu_pair(float2 a) { return make_float2(relu(a.x), relu(a.y)); }

// ---- batch norm: a block of threads has a panel of columns of one network's matrix

// A thread has one pair of columns and every so-many-th row. Few networks have narrow panels, so
// that all of the GPU has work. Up to kHeldRows rows of fp16 numbers stay in registers between the
// passes over a panel.
constexpr int kThreads = 1024, kWarps = kThreads / 32, kHeldRows = 1024;
template <int kPairs>
struct Panel {
  static constexpr int kColumns = 2 * kPairs, kStep = kThreads / kPairs, kHeld = kHeldRows / kStep;
  int column, first;

  __device__ Panel()
      : column(blockIdx.x * kColumns + 2 * (threadIdx.x % kPairs)), first(threadIdx.x / kPairs) {}

  // Calls visit(k, row) for the thread's rows; k numbers them.
  template <typename Visit>
  __device__ void rows(int count, Visit&& visit) const {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (first + k * kStep < count) visit(k, first + k * kStep);
    }
    for (int r = first + kHeld * kStep; r < count; r += kStep) visit(kHeld, r);
  }

  // The sum over the threads of each pair of columns, in all of them.
  __device__ float2 sum(float2 mine) const {
    __shared__ float2 parts[kWarps][kPairs];
    for (int offset = kPairs; offset < 32; offset *= 2)
      mine = mine + make_float2(__shfl_xor_sync(~0u, mine.x, offset),
                                __shfl_xor_sync(~0u, mine.y, offset));
    const int pair = threadIdx.x % kPairs;
    if (threadIdx.x % 32 < kPairs) parts[threadIdx.x / 32][pair] = mine;
    __syncthreads();
    float2 all = make_float2(0, 0);
    for (int w = 0; w < kWarps; ++w) all = all + parts[w][pair];
    __syncthreads();
    return all;
  }
};

// The thread's part of a matrix: numbers that fit into registers are read from memory once.
template <int kPairs, typename T>
class Part {
 public:
  __device__ Part(const T* first, int stride) : first_(first), stride_(stride) {}

  // In the first pass over the rows.
  __device__ float2 read(int k, int row) {
    const Stored value = *at(row);
    if (kKeeps && k < Panel<kPairs>::kHeld) held_[k] = value;
    return unpacked(value);
  }
  // In the following ones.
  __device__ float2 again(int k, int row) const {
    return unpacked(kKeeps && k < Panel<kPairs>::kHeld ? held_[k] : *at(row));
  }

 private:
  using Stored = typename PairOf<T>::Type;
  static constexpr bool kKeeps = sizeof(T) == 2;
  __device__ const Stored* at(int row) const {
    return reinterpret_cast<const Stored*>(first_ + static_cast<std::size_t>(row) * stride_);
  }

  const T* first_;
  int stride_;
  Stored held_[kKeeps ? Panel<kPairs>::kHeld : 1];
};

// One batch norm of all networks. Pointers are those of the first network.
template <typename In, typename T>
struct NormPass {
  NormPart part;
  int rows, in_stride, out_stride;
  int sharing, inputs;  // this many networks take the same sums; matrices of sums
  const In* sums;
  const float* parameters;
  int size;  // a network's parameters
  float* running;
  float* used;     // means and scales of this pass
  int statistics;  // a network's statistics
  bool from_batch;
  float momentum;

  __device__ const In* sums_of(int network) const {
    return sums + static_cast<std::size_t>(network / sharing % inputs) * rows * in_stride;
  }
  __device__ std::size_t out_of(int network) const {
    return static_cast<std::size_t>(network) * rows * out_stride;
  }
};

enum class After { nothing, relu, relu_and_add };

// out = norm(sums), then the ReLU; a block's second norm adds the block's input.
template <int kPairs, After kAfter, typename In, typename T>
__global__ void __launch_bounds__(kThreads)
    norm_forward(NormPass<In, T> pass, const T* added, T* out) {
  const Panel<kPairs> panel;
  const int network = blockIdx.y, column = panel.column;
  const NormPart& part = pass.part;
  const bool inside = column < part.width, second = column + 1 < part.width;
  Part<kPairs, In> sums(pass.sums_of(network) + column, pass.in_stride);
  float* running = pass.running + static_cast<std::size_t>(network) * pass.statistics;
  float* used = pass.used + static_cast<std::size_t>(network) * pass.statistics;
  float2 mean = make_float2(0, 0), variance = make_float2(1, 1), sum = mean;
  const int rows = inside ? pass.rows : 0;
  panel.rows(rows, [&](int k, int r) { sum = sum + sums.read(k, r); });
  if (pass.from_batch) {
    mean = 1.0f / pass.rows * panel.sum(sum);
    sum = make_float2(0, 0);
    panel.rows(rows, [&](int k, int r) {
      const float2 d = sums.again(k, r) - mean;
      sum = sum + d * d;
    });
    variance = 1.0f / pass.rows * panel.sum(sum);
    if (panel.first == 0 && inside && pass.momentum > 0) {
      const float unbiased = static_cast<float>(pass.rows) / (pass.rows - 1);
      running[part.mean + column] += pass.momentum * (mean.x - running[part.mean + column]);
      running[part.variance + column] +=
          pass.momentum * (unbiased * variance.x - running[part.variance + column]);
      if (second) {
        running[part.mean + column + 1] +=
            pass.momentum * (mean.y - running[part.mean + column + 1]);
        running[part.variance + column + 1] +=
            pass.momentum * (unbiased * variance.y - running[part.variance + column + 1]);
      }
    }
  } else if (inside) {
    mean.x = running[part.mean + column];
    variance.x = running[part.variance + column];
    if (second) {
      mean.y = running[part.mean + column + 1];
      variance.y = running[part.variance + column + 1];
    }
  }
  const float2 scale =
      make_float2(1 / sqrtf(variance.x + kNormEpsilon), 1 / sqrtf(variance.y + kNormEpsilon));
  const float* parameters = pass.parameters + static_cast<std::size_t>(network) * pass.size;
  float2 gain = make_float2(0, 0), shift = make_float2(0, 0);
  if (inside) {
    gain.x = parameters[part.gain + column];
    shift.x = parameters[part.shift + column];
  }
  if (second) {
    gain.y = parameters[part.gain + column + 1];
    shift.y = parameters[part.shift + column + 1];
  }
  if (panel.first == 0 && inside) {
    used[part.mean + column] = mean.x;
    used[part.variance + column] = scale.x;
    if (second) {
      used[part.mean + column + 1] = mean.y;
      used[part.variance + column + 1] = scale.y;
    }
  }
  if (column >= pass.out_stride) return;
  const float2 slope = gain * scale, constant = shift - mean * slope;
  const std::size_t at = pass.out_of(network) + column;
  panel.rows(pass.rows, [&](int k, int r) {
    float2 y = make_float2(0, 0);
    if (inside) y = sums.again(k, r) * slope + constant;
    if (kAfter != After::nothing) y = relu_pair(y);
    const std::size_t here = at + static_cast<std::size_t>(r) * pass.out_stride;
    if (kAfter == After::relu_and_add) y = y + load_pair(added + here);
    store_pair(out + here, y);
  });
}

// From `by_output`, the gradient of norm_forward()'s output without what it added, to that of its
// sums (if asked for) and of gain and shift (with the batch's statistics).
template <int kPairs, After kAfter, typename In, typename T, typename Out>
__global__ void __launch_bounds__(kThreads)
    norm_backward(NormPass<In, T> pass, const T* by_output, Out* by_sums, float* by_parameters) {
  const Panel<kPairs> panel;
  const int network = blockIdx.y, column = panel.column;
  const NormPart& part = pass.part;
  const bool inside = column < part.width, second = column + 1 < part.width;
  const std::size_t at = pass.out_of(network) + column;
  Part<kPairs, In> sums(pass.sums_of(network) + column, pass.in_stride);
  Part<kPairs, T> outer(by_output + at, pass.out_stride);
  const float* used = pass.used + static_cast<std::size_t>(network) * pass.statistics;
  const float* parameters = pass.parameters + static_cast<std::size_t>(network) * pass.size;
  float2 mean = make_float2(0, 0), scale = mean, gain = mean, shift = mean;
  if (inside) {
    mean.x = used[part.mean + column];
    scale.x = used[part.variance + column];
    gain.x = parameters[part.gain + column];
    shift.x = parameters[part.shift + column];
  }
  if (second) {
    mean.y = used[part.mean + column + 1];
    scale.y = used[part.variance + column + 1];
    gain.y = parameters[part.gain + column + 1];
    shift.y = parameters[part.shift + column + 1];
  }
  // the gradient behind the ReLU
  const auto masked = [&](float2 normal, float2 d) {
    const float2 y = normal * gain + shift;
    return kAfter == After::nothing ? d : make_float2(y.x > 0 ? d.x : 0, y.y > 0 ? d.y : 0);
  };
  float2 sum = make_float2(0, 0), products = sum;
  const int rows = inside ? pass.rows : 0;
  panel.rows(rows, [&](int k, int r) {
    const float2 normal = (sums.read(k, r) - mean) * scale, d = masked(normal, outer.read(k, r));
    sum = sum + d;
    products = products + d * normal;
  });
  if (pass.from_batch) {
    sum = panel.sum(sum);
    products = panel.sum(products);
    if (panel.first == 0 && inside) {
      float* gradient = by_parameters + static_cast<std::size_t>(network) * pass.size;
      gradient[part.gain + column] = products.x;
      gradient[part.shift + column] = sum.x;
      if (second) {
        gradient[part.gain + column + 1] = products.y;
        gradient[part.shift + column + 1] = sum.y;
      }
    }
  }
  if (!by_sums || column >= pass.out_stride) return;
  const float2 slope = gain * scale, mean_d = 1.0f / pass.rows * sum,
               mean_product = 1.0f / pass.rows * products;
  panel.rows(pass.rows, [&](int k, int r) {
    float2 by = make_float2(0, 0);
    if (inside) {
      const float2 normal = (sums.again(k, r) - mean) * scale,
                   d = masked(normal, outer.again(k, r));
      by = pass.from_batch ? slope * (d - mean_d - normal * mean_product) : slope * d;
    }
    store_pair(by_sums + at + static_cast<std::size_t>(r) * pass.out_stride, by);
  });
}

// ---- the RMS norm: one warp for each row

constexpr int kRowThreads = 256, kRowWarps = kRowThreads / 32;

template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    rms_forward(NormPart part, int rows, const float* parameters, int size, const T* in, T* out,
                float* scales) {
  const int network = blockIdx.y, r = blockIdx.x * kRowWarps + threadIdx.x / 32,
            lane = threadIdx.x % 32;
  if (r >= rows) return;
  const std::size_t row = static_cast<std::size_t>(network) * rows + r, at = row * part.width;
  const float* gain = parameters + static_cast<std::size_t>(network) * size + part.gain;
  float squares = 0;
  for (int i = 2 * lane; i < part.width; i += 64) {
    const float2 x = load_pair(in + at + i);
    squares += x.x * x.x + x.y * x.y;
  }
  const float scale = 1 / sqrtf(sum_of_warp(squares) / part.width + kRmsNormEpsilon);
  for (int i = 2 * lane; i < part.width; i += 64)
    store_pair(out + at + i, scale * (load_pair(in + at + i) * load_pair(gain + i)));
  if (lane == 0) scales[row] = scale;
}

// In place: from the gradient of the output to that of the input.
template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    rms_backward(NormPart part, int rows, const float* parameters, int size, const T* in,
                 const float* scales, T* gradient) {
  const int network = blockIdx.y, r = blockIdx.x * kRowWarps + threadIdx.x / 32,
            lane = threadIdx.x % 32;
  if (r >= rows) return;
  const std::size_t row = static_cast<std::size_t>(network) * rows + r, at = row * part.width;
  const float* gain = parameters + static_cast<std::size_t>(network) * size + part.gain;
  const float scale = scales[row];
  float products = 0;
  for (int i = 2 * lane; i < part.width; i += 64) {
    const float2 d = load_pair(gradient + at + i) * load_pair(gain + i), x = load_pair(in + at + i);
    products += d.x * x.x + d.y * x.y;
  }
  const float mean = scale * scale * sum_of_warp(products) / part.width;
  for (int i = 2 * lane; i < part.width; i += 64) {
    const float2 d = load_pair(gradient + at + i) * load_pair(gain + i);
    store_pair(gradient + at + i, scale * (d - mean * load_pair(in + at + i)));
  }
}

// Sums over the rows: of gradient * in * scale for the gain, and of the head's gradient for its
// bias. blockIdx: (64 columns, network)
template <int kPairs, typename T>
__global__ void __launch_bounds__(kThreads)
    sum_rows(int columns, int stride, int rows, const T* gradient, const T* in, const float* scales,
             float* out, int size) {
  const Panel<kPairs> panel;
  const int network = blockIdx.y, column = panel.column;
  const std::size_t first = static_cast<std::size_t>(network) * rows;
  float2 sum = make_float2(0, 0);
  for (int r = panel.first; r < rows && column < columns; r += panel.kStep) {
    float2 d = load_pair(gradient + (first + r) * stride + column);
    if (in) d = scales[first + r] * (d * load_pair(in + (first + r) * stride + column));
    sum = sum + d;
  }
  sum = panel.sum(sum);
  if (panel.first != 0 || column >= columns) return;
  float* to = out + static_cast<std::size_t>(network) * size + column;
  to[0] = sum.x;
  if (column + 1 < columns) to[1] = sum.y;
}

// Calls use(pairs, blocks) with the width of panels for these matrices.
template <typename Use>
void with_panels(int networks, int columns, Use&& use) {
  constexpr int kWide = 16, kNarrow = 8, kFew = 132;
  const auto call = [&](auto pairs) { use(pairs, dim3(parts_of(columns, 2 * pairs), networks)); };
  if (networks * parts_of(columns, 2 * kWide) < kFew) {
    call(std::integral_constant<int, kNarrow>{});
  } else {
    call(std::integral_constant<int, kWide>{});
  }
}

}  // namespace

template <typename T>
Activations<T>::Activations(const ResidualShape& shape, int networks, int rows, Arena& memory) {
  const std::size_t all = static_cast<std::size_t>(networks) * rows;
  input = memory.take<T>(all * shape.input.stride);
  stream[0] = memory.take<T>(all * shape.width());
  for (int b = 0; b < shape.blocks; ++b) {
    up[b] = memory.take<T>(all * shape.expanded());
    active[b] = memory.take<T>(all * shape.expanded());
    down[b] = memory.take<T>(all * shape.width());
    stream[b + 1] = memory.take<T>(all * shape.width());
  }
  features = memory.take<T>(all * shape.width());
  output = memory.take<float>(all * shape.output_stride());
  scale = memory.take<float>(all);
  statistics = memory.take<float>(static_cast<std::size_t>(networks) * shape.statistics);
}

template <typename T>
ResidualPasses<T>::Gradients::Gradients(const ResidualShape& shape, int networks, int rows,
                                        Arena& memory) {
  const std::size_t all = static_cast<std::size_t>(networks) * rows;
  output = memory.take<T>(all * shape.output_stride());
  stream = memory.take<T>(all * shape.width());
  up = memory.take<T>(all * shape.expanded());
  down = memory.take<T>(all * shape.width());
  input = memory.take<T>(all * shape.input.stride);
}

namespace {

// The norms of one pass.
template <typename T>
struct Norms {
  const ResidualShape& shape;
  const Weights<T>& weights;
  int networks, rows;
  Statistics statistics;
  float momentum;
  const Activations<T>& at;

  // shared: networks that take the same sums; inputs: matrices of sums.
  template <typename In>
  NormPass<In, T> pass(const NormPart& part, const In* sums, int stride, int shared,
                       int inputs) const {
    return {part,
            rows,
            stride,
            stride,
            shared,
            inputs,
            sums,
            weights.parameters,
            shape.size,
            weights.statistics,
            at.statistics,
            shape.statistics,
            statistics == Statistics::batch,
            momentum};
  }
  template <After kAfter, typename In>
  void forward(const NormPass<In, T>& pass, const T* added, T* out, cudaStream_t stream) const {
    with_panels(networks, pass.out_stride, [&](auto pairs, dim3 blocks) {
      launch(norm_forward<pairs, kAfter, In, T>, blocks, kThreads, 0, stream, pass, added, out);
    });
  }
  template <After kAfter, typename In, typename Out>
  void backward(const NormPass<In, T>& pass, const T* by_output, Out* by_sums, float* by_parameters,
                cudaStream_t stream) const {
    with_panels(networks, pass.out_stride, [&](auto pairs, dim3 blocks) {
      launch(norm_backward<pairs, kAfter, In, T, Out>, blocks, kThreads, 0, stream, pass, by_output,
             by_sums, by_parameters);
    });
  }
};

}  // namespace

template <typename T>
void ResidualPasses<T>::forward(const Products& products, const Weights<T>& weights,
                                const float* inputs, int rows, Statistics statistics,
                                float momentum, Activations<T>& out, cudaStream_t stream) const {
  const ResidualShape& s = shape_;
  const Norms<T> norms{s, weights, networks_, rows, statistics, momentum, out};
  const auto product = [&](const LinearPart& part, const T* x, auto* y, int y_stride) {
    products.forward(networks_, rows, part.stride, part.outputs,
                     matrices<const T>(x, part.stride, rows), weights_of(weights, part),
                     matrices(y, y_stride, rows));
  };
  const auto own = [&](const NormPart& part, const T* sums, int stride) {
    return norms.pass(part, sums, stride, 1, networks_);
  };
  norms.template forward<After::nothing>(
      norms.pass(s.input_norm, inputs, s.input.stride, sharing_, inputs_), nullptr, out.input,
      stream);
  product(s.input, out.input, out.stream[0], s.width());
  for (int b = 0; b < s.blocks; ++b) {
    const ResidualShape::Block& block = s.block[b];
    product(block.up, out.stream[b], out.up[b], s.expanded());
    norms.template forward<After::relu>(own(block.up_norm, out.up[b], s.expanded()), nullptr,
                                        out.active[b], stream);
    product(block.down, out.active[b], out.down[b], s.width());
    norms.template forward<After::relu_and_add>(own(block.down_norm, out.down[b], s.width()),
                                                out.stream[b], out.stream[b + 1], stream);
  }
  launch(rms_forward<T>, dim3(parts_of(rows, kRowWarps), networks_), kRowThreads, 0, stream,
         s.output_norm, rows, weights.parameters, s.size, out.stream[s.blocks], out.features,
         out.scale);
  product(s.head, out.features, out.output, s.output_stride());
}

template <typename T>
void ResidualPasses<T>::backward(const Products& products, const Weights<T>& weights,
                                 const float* inputs, int rows, const Activations<T>& at,
                                 Gradients& gradients, float* by_parameters, float* by_input,
                                 cudaStream_t stream) const {
  const ResidualShape& s = shape_;
  const Norms<T> norms{
      s, weights, networks_, rows, by_parameters ? Statistics::batch : Statistics::running, 0, at};
  // the gradients of a layer's weights, where asked for, and of its inputs
  const auto product = [&](const LinearPart& part, const T* by_output, int stride, const T* x,
                           T* by_x, bool add) {
    const auto dy = matrices<const T>(by_output, stride, rows);
    if (by_parameters)
      products.gradient(networks_, rows, part.stride, part.outputs, dy,
                        matrices<const T>(x, part.stride, rows),
                        Matrices<float>{by_parameters + part.weights, part.stride, s.size});
    products.backward(networks_, rows, part.stride, part.outputs, dy, weights_of(weights, part),
                      matrices(by_x, part.stride, rows), add);
  };
  const auto own = [&](const NormPart& part, const T* sums, int stride) {
    return norms.pass(part, sums, stride, 1, networks_);
  };
  const auto sum = [&](int columns, int stride, const T* gradient, const T* in, float* out) {
    if (!by_parameters) return;
    with_panels(networks_, columns, [&](auto pairs, dim3 blocks) {
      launch(sum_rows<pairs, T>, blocks, kThreads, 0, stream, columns, stride, rows, gradient, in,
             at.scale, out, s.size);
    });
  };
  sum(s.head.outputs, s.output_stride(), gradients.output, nullptr, by_parameters + s.bias);
  product(s.head, gradients.output, s.output_stride(), at.features, gradients.stream, false);
  sum(s.width(), s.width(), gradients.stream, at.stream[s.blocks],
      by_parameters + s.output_norm.gain);
  launch(rms_backward<T>, dim3(parts_of(rows, kRowWarps), networks_), kRowThreads, 0, stream,
         s.output_norm, rows, weights.parameters, s.size, at.stream[s.blocks], at.scale,
         gradients.stream);
  for (int b = s.blocks - 1; b >= 0; --b) {
    const ResidualShape::Block& block = s.block[b];
    norms.template backward<After::relu>(own(block.down_norm, at.down[b], s.width()),
                                         gradients.stream, gradients.down, by_parameters, stream);
    product(block.down, gradients.down, s.width(), at.active[b], gradients.up, false);
    norms.template backward<After::relu>(own(block.up_norm, at.up[b], s.expanded()), gradients.up,
                                         gradients.up, by_parameters, stream);
    product(block.up, gradients.up, s.expanded(), at.stream[b], gradients.stream, true);
  }
  product(s.input, gradients.stream, s.width(), at.input, gradients.input, false);
  norms.template backward<After::nothing>(
      norms.pass(s.input_norm, inputs, s.input.stride, sharing_, inputs_), gradients.input,
      by_input, by_parameters, stream);
}

template class ResidualPasses<float>;
template class ResidualPasses<__half>;
template struct Activations<float>;
template struct Activations<__half>;

}  // namespace ovde::cuda::residual
