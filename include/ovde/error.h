// The one exception type of the project. Its message is written for the person who has to act on
// it; `cli` catches it once and turns it into an exit code.
#pragma once

#include <stdexcept>
#include <string>

namespace ovde {

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

// Wrong usage or input (exit code 2); everything else is a failure of the work itself (exit code
// 1).
class InputError : public Error {
 public:
  using Error::Error;
};

}  // namespace ovde
