// faults N LIBRARY: lets system calls of the real program fail, one in each of N processes, while
// it trains, resumes, runs a study or reports on it: EIO, ENOSPC, EACCES and EINTR at every call in
// turn, once, and the first three from that call on. Each process must end by itself, with one line
// that says why unless all is well, and completed on a disk that is well, every run must end as if
// nothing had happened. Exits 1 unless that holds.
#include <unistd.h>

#include <cerrno>

#include "disk/scenarios.h"

namespace ovde {
namespace {

struct Fault {
  long call = 0;
  bool for_ever = false;
  int number = 0;

  std::string text() const { return fmt::format("{}{}:{}", call, for_ever ? "+" : "", number); }
};

// The k-th of all faults that a process with so many calls may meet.
Fault fault_number(long k, long calls) {
  static constexpr std::pair<int, bool> kinds[] = {{EIO, false},    {ENOSPC, false}, {EINTR, false},
                                                   {EACCES, false}, {EIO, true},     {ENOSPC, true},
                                                   {EACCES, true}};
  const auto& [number, for_ever] = kinds[k / calls % std::size(kinds)];
  return {1 + k % calls, for_ever, number};
}

// What is wrong with how the program took the fault; "" if nothing is.
std::string judge(const Scenario& scenario, const Outcome& outcome) {
  if (outcome.code != 0 && outcome.code != 1 && outcome.code != 2)
    return fmt::format("ended with {}: {}", outcome.code, outcome.err);
  if (outcome.code == 0) {
    // a report counts what can be read, and says what could not
    const bool said = outcome.out.find("not counted: ") != std::string::npos;
    if (const std::string wrong = scenario.difference(); !wrong.empty() && !said)
      return "exit code 0, but " + wrong;
  } else {
    const auto last = outcome.err.rfind("ovde: ");
    const bool said = last != std::string::npos && std::ranges::count(outcome.err, '\n') >= 1;
    if (!said) return "no word of what went wrong: " + outcome.err;
  }
  if (const std::string wrong = scenario.complete(); !wrong.empty())
    return fmt::format("exit code {} ({}), completed: {}", outcome.code, outcome.err, wrong);
  return "";
}

int inject(long count, const std::string& library) {
  long injected = 0, endured = 0, wrong = 0;
  for (const Work work : kAllWork) {
    const Scenario scenario(work);
    const std::string preload = "LD_PRELOAD=" + library;
    const std::string counter = scenario.aside("calls").string();
    scenario.reset();
    scenario.run(scenario.command(), fmt::format("{} OVDE_DISK_COUNT={}", preload, counter));
    const long calls = std::stol(read_file(counter));

    // spread over all the faults there are, where they are more than were asked for
    const long all = 7 * calls, own = std::min(all, count / std::ssize(kAllWork));
    const long before = injected, wrong_before = wrong;
    for (long i = 0; i < own; ++i) {
      const Fault fault = fault_number(i * all / own, calls);
      scenario.reset();
      const Outcome outcome = scenario.run(
          scenario.command(),
          fmt::format("{} OVDE_DISK_FAIL={} OVDE_DISK_COUNT={}", preload, fault.text(), counter));
      injected += std::stol(read_file(counter)) >= fault.call;
      endured += outcome.code == 0;
      const std::string complaint = judge(scenario, outcome);
      if (complaint.empty()) continue;
      ++wrong;
      fmt::print("{}, {}: {}\n", name(work), fault.text(), complaint);
    }
    fmt::print("{}: {} calls, {} faults, {} wrong\n", name(work), calls, injected - before,
               wrong - wrong_before);
    std::fflush(stdout);
  }
  fmt::print("{} faults injected, {} of them endured, {} lost something or were silently wrong\n",
             injected, endured, wrong);
  return wrong == 0 ? 0 : 1;
}

// Two commands on one new folder: the first is held up when it has found the folder free and not
// locked it yet, and the second is done before it goes on.
bool second_comes_first(const std::string& library) {
  const Scenario scenario(Work::population);
  const fs::path go = scenario.aside("go"), code = scenario.aside("code");
  scenario.reset();
  const std::string held = fmt::format(
      "{{ LD_PRELOAD={} OVDE_DISK={} OVDE_DISK_PAUSE=/run/lock:{} '{}' {} --seeds 5-6; echo $? "
      ">{}; "
      "}} >/dev/null 2>&1 &",
      library, scenario.disk().string(), go.string(), OVDE_PROGRAM,
      scenario.command().substr(0, scenario.command().rfind("--seeds")), code.string());
  if (std::system(held.c_str()) != 0) return false;
  while (!fs::exists(scenario.disk() / "run")) ::usleep(1000);
  const Outcome second = scenario.run(scenario.command());
  write_file_atomically(go, std::string());
  while (!fs::exists(code) || fs::is_empty(code)) ::usleep(1000);
  const bool right = second.code == 0 && read_file(code) == "2\n" && scenario.difference().empty();
  fmt::print("two commands on one new folder: {}\n",
             right ? "the one that comes late is refused" : "both write it");
  return right;
}

}  // namespace
}  // namespace ovde

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool one_at_a_time = ovde::second_comes_first(argv[2]);
  return ovde::inject(std::atol(argv[1]), argv[2]) == 0 && one_at_a_time ? 0 : 1;
}
