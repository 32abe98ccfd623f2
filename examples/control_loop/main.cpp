// A trained policy in a 1 kHz control loop: loaded once, then called every millisecond without
// allocating memory.
//
//   control_loop runs/valve/policy.safetensors [ticks]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <ovde/error.h>
#include <ovde/policy.h>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: control_loop policy.safetensors [ticks]\n");
    return 2;
  }
  const int ticks = argc > 2 ? std::atoi(argv[2]) : 5000;

  try {
    ovde::Policy policy = ovde::Policy::load(argv[1]);
    std::vector<double> sensors(policy.observation_size()), command(policy.action_size());

    using Clock = std::chrono::steady_clock;
    double slowest = 0;
    auto tick = Clock::now();
    for (int i = 0; i < ticks; ++i) {
      // read the sensors here
      const auto start = Clock::now();
      policy.act(sensors, command);
      slowest = std::max(slowest,
                         std::chrono::duration<double, std::micro>(Clock::now() - start).count());
      // send the command here
      tick += std::chrono::milliseconds(1);
      std::this_thread::sleep_until(tick);
    }
    std::printf("%d ticks, slowest decision %.1f us\n", ticks, slowest);
  } catch (const ovde::Error& error) {
    std::fprintf(stderr, "control_loop: %s\n", error.what());
    return 1;
  }
}
