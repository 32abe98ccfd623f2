// A plug-in with a C interface: loads a policy and computes its action at an observation of zeros.
#include <exception>
#include <vector>

#include <ovde/policy.h>

extern "C" int plugin_act(const char* file, double* action, int size) {
  try {
    ovde::Policy policy = ovde::Policy::load(file);
    if (policy.action_size() != size) return 1;
    const std::vector<double> observation(policy.observation_size(), 0.0);
    policy.act(observation, {action, static_cast<std::size_t>(size)});
    return 0;
  } catch (const std::exception&) {
    return 2;
  }
}
