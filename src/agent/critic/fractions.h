// The random fractions at which an implicit quantile network is asked: [0, 1] cut into N intervals
// of random width, in each its midpoint. Every sample has its own.
#pragma once

#include <cstdint>

#include "nn/batch.h"

namespace ovde {

struct Fractions {
  Fractions() = default;
  Fractions(int count, int samples) : midpoint(count, samples), weight(count, samples) {}
  Batch midpoint;  // (N x batch): tau
  Batch weight;    // (N x batch): width of the interval times N, so that equal ones count 1 each
};

// What a set of an update is for: each is drawn anew.
enum class FractionsFor { target, prediction, policy };

// The set of update number `update`: addressed by (update, purpose, fraction, sample).
void draw_fractions(std::uint64_t seed, std::uint64_t update, FractionsFor purpose,
                    Fractions& fractions);

// The intervals, given a number U(0, 1) for each in `weight`: widths proportional to U + 0.1, so
// that none is lost.
void cut_interval(Fractions& fractions);

}  // namespace ovde
