// The exceptions of the project. A message is written for the person who has to act on it; `cli`
// catches both once and turns them into an exit code.
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
