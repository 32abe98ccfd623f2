#include "nn/residual.h"

#include <algorithm>
#include <cmath>

#include "nn/norm.h"

namespace ovde {

namespace {

std::size_t padded(int n) { return static_cast<std::size_t>(round_up(n, 16)); }

// A sum in eight parts, which the compiler may compute side by side.
double dot(const double* x, const double* y, int n) {
  double part[8] = {};
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int p = 0; p < 8; ++p) part[p] += x[i + p] * y[i + p];
  }
  double sum = 0;
  for (const double p : part) sum += p;
  for (; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

// `count` orthogonal vectors of length 1 and size `size`, uniformly distributed: the modified
// Gram-Schmidt process on normal numbers.
std::vector<double> orthogonal(int count, int size, Random& random) {
  std::vector<double> all(static_cast<std::size_t>(count) * size);
  for (double& x : all) x = random.normal();
  for (int k = 0; k < count; ++k) {
    double* x = all.data() + static_cast<std::size_t>(k) * size;
    for (int j = 0; j < k; ++j) {
      const double* y = all.data() + static_cast<std::size_t>(j) * size;
      const double along = dot(x, y, size);
      for (int i = 0; i < size; ++i) x[i] -= along * y[i];
    }
    const double length = std::sqrt(dot(x, x, size));
    for (int i = 0; i < size; ++i) x[i] /= length;
  }
  return all;
}

// Lanes of the last block that hold samples count 1, others 0.
Vector counts(const Batch& batch, int b, int v) {
  const int samples = batch.samples() - b * kLanes - v * kVector;
  Vector mask{};
  for (int i = 0; i < kVector; ++i) mask[i] = i < samples ? 1.0f : 0.0f;
  return mask;
}

// work(batch, offset, mask) for every vector of row f of both batches; the mask is 1 for samples.
template <typename Work>
void for_each_sample(const ResidualTrace::Pair& like, int f, Work&& work) {
  for (int p = 0; p < 2; ++p) {
    const Batch& batch = like[p];
    const int whole = batch.samples() / kLanes;
    for (int b = 0; b < batch.blocks(); ++b) {
      for (int v = 0; v < kVectorsPerBlock; ++v) {
        const std::size_t at = batch.row(b, f) + v * kVector - batch.block(0);
        work(p, at, b < whole ? splat(1) : counts(batch, b, v));
      }
    }
  }
}

// The first or the second half of a norm's features.
struct Features {
  Features(int width, int half)
      : first(half == 0 ? 0 : width / 2), last(half == 0 ? width / 2 : width) {}
  int first, last;
};

}  // namespace

ResidualShape::ResidualShape(int inputs, int width, int blocks, int expansion, int outputs) {
  const auto add_norm = [&](int features) {
    norms_.push_back(
        {features, size_, size_ + padded(features), statistics_, statistics_ + padded(features)});
    size_ += 2 * padded(features);
    statistics_ += 2 * padded(features);
  };
  const auto add_linear = [&](int from, int to) {
    linears_.push_back({from, to, static_cast<int>(padded(from)), size_});
    size_ += static_cast<std::size_t>(to) * linears_.back().stride;
  };
  add_norm(inputs);
  add_linear(inputs, width);
  for (int b = 0; b < blocks; ++b) {
    add_linear(width, expansion * width);
    add_norm(expansion * width);
    add_linear(expansion * width, width);
    add_norm(width);
  }
  head_gain_ = size_;
  size_ += padded(width);
  add_linear(width, outputs);
  head_bias_ = size_;
  size_ += padded(outputs);
}

int ResidualShape::widest() const {
  int widest = inputs();
  for (const Linear& linear : linears_) widest = std::max(widest, linear.outputs);
  return widest;
}

double ResidualShape::products(int first_layer) const {
  double sum = 0;
  for (std::size_t l = first_layer; l < linears_.size(); ++l)
    sum += double(linears_[l].inputs) * linears_[l].outputs;
  return sum;
}

MlpShape ResidualShape::acting() const {
  return MlpShape::residual(inputs(), width(), blocks(), linears_[1].outputs / width(), outputs());
}

void initialise(const ResidualShape& shape, std::uint64_t seed, std::uint32_t network,
                std::span<float> parameters) {
  std::ranges::fill(parameters, 0.0f);
  Random random(seed, Stream::initial_parameters, network);
  for (const auto& linear : shape.linears()) {
    // orthogonal rows, or columns where there are more rows than that
    const bool rows = linear.outputs <= linear.inputs;
    const int count = std::min(linear.outputs, linear.inputs);
    const int size = std::max(linear.outputs, linear.inputs);
    const std::vector<double> all = orthogonal(count, size, random);
    for (int o = 0; o < linear.outputs; ++o) {
      float* row = parameters.data() + linear.weights + static_cast<std::size_t>(o) * linear.stride;
      for (int i = 0; i < linear.inputs; ++i) {
        const std::size_t k = rows ? o : i, at = rows ? i : o;
        row[i] = static_cast<float>(all[k * size + at]);
      }
    }
  }
  for (const auto& norm : shape.norms())
    std::fill_n(parameters.begin() + norm.gain, norm.width, 1.0f);
  std::fill_n(parameters.begin() + shape.head_gain(), shape.width(), 1.0f);
  project(shape, parameters);
}

void initialise_statistics(const ResidualShape& shape, std::span<float> statistics) {
  std::ranges::fill(statistics, 0.0f);
  for (const auto& norm : shape.norms())
    std::fill_n(statistics.begin() + norm.variance, norm.width, 1.0f);
}

void project(const ResidualShape& shape, std::span<float> parameters) {
  const auto squares = [&](std::size_t first, int n) {
    Vector sum{};  // beyond n: zero
    for (int i = 0; i < round_up(n, 16); i += kVector) {
      const Vector x = load(parameters.data() + first + i);
      sum += x * x;
    }
    return sum_lanes(sum);
  };
  const auto multiply = [&](std::size_t first, int n, float factor) {
    for (int i = 0; i < n; ++i) parameters[first + i] *= factor;
  };
  for (const auto& linear : shape.linears()) {
    for (int o = 0; o < linear.outputs; ++o) {
      const std::size_t row = linear.weights + static_cast<std::size_t>(o) * linear.stride;
      multiply(row, linear.inputs, projection(1, squares(row, linear.inputs), AccurateMath{}));
    }
  }
  for (const auto& norm : shape.norms()) {
    const float factor =
        projection(norm.width, squares(norm.gain, norm.width) + squares(norm.shift, norm.width),
                   AccurateMath{});
    multiply(norm.gain, norm.width, factor);
    multiply(norm.shift, norm.width, factor);
  }
  multiply(shape.head_gain(), shape.width(),
           projection(shape.width(), squares(shape.head_gain(), shape.width()), AccurateMath{}));
}

void fold(const ResidualShape& shape, std::span<const float> parameters,
          std::span<const float> statistics, const MlpShape& acting, std::span<float> folded) {
  // a norm is  factor * z + addend
  const auto factor = [&](const ResidualShape::Norm& norm, int f) {
    return parameters[norm.gain + f] / std::sqrt(statistics[norm.variance + f] + kNormEpsilon);
  };
  const auto addend = [&](const ResidualShape::Norm& norm, int f) {
    return parameters[norm.shift + f] - statistics[norm.mean + f] * factor(norm, f);
  };
  const int head = acting.layers() - 1;
  for (int l = 0; l <= head; ++l) {
    const auto& from = shape.linears()[l];
    const float* w = parameters.data() + from.weights;
    float *out = folded.data() + acting.layer(l).weights,
          *bias = folded.data() + acting.layer(l).bias;
    if (l > 0 && l < head) {  // the norm follows the layer
      const auto& norm = shape.norms()[l];
      for (int o = 0; o < from.outputs; ++o, w += from.stride, out += from.stride) {
        const float scale = factor(norm, o);
        for (int i = 0; i < from.inputs; ++i) out[i] = w[i] * scale;
        bias[o] = addend(norm, o);
      }
      continue;
    }
    // the norm of the input comes before the layer, and so does the gain of the RMS norm
    for (int o = 0; o < from.outputs; ++o)
      bias[o] = l == head ? parameters[shape.head_bias() + o] : 0;
    for (int i = 0; i < from.inputs; ++i) {
      const float scale =
          l == head ? parameters[shape.head_gain() + i] : factor(shape.norms()[0], i);
      const float constant = l == head ? 0 : addend(shape.norms()[0], i);
      for (int o = 0; o < from.outputs; ++o) {
        const std::size_t at = static_cast<std::size_t>(o) * from.stride + i;
        out[at] = w[at] * scale;
        bias[o] += w[at] * constant;
      }
    }
  }
}

ResidualTrace::ResidualTrace(const ResidualShape& shape, int samples)
    : head_normal(shape.width(), samples),
      head_scale(1, samples),
      head_input(shape.width(), samples),
      head_output(shape.outputs(), samples),
      moments(shape.statistics()),
      scale(shape.statistics()) {
  for (const auto& norm : shape.norms()) {
    const Batch batch(norm.width, samples);
    normal.push_back({batch, batch});
    output.push_back({batch, batch});
  }
  for (int b = 0; b <= shape.blocks(); ++b) {
    const Batch batch(shape.width(), samples);
    sum.push_back({batch, batch});
  }
}

ResidualDeltas::ResidualDeltas(const ResidualShape& shape, int samples) {
  for (int p = 0; p < 2; ++p) {
    input[p] = Batch(shape.inputs(), samples);
    sum[p] = narrow[p] = Batch(shape.width(), samples);
    wide[p] = Batch(shape.linears()[1].outputs, samples);
    gradient[p] = Buffer(shape.size());
    bias[p] = Buffer(padded(shape.widest()));
    scratch[p] = GradientScratch(shape.widest(), samples);
  }
}

Residual::Residual(const ResidualShape& shape, Mlp::Use use)
    : shape_(shape), zeros_(padded(shape.widest())) {
  for (const auto& linear : shape.linears()) {
    panels_.emplace_back(linear.outputs, linear.inputs,
                         use == Mlp::Use::forward ? 0 : linear.inputs);
  }
}

void Residual::pack(std::span<const float> parameters) {
  for (std::size_t l = 0; l < panels_.size(); ++l) {
    const auto& linear = shape_.linears()[l];
    panels_[l].pack(parameters.data() + linear.weights, linear.stride);
  }
}

void Residual::linear(int l, const Batch& x, Batch& y) const {
  product_forward(panels_[l].forward, zeros_.data(), Activation::none, x, y, all_blocks(x));
}

void Residual::forward(std::span<const float> parameters, const BatchPair& input, int which,
                       ResidualTrace& trace, Team& team) const {
  auto& [normal, output, sum, head_normal, head_scale, head_input, head_output, moments, scale] =
      trace;
  team.run(2, [&](int half) {
    forward_norm(0, parameters, {&input.first, &input.second}, trace, half);
  });
  team.run(2, [&](int p) {
    linear(0, output[0][p], sum[0][p]);
    linear(1, sum[0][p], normal[1][p]);
  });
  for (int l = 1; l <= 2 * shape_.blocks(); ++l) {
    team.run(2, [&](int half) {
      forward_norm(l, parameters, {&normal[l][0], &normal[l][1]}, trace, half);
    });
    team.run(2, [&](int p) {
      if (l % 2 == 1) return linear(l + 1, output[l][p], normal[l + 1][p]);
      const Blocks all = all_blocks(input.first);
      add(sum[l / 2 - 1][p], output[l][p], sum[l / 2][p], all);
      if (l < 2 * shape_.blocks()) return linear(l + 1, sum[l / 2][p], normal[l + 1][p]);
      if (p != which) return;
      rms_norm(sum.back()[p], head_normal, head_scale, all);
      for (int b = all.first; b < all.last; ++b) {
        for_each_vector(shape_.width(), [&](int f, int, int at) {
          store(head_input.block(b) + at,
                load(head_normal.block(b) + at) * parameters[shape_.head_gain() + f]);
        });
      }
      product_forward(panels_.back().forward, parameters.data() + shape_.head_bias(),
                      Activation::none, head_input, head_output, all);
    });
  }
}

// n = (x - mean) / sqrt(variance + epsilon) over both batches; output = gain * n + shift, with a
// ReLU in blocks.
void Residual::forward_norm(int number, std::span<const float> parameters,
                            std::array<const Batch*, 2> x, ResidualTrace& trace, int half) const {
  const auto& norm = shape_.norms()[number];
  auto &normal = trace.normal[number], &output = trace.output[number];
  const Vector floor = splat(number == 0 ? -__builtin_inff() : 0);
  const float share = 1.0f / static_cast<float>(2 * normal[0].samples());
  const Features features(norm.width, half);
  for (int f = features.first; f < features.last; ++f) {
    Vector sum{}, squares{};
    for_each_sample(normal, f, [&](int p, std::size_t at, Vector mask) {
      sum += load(x[p]->block(0) + at) * mask;
    });
    const float mean = sum_lanes(sum) * share;
    for_each_sample(normal, f, [&](int p, std::size_t at, Vector mask) {
      const Vector deviation = (load(x[p]->block(0) + at) - mean) * mask;
      squares += deviation * deviation;
    });
    const float variance = sum_lanes(squares) * share;
    const float scale = 1.0f / std::sqrt(variance + kNormEpsilon);
    const float gain = parameters[norm.gain + f], shift = parameters[norm.shift + f];
    for_each_sample(normal, f, [&](int p, std::size_t at, Vector) {
      const Vector n = (load(x[p]->block(0) + at) - mean) * scale, y = n * gain + shift;
      store(normal[p].block(0) + at, n);
      store(output[p].block(0) + at, y < floor ? floor : y);
    });
    trace.moments[norm.mean + f] = mean;
    trace.moments[norm.variance + f] = variance;
    trace.scale[norm.mean + f] = scale;
  }
}

// The gradients of gain and shift and, unless dx is null, dx = scale * gain * (dy - mean(dy) - n *
// mean(dy * n)) over both batches. In blocks, dy passes the ReLU first. dx may be dy.
void Residual::backward_norm(int number, std::span<const float> parameters,
                             const ResidualTrace& trace, const ResidualTrace::Pair& dy,
                             ResidualTrace::Pair* dx, float* gradient, int half) const {
  const auto& norm = shape_.norms()[number];
  const auto &normal = trace.normal[number], &output = trace.output[number];
  const float share = 1.0f / static_cast<float>(2 * normal[0].samples());
  const auto masked = [&](int p, std::size_t at) {
    const Vector d = load(dy[p].block(0) + at);
    if (number == 0) return d;
    return load(output[p].block(0) + at) > 0 ? d : Vector{};
  };
  const Features features(norm.width, half);
  for (int f = features.first; f < features.last; ++f) {
    Vector by_gain{}, by_shift{};
    for_each_sample(normal, f, [&](int p, std::size_t at, Vector) {
      const Vector d = masked(p, at);
      by_gain += d * load(normal[p].block(0) + at);
      by_shift += d;
    });
    const float correlation = sum_lanes(by_gain), sum = sum_lanes(by_shift);
    gradient[norm.gain + f] = correlation;
    gradient[norm.shift + f] = sum;
    if (dx == nullptr) continue;
    const float factor = trace.scale[norm.mean + f] * parameters[norm.gain + f];
    for_each_sample(normal, f, [&](int p, std::size_t at, Vector mask) {
      const Vector n = load(normal[p].block(0) + at);
      const Vector d = masked(p, at) - sum * share - n * (correlation * share);
      store((*dx)[p].block(0) + at, d * factor * mask);
    });
  }
}

void Residual::backward(std::span<const float> parameters, const ResidualTrace& trace,
                        const Batch& output_gradient, ResidualDeltas& deltas, Team& team) const {
  auto& [input, sum, narrow, wide, gradient, bias, scratch] = deltas;
  const Blocks all = all_blocks(output_gradient);
  const auto weights = [&](int l, const Batch& dy, const Batch& x, int p) {
    const auto& linear = shape_.linears()[l];
    weight_gradient<false>(dy, x, all, gradient[p].data() + linear.weights, linear.stride,
                           bias[p].data(), scratch[p]);
  };
  const int last = 2 * shape_.blocks();

  // the head, at the first batch alone
  team.run(2, [&](int p) {
    if (p == 1) {
      for (int b = all.first; b < all.last; ++b)
        std::fill_n(sum[1].block(b), sum[1].features() * kLanes, 0.0f);
      return;
    }
    const auto& head = shape_.head();
    weight_gradient<false>(output_gradient, trace.head_input, all,
                           gradient[0].data() + head.weights, head.stride,
                           gradient[0].data() + shape_.head_bias(), scratch[0]);
    product_backward(panels_.back().backward, output_gradient, nullptr, sum[0], all);
    for (int f = 0; f < shape_.width(); ++f) {
      const float gain = parameters[shape_.head_gain() + f];
      Vector by_gain{};
      over_samples(all, [&](int b, int v) {
        const Vector d = load(sum[0].row(b, f) + v);
        by_gain += d * load(trace.head_normal.row(b, f) + v);
        store(sum[0].row(b, f) + v, d * gain);
      });
      gradient[0][shape_.head_gain() + f] = sum_lanes(by_gain);
    }
    back_through_rms_norm(trace.head_normal, trace.head_scale, sum[0], all);
  });

  // the blocks; their input's gradient is added to that of their sum
  for (int l = last; l > 0; l -= 2) {
    team.run(2, [&](int half) {
      backward_norm(l, parameters, trace, sum, &narrow, gradient[0].data(), half);
    });
    team.run(2, [&](int p) {
      weights(l, narrow[p], trace.output[l - 1][p], p);
      product_backward(panels_[l].backward, narrow[p], nullptr, wide[p], all);
    });
    team.run(2, [&](int half) {
      backward_norm(l - 1, parameters, trace, wide, &wide, gradient[0].data(), half);
    });
    team.run(2, [&](int p) {
      weights(l - 1, wide[p], trace.sum[l / 2 - 1][p], p);
      product_backward(panels_[l - 1].backward, wide[p], nullptr, narrow[p], all);
      add(sum[p], narrow[p], sum[p], all);
    });
  }

  // the input
  team.run(2, [&](int p) {
    weights(0, sum[p], trace.output[0][p], p);
    product_backward(panels_[0].backward, sum[p], nullptr, input[p], all);
  });
  team.run(2, [&](int half) {
    backward_norm(0, parameters, trace, input, nullptr, gradient[0].data(), half);
  });
}

void Residual::follow(const ResidualTrace& trace, std::span<float> statistics) const {
  const float n = static_cast<float>(2 * trace.head_output.samples());
  for (const auto& norm : shape_.norms()) {
    for (int f = 0; f < norm.width; ++f) {
      float &mean = statistics[norm.mean + f], &variance = statistics[norm.variance + f];
      const float unbiased = trace.moments[norm.variance + f] * (n / (n - 1));
      mean += kStatisticsMomentum * (trace.moments[norm.mean + f] - mean);
      variance += kStatisticsMomentum * (unbiased - variance);
    }
  }
}

}  // namespace ovde
