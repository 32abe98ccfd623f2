// ovde inspect: a page about the exploration of one run.
#include "study/report/inspect.h"

#include <charconv>

#include <fmt/format.h>

#include <ovde/error.h>
#include "cli/commands.h"
#include "cli/console/text.h"

namespace ovde::cli {

namespace {

// Two numbers with a separator between them.
template <typename T>
std::pair<T, T> two_numbers(const std::string& text, char separator, const char* option,
                            const char* form) {
  const auto refuse = [&] {
    throw InputError(fmt::format("{} {}: must have the form {}", option, text, form));
  };
  const auto number = [&](const char*& at) {
    T value{};
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), value);
    if (error != std::errc()) refuse();
    at = end;
    return value;
  };
  const char* at = text.data();
  const T first = number(at);
  if (at == text.data() + text.size() || *at++ != separator) refuse();
  const T second = number(at);
  if (at != text.data() + text.size()) refuse();
  return {first, second};
}

}  // namespace

void run(const InspectCommand& command) {
  InspectRequest request;
  request.run = command.folder;
  request.out = command.out ? std::filesystem::path(*command.out) : request.run / "inspect";
  request.epochs = command.epochs;
  if (command.shared_scale) request.scale = Scale::shared;
  if (command.steps)
    request.steps = two_numbers<std::int64_t>(*command.steps, '-', "--steps", "A-B");
  if (command.state) {
    const auto [x, y] = two_numbers<double>(*command.state, ',', "--state", "X,Y");
    request.state = {x, y};
  }

  const Report report = write_inspection(request);
  for (const std::string& remark : report.remarks) print("{}\n", remark);
  print("page: {}\n", report.page.string());
}

}  // namespace ovde::cli
