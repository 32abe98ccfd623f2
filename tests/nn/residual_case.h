// A residual network with random parameters and statistics, and two random batches.
#pragma once

#include <ovde/random.h>
#include "nn/residual.h"

namespace ovde {

struct ResidualCase {
  ResidualCase(const ResidualShape& shape, int samples) : shape(shape) {
    initialise(shape, 1, 0, parameters);
    initialise_statistics(shape, statistics);
    const auto draw = [&](double low, double high) {
      return static_cast<float>(random.uniform(low, high));
    };
    for (const auto& norm : shape.norms()) {
      for (int f = 0; f < norm.width; ++f) {
        parameters[norm.gain + f] = draw(0.5, 1.5);
        parameters[norm.shift + f] = draw(-0.5, 0.5);
        statistics[norm.mean + f] = draw(-1, 1);
        statistics[norm.variance + f] = draw(0.5, 2);
      }
    }
    for (int f = 0; f < shape.width(); ++f) parameters[shape.head_gain() + f] = draw(0.5, 1.5);
    for (int o = 0; o < shape.outputs(); ++o) parameters[shape.head_bias() + o] = draw(-1, 1);
    first = filled(shape.inputs(), samples);
    second = filled(shape.inputs(), samples);
    slope = filled(shape.outputs(), samples);
  }

  Batch filled(int features, int samples) {
    Batch batch(features, samples);
    for (int s = 0; s < samples; ++s) {
      for (int f = 0; f < features; ++f) batch.at(f, s) = static_cast<float>(random.normal());
    }
    return batch;
  }
  BatchPair input() const { return {first, second}; }

  ResidualShape shape;
  Random random{2, Stream::user};
  Buffer parameters = Buffer(shape.size()), statistics = Buffer(shape.statistics());
  Batch first, second;
  Batch slope;  // gradient of the outputs
};

}  // namespace ovde
