#include "env/engine_loop.h"

#include <algorithm>
#include <vector>

#include "env/mujoco/task.h"

namespace ovde {

namespace {

class MujocoEngineLoop final : public EngineLoop {
 public:
  explicit MujocoEngineLoop(const MujocoTask& task)
      : task_(task),
        starts_(task.make_simulation()),
        rules_(task.make_rules()),
        model_(&starts_.model()),
        data_(make_data(*model_)) {}

  void prepare(std::span<const std::uint64_t> seeds) override {
    prepared_.clear();
    next_ = 0;
    for (const std::uint64_t seed : seeds) {
      starts_.start([&](std::span<double> q, std::span<double> v) {
        Random random(seed, Stream::environment);
        rules_->start(q, v, random);
      });
      std::vector<double>& state = prepared_.emplace_back(starts_.q().begin(), starts_.q().end());
      state.insert(state.end(), starts_.v().begin(), starts_.v().end());
      const double* const warmstart = starts_.data().qacc_warmstart;
      state.insert(state.end(), warmstart, warmstart + model_->nv);
    }
  }

  void next_episode() override {
    const double* state = prepared_.at(next_++).data();
    data_->time = 0;
    std::copy_n(state, model_->nq, data_->qpos);
    std::copy_n(state + model_->nq, model_->nv, data_->qvel);
    std::copy_n(state + model_->nq + model_->nv, model_->nv, data_->qacc_warmstart);
  }

  void step(std::span<const double> action) override {
    rules_->control(action, {data_->ctrl, static_cast<std::size_t>(model_->nu)});
    for (int i = 0; i < task_.frame_skip; ++i) mj_step(model_, data_.get());
  }

 private:
  MujocoTask task_;
  Simulation starts_;  // draws the start states as the environment does
  std::unique_ptr<MujocoRules> rules_;
  const mjModel* model_;
  DataPointer data_;
  std::vector<std::vector<double>> prepared_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<EngineLoop> make_engine_loop(const std::string& name) {
  const auto task = find_mujoco_task(name);
  return task ? std::make_unique<MujocoEngineLoop>(*task) : nullptr;
}

}  // namespace ovde
