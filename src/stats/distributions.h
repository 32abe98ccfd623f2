// Probabilities of the distributions that the tests need, to about twelve digits.
#pragma once

namespace ovde {

// P(Z > z) of a standard normal variable.
double normal_tail(double z);

// P(T > t) for Student's t with `degrees` of freedom, at least one. With a shift: of the noncentral
// distribution, T = (Z + shift) / S.
double t_tail(double t, double degrees, double shift = 0);

// The t above which Student's distribution has the probability `tail`, between 0 and a half.
double t_quantile(double tail, double degrees);

}  // namespace ovde
