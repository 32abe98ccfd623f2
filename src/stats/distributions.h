// The distributions the tests of significance need, from Boost.Math, computed in double precision
// throughout: promotion to long double would give other last digits on machines where that type is
// wider or slower.
#pragma once

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/hypergeometric.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace ovde {

using DoubleOnly = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

using ChiSquared = boost::math::chi_squared_distribution<double, DoubleOnly>;
using Hypergeometric = boost::math::hypergeometric_distribution<double, DoubleOnly>;
using NonCentralT = boost::math::non_central_t_distribution<double, DoubleOnly>;
using Normal = boost::math::normal_distribution<double, DoubleOnly>;
using StudentsT = boost::math::students_t_distribution<double, DoubleOnly>;

}  // namespace ovde
