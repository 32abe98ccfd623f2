#include "cuda/residual/network.h"

#include <type_traits>

#include "cuda/kernels/launch.cuh"
#include "cuda/tile/fours.cuh"
#include "cuda/tile/warp.cuh"
#include "nn/equations.h"

namespace ovde::cuda::residual {

namespace {

// ---- batch norm: a block of threads has a panel of columns of one network's matrix

// A thread has four columns and every kStep-th row. fp16 numbers of up to kHeldRows rows stay in
// registers between the passes over a panel; with two blocks on each multiprocessor, one reads
// while the other writes.
constexpr int kNormThreads = 256, kNormWarps = kNormThreads / 32, kBlocks = 2, kHeldRows = 1024;
template <int kColumns>
struct Panel {
  static constexpr int kLanes = kColumns / 4, kStep = kNormThreads / kLanes,
                       kHeld = kHeldRows / kStep;
  int column, first;

  __device__ Panel()
      : column(blockIdx.x * kColumns + 4 * (threadIdx.x % kLanes)), first(threadIdx.x / kLanes) {}

  // Calls visit(k, row) for the thread's rows; k numbers them. Without a condition between them,
  // the reads of many rows are under way at once.
  template <typename Visit>
  __device__ void rows(int count, Visit&& visit) const {
    constexpr int kAtOnce = kHeld < 16 ? kHeld : 16;
#pragma unroll
    for (int k = 0; k < kHeld; k += kAtOnce) {
      if (first + (k + kAtOnce - 1) * kStep < count) {
#pragma unroll
        for (int i = k; i < k + kAtOnce; ++i) visit(i, first + i * kStep);
      } else {
#pragma unroll
        for (int i = k; i < k + kAtOnce; ++i) {
          if (first + i * kStep < count) visit(i, first + i * kStep);
        }
      }
    }
    for (int r = first + kHeld * kStep; r < count; r += kStep) visit(kHeld, r);
  }

  // Replaces each of `mine` by its sum over the threads of the same columns.
  template <typename... Four>
  __device__ void sum(Four&... mine) const {
    constexpr int kCount = sizeof...(mine);
    __shared__ float4 parts[kCount][kNormWarps][kLanes];
    float4* const all[] = {&mine...};
    const int lane = threadIdx.x % kLanes;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      float4 x = *all[i];
#pragma unroll
      for (int offset = kLanes; offset < 32; offset *= 2)
        x = x + make_float4(__shfl_xor_sync(~0u, x.x, offset), __shfl_xor_sync(~0u, x.y, offset),
                            __shfl_xor_sync(~0u, x.z, offset), __shfl_xor_sync(~0u, x.w, offset));
      if (threadIdx.x % 32 < kLanes) parts[i][threadIdx.x / 32][lane] = x;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      *all[i] = all_four(0);
#pragma unroll
      for (int w = 0; w < kNormWarps; ++w) *all[i] = *all[i] + parts[i][w][lane];
    }
    __syncthreads();
  }
};

// The thread's part of a matrix: numbers that fit into registers are read from memory once.
template <int kColumns, typename T>
class Part {
 public:
  __device__ Part(const T* first, int stride) : first_(first), stride_(stride) {}

  // In the first pass over the rows.
  __device__ float4 read(int k, int row) {
    const Stored value = at(row);
    if (kKeeps && k < Panel<kColumns>::kHeld) held_[k] = value;
    return unpacked(value);
  }
  // In the following ones.
  __device__ float4 again(int k, int row) const {
    return unpacked(kKeeps && k < Panel<kColumns>::kHeld ? held_[k] : at(row));
  }

 private:
  using Stored = typename FourOf<T>::Type;
  static constexpr bool kKeeps = sizeof(T) == 2;
  __device__ Stored at(int row) const {
    return packed_four(first_ + static_cast<std::size_t>(row) * stride_);
  }

  const T* first_;
  int stride_;
  Stored held_[kKeeps ? Panel<kColumns>::kHeld : 1];
};

// One batch norm of all networks. Pointers are those of the first network. Rows of all matrices
// have `stride` numbers, the norm's width rounded up to a multiple of 16; gains and shifts beyond
// the width are 0.
template <typename In>
struct NormPass {
  NormPart part;
  int rows, stride;
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
    return sums + static_cast<std::size_t>(network / sharing % inputs) * rows * stride;
  }
  __device__ std::size_t matrix_of(int network) const {
    return static_cast<std::size_t>(network) * rows * stride;
  }
};

enum class After { nothing, relu, relu_and_add };

__device__ float scale_of(float variance) { return 1 / sqrtf(variance + kNormEpsilon); }

// out = norm(sums), then the ReLU; a block's second norm adds the block's input.
// blockIdx: (panel of columns, network)
template <int kColumns, After kAfter, typename In, typename T>
__global__ void __launch_bounds__(kNormThreads, kBlocks)
    norm_forward(NormPass<In> pass, const T* added, T* out) {
  const Panel<kColumns> panel;
  const int network = blockIdx.y, column = panel.column,
            rows = column < pass.stride ? pass.rows : 0;
  const NormPart& part = pass.part;
  const std::size_t at = pass.matrix_of(network) + column;
  Part<kColumns, In> sums(pass.sums_of(network) + column, pass.stride);
  Part<kColumns, T> more(added + at, pass.stride);
  float* running = pass.running + static_cast<std::size_t>(network) * pass.statistics + column;
  float4 mean = all_four(0), variance = mean, sum = mean;
  panel.rows(rows, [&](int k, int r) {
    sum = sum + sums.read(k, r);
    if (kAfter == After::relu_and_add) more.read(k, r);
  });
  if (pass.from_batch) {
    panel.sum(sum);
    mean = 1.0f / pass.rows * sum;
    sum = all_four(0);
    panel.rows(rows, [&](int k, int r) {
      const float4 d = sums.again(k, r) - mean;
      sum = sum + d * d;
    });
    panel.sum(sum);
    variance = 1.0f / pass.rows * sum;
    if (panel.first == 0 && rows > 0 && pass.momentum > 0) {
      const float unbiased = static_cast<float>(pass.rows) / (pass.rows - 1);
      const auto follow = [&](float* at, float4 batch) {
        const float4 before = load_four(at);
        store_first(at, before + pass.momentum * (batch - before), part.width - column);
      };
      follow(running + part.mean, mean);
      follow(running + part.variance, unbiased * variance);
    }
  } else if (rows > 0) {
    mean = load_four(running + part.mean);
    variance = load_four(running + part.variance);
  }
  if (rows == 0) return;
  const float4 scale = make_float4(scale_of(variance.x), scale_of(variance.y), scale_of(variance.z),
                                   scale_of(variance.w));
  if (panel.first == 0) {
    float* used = pass.used + static_cast<std::size_t>(network) * pass.statistics + column;
    store_four(used + part.mean, mean);
    store_four(used + part.variance, scale);
  }
  const float* parameters =
      pass.parameters + static_cast<std::size_t>(network) * pass.size + column;
  const float4 slope = load_four(parameters + part.gain) * scale,
               constant = load_four(parameters + part.shift) - mean * slope;
  panel.rows(rows, [&](int k, int r) {
    float4 y = sums.again(k, r) * slope + constant;
    if (kAfter != After::nothing) y = relu_four(y);
    if (kAfter == After::relu_and_add) y = y + more.again(k, r);
    store_four(out + at + static_cast<std::size_t>(r) * pass.stride, y);
  });
}

// The backward pass of norm_forward(). by_output: the gradient of its output before x is added.
// Computes that of the sums (if asked for; both may be one matrix) and, with the batch's
// statistics, of gain and shift. size: floats of a network's gradients
template <int kColumns, After kAfter, typename In, typename T, typename Out>
__global__ void __launch_bounds__(kNormThreads, kBlocks)
    norm_backward(NormPass<In> pass, const T* by_output, Out* by_sums, float* by_parameters,
                  int size) {
  const Panel<kColumns> panel;
  const int network = blockIdx.y, column = panel.column,
            rows = column < pass.stride ? pass.rows : 0;
  const NormPart& part = pass.part;
  const std::size_t at = pass.matrix_of(network) + column;
  Part<kColumns, In> sums(pass.sums_of(network) + column, pass.stride);
  Part<kColumns, T> outer(by_output + at, pass.stride);
  // normal = scale * sum + offset; the norm's output = slope * sum + constant
  float4 scale = all_four(0), offset = scale, slope = scale, constant = scale;
  if (rows > 0) {
    const float* used = pass.used + static_cast<std::size_t>(network) * pass.statistics + column;
    const float* parameters =
        pass.parameters + static_cast<std::size_t>(network) * pass.size + column;
    const float4 mean = load_four(used + part.mean);
    scale = load_four(used + part.variance);
    offset = -1.0f * (mean * scale);
    slope = load_four(parameters + part.gain) * scale;
    constant = load_four(parameters + part.shift) - mean * slope;
  }
  // the gradient behind the ReLU
  const auto masked = [&](float4 x, float4 d) {
    const float4 y = x * slope + constant;
    return kAfter == After::nothing ? d
                                    : make_float4(y.x > 0 ? d.x : 0, y.y > 0 ? d.y : 0,
                                                  y.z > 0 ? d.z : 0, y.w > 0 ? d.w : 0);
  };
  float4 sum = all_four(0), products = sum;
  panel.rows(rows, [&](int k, int r) {
    const float4 x = sums.read(k, r), d = masked(x, outer.read(k, r));
    sum = sum + d;
    products = products + d * (x * scale + offset);
  });
  // the gradient of a sum = slope * (d - mean d - normal * mean (d * normal)), the last two only
  // with the batch's statistics
  float4 by_sum = all_four(0), by_constant = by_sum;
  if (pass.from_batch) {
    panel.sum(sum, products);
    if (panel.first == 0 && rows > 0) {
      float* gradient = by_parameters + static_cast<std::size_t>(network) * size + column;
      store_four(gradient + part.gain, products);
      store_four(gradient + part.shift, sum);
    }
    const float4 share = -1.0f / pass.rows * slope;
    by_sum = share * products * scale;
    by_constant = share * (sum + products * offset);
  }
  if (!by_sums) return;
  panel.rows(rows, [&](int k, int r) {
    const float4 x = sums.again(k, r), d = masked(x, outer.again(k, r));
    store_four(by_sums + at + static_cast<std::size_t>(r) * pass.stride,
               slope * d + (x * by_sum + by_constant));
  });
}

// ---- the RMS norm: one warp for each row

constexpr int kRowThreads = 256, kRowWarps = kRowThreads / 32;

template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    rms_forward(NormPart part, int rows, const float* parameters, int size,
                const T* __restrict__ in, T* __restrict__ out, float* scales) {
  const int network = blockIdx.y, r = blockIdx.x * kRowWarps + threadIdx.x / 32,
            lane = threadIdx.x % 32;
  if (r >= rows) return;
  const std::size_t row = static_cast<std::size_t>(network) * rows + r, at = row * part.width;
  const float* gain = parameters + static_cast<std::size_t>(network) * size + part.gain;
  float squares = 0;
  for (int i = 4 * lane; i < part.width; i += 128) {
    const float4 x = load_four(in + at + i);
    squares += sum_of_four(x * x);
  }
  const float scale = 1 / sqrtf(sum_of_warp(squares) / part.width + kRmsNormEpsilon);
  for (int i = 4 * lane; i < part.width; i += 128)
    store_four(out + at + i, scale * (load_four(in + at + i) * load_four(gain + i)));
  if (lane == 0) scales[row] = scale;
}

// From the gradient of the output to that of the input.
template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    rms_backward(NormPart part, int rows, const float* parameters, int size,
                 const T* __restrict__ in, const float* scales, const T* __restrict__ by_output,
                 T* __restrict__ by_input) {
  const int network = blockIdx.y, r = blockIdx.x * kRowWarps + threadIdx.x / 32,
            lane = threadIdx.x % 32;
  if (r >= rows) return;
  const std::size_t row = static_cast<std::size_t>(network) * rows + r, at = row * part.width;
  const float* gain = parameters + static_cast<std::size_t>(network) * size + part.gain;
  const float scale = scales[row];
  float products = 0;
  for (int i = 4 * lane; i < part.width; i += 128)
    products +=
        sum_of_four(load_four(by_output + at + i) * load_four(gain + i) * load_four(in + at + i));
  const float mean = scale * scale * sum_of_warp(products) / part.width;
  for (int i = 4 * lane; i < part.width; i += 128) {
    const float4 d = load_four(by_output + at + i) * load_four(gain + i);
    store_four(by_input + at + i, scale * (d - mean * load_four(in + at + i)));
  }
}

// Sums over the rows: of gradient * in * scale for the gain, and of the head's gradient for its
// bias. blockIdx: (panel of columns, network)
template <int kColumns, typename T>
__global__ void __launch_bounds__(kNormThreads)
    sum_rows(int columns, int stride, int rows, const T* gradient, const T* in, const float* scales,
             float* out, int size) {
  const Panel<kColumns> panel;
  const int network = blockIdx.y, column = panel.column;
  const std::size_t first = static_cast<std::size_t>(network) * rows;
  float4 sum = all_four(0);
  for (int r = panel.first; r < rows && column < columns; r += panel.kStep) {
    float4 d = load_four(gradient + (first + r) * stride + column);
    if (in) d = scales[first + r] * (d * load_four(in + (first + r) * stride + column));
    sum = sum + d;
  }
  panel.sum(sum);
  if (panel.first == 0)
    store_first(out + static_cast<std::size_t>(network) * size + column, sum, columns - column);
}

// Calls use(columns, blocks) with the width of panels, at most kWidest, for which the GPU is done
// first: it has room for so many blocks at once, and narrow panels read less well.
template <int kWidest, typename Use>
void with_panels(int networks, int columns, Use&& use) {
  constexpr int kAtOnce = kBlocks * 132;
  const auto time = [&](int width) {
    return parts_of(networks * parts_of(columns, width), kAtOnce) * (width + 8);
  };
  if constexpr (kWidest > 8) {
    if (time(kWidest / 2) < time(kWidest)) return with_panels<kWidest / 2>(networks, columns, use);
  }
  use(std::integral_constant<int, kWidest>{}, dim3(parts_of(columns, kWidest), networks));
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
  features = memory.take<T>(all * shape.width());
  stream = memory.take<T>(all * shape.width());
  input = memory.take<T>(all * shape.input.stride);
  for (int b = 0; b < shape.blocks; ++b) {
    up[b] = memory.take<T>(all * shape.expanded());
    down[b] = memory.take<T>(all * shape.width());
  }
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
  cudaStream_t stream;

  // shared: networks that take the same sums; inputs: matrices of sums.
  template <typename In>
  NormPass<In> pass(const NormPart& part, const In* sums, int stride, int shared,
                    int inputs) const {
    return {part,
            rows,
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
  // Each network takes its own sums.
  NormPass<T> pass(const NormPart& part, const T* sums) const {
    return pass(part, sums, part.width, 1, networks);
  }
  template <After kAfter, typename In>
  void forward(const NormPass<In>& pass, const T* added, T* out) const {
    constexpr int kWidest = kAfter == After::relu_and_add ? 16 : 32;  // room in the registers
    with_panels<kWidest>(networks, pass.stride, [&](auto columns, dim3 blocks) {
      launch(norm_forward<columns, kAfter, In, T>, blocks, kNormThreads, 0, stream, pass, added,
             out);
    });
  }
  template <After kAfter, typename In, typename Out>
  void backward(const NormPass<In>& pass, const T* by_output, Out* by_sums,
                float* by_parameters) const {
    with_panels<16>(networks, pass.stride, [&](auto columns, dim3 blocks) {
      launch(norm_backward<columns, kAfter, In, T, Out>, blocks, kNormThreads, 0, stream, pass,
             by_output, by_sums, by_parameters, shape.padded_size);
    });
  }
};

}  // namespace

template <typename T>
void ResidualPasses<T>::forward(const Products& products, const Weights<T>& weights,
                                const float* inputs, int rows, Statistics statistics,
                                float momentum, Activations<T>& out) const {
  const ResidualShape& s = shape_;
  const cudaStream_t stream = products.stream();
  const Norms<T> norms{s, weights, networks_, rows, statistics, momentum, out, stream};
  const auto product = [&](const LinearPart& part, const T* x, auto* y, int outputs) {
    products.forward(networks_, rows, part.stride, outputs, matrices<const T>(x, part.stride, rows),
                     weights_of(weights, part), matrices(y, outputs, rows));
  };
  norms.template forward<After::nothing>(
      norms.pass(s.input_norm, inputs, s.input.stride, sharing_, inputs_), nullptr, out.input);
  product(s.input, out.input, out.stream[0], s.width());
  for (int b = 0; b < s.blocks; ++b) {
    const ResidualShape::Block& block = s.block[b];
    product(block.up, out.stream[b], out.up[b], s.expanded());
    norms.template forward<After::relu>(norms.pass(block.up_norm, out.up[b]), nullptr,
                                        out.active[b]);
    product(block.down, out.active[b], out.down[b], s.width());
    norms.template forward<After::relu_and_add>(norms.pass(block.down_norm, out.down[b]),
                                                out.stream[b], out.stream[b + 1]);
  }
  launch(rms_forward<T>, dim3(parts_of(rows, kRowWarps), networks_), kRowThreads, 0, stream,
         s.output_norm, rows, weights.parameters, s.size, out.stream[s.blocks], out.features,
         out.scale);
  product(s.head, out.features, out.output, s.output_stride());
}

template <typename T>
void ResidualPasses<T>::backward(const TwoStreams& products, const Weights<T>& weights,
                                 const float* inputs, int rows, const Activations<T>& at,
                                 Gradients& gradients, float* by_parameters,
                                 float* by_input) const {
  const ResidualShape& s = shape_;
  const cudaStream_t stream = products.main.stream();
  const Statistics statistics = by_parameters ? Statistics::batch : Statistics::running;
  const Norms<T> norms{s, weights, networks_, rows, statistics, 0, at, stream};
  // the gradients of a layer's weights, where asked for, and of its inputs
  const auto product = [&](const LinearPart& part, const T* by_output, int outputs, const T* x,
                           T* by_x, bool add) {
    const auto dy = matrices<const T>(by_output, outputs, rows);
    if (by_parameters) {
      products.fork();
      products.side.gradient(
          networks_, rows, part.stride, outputs, dy, matrices<const T>(x, part.stride, rows),
          Matrices<float>{by_parameters + part.weights, part.stride, s.padded_size});
    }
    products.main.backward(networks_, rows, part.stride, outputs, dy, weights_of(weights, part),
                           matrices(by_x, part.stride, rows), add);
  };
  const auto sum = [&](int columns, int stride, const T* gradient, const T* in, float* out) {
    if (!by_parameters) return;
    products.fork();
    with_panels<16>(networks_, columns, [&](auto width, dim3 blocks) {
      launch(sum_rows<width, T>, blocks, kNormThreads, 0, products.side.stream(), columns, stride,
             rows, gradient, in, at.scale, out, s.padded_size);
    });
  };
  product(s.head, gradients.output, s.output_stride(), at.features, gradients.features, false);
  sum(s.head.outputs, s.output_stride(), gradients.output, nullptr, by_parameters + s.padded_bias);
  sum(s.width(), s.width(), gradients.features, at.stream[s.blocks],
      by_parameters + s.output_norm.gain);
  launch(rms_backward<T>, dim3(parts_of(rows, kRowWarps), networks_), kRowThreads, 0, stream,
         s.output_norm, rows, weights.parameters, s.size, at.stream[s.blocks], at.scale,
         gradients.features, gradients.stream);
  for (int b = s.blocks - 1; b >= 0; --b) {
    const ResidualShape::Block& block = s.block[b];
    T *up = gradients.up[b], *down = gradients.down[b];
    norms.template backward<After::relu>(norms.pass(block.down_norm, at.down[b]), gradients.stream,
                                         down, by_parameters);
    product(block.down, down, s.width(), at.active[b], up, false);
    norms.template backward<After::relu>(norms.pass(block.up_norm, at.up[b]), up, up,
                                         by_parameters);
    product(block.up, up, s.expanded(), at.stream[b], gradients.stream, true);
  }
  product(s.input, gradients.stream, s.width(), at.input, gradients.input, false);
  norms.template backward<After::nothing>(
      norms.pass(s.input_norm, inputs, s.input.stride, sharing_, inputs_), gradients.input,
      by_input, by_parameters);
  if (by_parameters) products.join();
}

template class ResidualPasses<float>;
template class ResidualPasses<__half>;
template struct Activations<float>;
template struct Activations<__half>;

}  // namespace ovde::cuda::residual
