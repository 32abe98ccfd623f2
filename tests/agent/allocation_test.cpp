// The loops of training allocate nothing. Counts calls of malloc by putting itself before the C
// library's own, which is possible with glibc and without a sanitizer, that does the same.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/agent_fixture.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define OVDE_COUNTS_ALLOCATIONS 1
#endif

static std::atomic<long> allocations{0};

#ifdef OVDE_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  ++allocations;
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : 12;  // ENOMEM
}
}
#endif

namespace ovde {
namespace OVDE_TEST_FILE {

class AllocationTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
#ifndef OVDE_COUNTS_ALLOCATIONS
    GTEST_SKIP() << "allocations can be counted with glibc and without a sanitizer only";
#endif
    // the counter works, for both kinds of memory in use
    const long before = allocations;
    auto plain = std::make_unique<int[]>(100);
    auto aligned = std::make_unique<Buffer>(100);
    ASSERT_GE(allocations - before, 2) << plain.get() << aligned.get();
  }
};

TEST_P(AllocationTest, TrainingLoopAllocatesNothing) {
  const std::string name = GetParam();
  const bool iqn = name.ends_with("_iqn"), residual = name.ends_with("_residual"),
             categorical = name.ends_with("_categorical");
  const bool variant = iqn || residual || categorical;
  const Algorithm& algorithm = find_algorithm(variant ? name.substr(0, name.rfind('_')) : name);
  AgentOptions options = options_for(algorithm);
  options.learner.train.replay = 1000;
  LearnerOptions& learner = options.learner;
  learner.observation_size = 5;
  learner.action_size = 3;
  learner.network.hidden = {32, 32};
  learner.train.batch = 48;
  if (residual) make_residual(learner.network);
  learner.critic.head = iqn           ? CriticHead::iqn
                        : categorical ? CriticHead::categorical
                                      : CriticHead::qr;
  learner.critic.norm = algorithm.policy != PolicyKind::greedy;
  if (algorithm.distributional) learner.critic.quantiles = 7;
  for (const char* form : {"unit", "full"}) {
    for (const double samples : {0, 3}) {
      options.explore.set("gradient", std::string(form));
      options.explore.set("samples", samples);
      const auto agent = make_agent(options);
      Team team(2);
      agent->use(&team);
      std::vector<double> observation(5, 0.1), action(3);
      const auto loop = [&] {
        agent->explore(observation, false, action);
        agent->explore(observation, true, action);
        agent->act(observation, action);
        agent->remember(observation, action, 1, observation, false, false);
        agent->update(team);
      };
      loop();
      const long before = allocations;
      for (int i = 0; i < 100; ++i) loop();
      EXPECT_EQ(allocations - before, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, AllocationTest,
                         testing::Values("sac", "dsac", "oac", "doac", "ovde_g", "ovde_q", "ovde_m",
                                         "dsac_rnd", "novd", "scout", "tqc", "top", "dac",
                                         "ovde_td3", "dsac_iqn", "ovde_g_iqn", "ids",
                                         "dac_residual", "ovde_g_residual", "ovde_q_categorical"),
                         [](const auto& info) { return info.param; });

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
