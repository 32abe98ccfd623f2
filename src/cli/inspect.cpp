// ovde inspect: a page about the exploration of one run.
#include "study/report/inspect.h"

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/text.h"
#include "cli/commands.h"

namespace ovde::cli {

namespace {

// Two numbers with a separator between them.
template <typename T>
std::pair<T, T> two_numbers(const std::string& text, char separator, const char* option,
                            const char* form) {
  const std::size_t middle = text.find(separator, 1);  // the first number may have a sign
  if (middle != std::string::npos) {
    const auto first = parse_number<T>(text.substr(0, middle));
    const auto second = parse_number<T>(text.substr(middle + 1));
    if (first && second) return {*first, *second};
  }
  throw InputError(fmt::format("{} {}: must have the form {}", option, text, form));
}

}  // namespace

void run(const InspectCommand& command) {
  InspectRequest request;
  request.run = command.folder;
  request.out = command.out.value_or(request.run / "inspect");
  request.epochs = command.epochs;
  if (command.shared_scale) request.scale = Scale::shared;
  if (command.steps)
    request.steps = two_numbers<std::int64_t>(*command.steps, '-', "--steps", "A-B");
  if (command.state) {
    const auto [x, y] = two_numbers<double>(*command.state, ',', "--state", "X,Y");
    request.state = {x, y};
  }

  print_report(write_inspection(request));
}

}  // namespace ovde::cli
