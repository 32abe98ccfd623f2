// The compiled models against the recorded numbers of the reference models
// (tests/data/mujoco/*.model.json).
#ifdef OVDE_MUJOCO

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <mujoco/mjxmacro.h>
#include <nlohmann/json.hpp>

#include <ovde/random.h>
#include "env/mujoco/model.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using Json = nlohmann::json;

void flatten(const Json& value, std::vector<double>& out) {
  if (value.is_array()) {
    for (const Json& item : value) flatten(item, out);
  } else {
    out.push_back(value.get<double>());
  }
}

template <typename T>
void expect_equal(const Json& expected, const T* actual, std::size_t size,
                  const std::string& name) {
  std::vector<double> numbers;
  flatten(expected, numbers);
  ASSERT_EQ(numbers.size(), size) << name;
  for (std::size_t i = 0; i < size; ++i) {
    // relative, and absolute for round-off around zero: the puck's inertia is of the order 1e-11
    const double tolerance = 1e-12 * std::abs(numbers[i]) + 1e-15;
    ASSERT_NEAR(static_cast<double>(actual[i]), numbers[i], tolerance) << name << '[' << i << ']';
  }
}

struct Pair {
  const char* model;
  const char* task;
};

class MujocoModel : public testing::TestWithParam<Pair> {};

// Models that list the pairs of geoms that can collide; the reference models leave that to
// collision detection.
constexpr const char* kListed[] = {"ant", "half_cheetah", "walker2d"};
bool is_listed(const std::string& model) {
  return std::ranges::find(kListed, model) != std::end(kListed);
}

// recorded with 2.2.2; later versions renamed and added arrays
#if mjVERSION_HEADER == 222
TEST_P(MujocoModel, EqualsTheReferenceInEveryArray) {
  const auto model = shared_model(GetParam().model);
  const mjModel* m = model.get();
  std::ifstream file(
      fmt::format("{}/tests/data/mujoco/{}.model.json", OVDE_SOURCE_DIR, GetParam().task));
  const Json reference = Json::parse(file).at("model");

  // sizes that affect the dynamics, not textures, names and memory
  const Json& sizes = reference.at("sizes");
  const std::pair<const char*, int> counts[] = {{"nq", m->nq},       {"nv", m->nv},
                                                {"nu", m->nu},       {"na", m->na},
                                                {"nbody", m->nbody}, {"njnt", m->njnt},
                                                {"ngeom", m->ngeom}, {"nsite", m->nsite},
                                                {"nM", m->nM},       {"nD", m->nD},
                                                {"neq", m->neq},     {"ntendon", m->ntendon},
                                                {"npair", m->npair}, {"nexclude", m->nexclude},
                                                {"njmax", m->njmax}, {"nconmax", m->nconmax}};
  for (const auto& [name, count] : counts) {
    if (is_listed(GetParam().model) && std::string(name) == "npair") continue;
    EXPECT_EQ(sizes.at(name).get<int>(), count) << name;
  }

  // options, and the one statistic that the solver uses; contacts are tested below
  std::set<std::string> seen;
  const Json& opt = reference.at("opt");
  const auto check_option = [&](const char* name, const auto* values, std::size_t size) {
    if (!is_listed(GetParam().model) || std::string(name) != "collision")
      expect_equal(opt.at(name), values, size, name);
    seen.insert(name);
  };
#define X(type, name) check_option(#name, &m->opt.name, 1);
  MJOPTION_INTS
  MJOPTION_FLOATS
#undef X
#define X(name, n) check_option(#name, m->opt.name, n);
  MJOPTION_VECTORS
#undef X
  EXPECT_EQ(seen.size(), opt.size());
  EXPECT_NEAR(m->stat.meaninertia, reference.at("stat").at("meaninertia").get<double>(), 1e-12);

  // every array except custom data ("numeric", "user") and keyframes, which nothing reads, and
  // contact pairs, which the reference models do not list
  const auto left_out = [](const std::string& name) {
    return name.starts_with("numeric_") || name.ends_with("_user") || name.starts_with("key_") ||
           (name.starts_with("pair_") && is_listed(GetParam().model));
  };
  seen.clear();
  const Json& arrays = reference.at("arrays");
  const auto check_array = [&](const char* name, const auto* values, std::size_t size) {
    if (arrays.contains(name) && !left_out(name)) expect_equal(arrays.at(name), values, size, name);
    seen.insert(name);
  };
#undef MJ_M
#define MJ_M(n) m->n
#define X(type, name, rows, columns) \
  check_array(#name, m->name, static_cast<std::size_t>(m->rows) * (columns));
  MJMODEL_POINTERS
#undef X
  for (const auto& [name, values] : arrays.items()) EXPECT_TRUE(seen.contains(name)) << name;
}

#else
TEST_P(MujocoModel, Compiles) { EXPECT_NE(shared_model(GetParam().model), nullptr); }
#endif

INSTANTIATE_TEST_SUITE_P(
    All, MujocoModel,
    testing::Values(Pair{"ant", "Ant-v4"}, Pair{"half_cheetah", "HalfCheetah-v4"},
                    Pair{"hopper", "Hopper-v4"}, Pair{"reacher", "Reacher-v4"},
                    Pair{"pusher", "Pusher-v4"},
                    Pair{"inverted_double_pendulum", "InvertedDoublePendulum-v4"},
                    Pair{"inverted_pendulum", "InvertedPendulum-v4"}, Pair{"swimmer", "Swimmer-v4"},
                    Pair{"walker2d", "Walker2d-v4"}, Pair{"humanoid", "Humanoid-v4"}),
    [](const auto& pair) { return std::string(pair.param.model); });

#if mjVERSION_HEADER < 300
class ListedContacts : public testing::TestWithParam<const char*> {};

TEST_P(ListedContacts, EqualThoseOfCollisionDetection) {
  const auto listed = shared_model(GetParam());
  ASSERT_EQ(listed->opt.collision, mjCOL_PAIR);
  const std::unique_ptr<mjModel, void (*)(mjModel*)> found(mj_copyModel(nullptr, listed.get()),
                                                           mj_deleteModel);
  found->opt.collision = mjCOL_DYNAMIC;
  using Data = std::unique_ptr<mjData, void (*)(mjData*)>;
  const Data a(mj_makeData(listed.get()), mj_deleteData),
      b(mj_makeData(found.get()), mj_deleteData);

  // random states, so that every listed pair touches
  std::set<int> touched;
  Random random(1, Stream::user);
  for (int start = 0; start < 60; ++start) {
    for (mjData* d : {a.get(), b.get()}) mj_resetData(listed.get(), d);
    for (int i = 0; i < listed->nq; ++i) a->qpos[i] = b->qpos[i] += random.uniform(-2, 2);
    for (int i = 0; i < listed->nv; ++i) a->qvel[i] = b->qvel[i] += random.uniform(-2, 2);
    for (int step = 0; step < 100; ++step) {
      for (int i = 0; i < listed->nu; ++i) a->ctrl[i] = b->ctrl[i] = random.uniform(-1, 1);
      mj_step(listed.get(), a.get());
      mj_step(found.get(), b.get());
      ASSERT_EQ(a->ncon, b->ncon);
      for (int i = 0; i < a->ncon; ++i) touched.insert(a->contact[i].geom2);
      for (int i = 0; i < listed->nq; ++i) ASSERT_EQ(a->qpos[i], b->qpos[i]) << start;
      for (int i = 0; i < listed->nv; ++i) ASSERT_EQ(a->qvel[i], b->qvel[i]) << start;
    }
  }
  EXPECT_EQ(static_cast<int>(touched.size()), listed->npair);
}

INSTANTIATE_TEST_SUITE_P(All, ListedContacts, testing::ValuesIn(kListed),
                         [](const auto& model) { return std::string(model.param); });
#endif

TEST(MujocoModels, AreShared) { EXPECT_EQ(shared_model("ant"), shared_model("ant")); }

}  // namespace OVDE_TEST_FILE
}  // namespace ovde

#endif
