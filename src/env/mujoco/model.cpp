#include "env/mujoco/model.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include <ovde/error.h>
#include "env/mujoco/guard.h"

namespace ovde {

namespace {

// MuJoCo's virtual file system, through which it reads a model from memory. On the heap, because
// old versions need 2 MB for it.
class Files {
 public:
  Files() : files_(std::make_unique<mjVFS>()) { mj_defaultVFS(files_.get()); }
  ~Files() { mj_deleteVFS(files_.get()); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  bool add(const std::string& name, const std::string& text) {
    const int size = static_cast<int>(text.size());
#if mjVERSION_HEADER >= 320
    return mj_addBufferVFS(files_.get(), name.c_str(), text.data(), size) == 0;
#else
    if (mj_makeEmptyFileVFS(files_.get(), name.c_str(), size) != 0) return false;
    std::memcpy(files_->filedata[mj_findFileVFS(files_.get(), name.c_str())], text.data(), size);
    return true;
#endif
  }
  const mjVFS* get() const { return files_.get(); }

 private:
  std::unique_ptr<mjVFS> files_;
};

using ModelPointer = std::shared_ptr<mjModel>;

#if mjVERSION_HEADER < 300
// Whether all geoms that can collide are listed as pairs.
bool lists_all_contacts(const mjModel& m) {
  if (m.npair == 0) return false;
  std::set<std::pair<int, int>> pairs;
  for (int i = 0; i < m.npair; ++i) pairs.insert(std::minmax(m.pair_geom1[i], m.pair_geom2[i]));
  for (int a = 0; a < m.ngeom; ++a) {
    for (int b = a + 1; b < m.ngeom; ++b) {
      const bool collide = (m.geom_contype[a] & m.geom_conaffinity[b]) != 0 ||
                           (m.geom_contype[b] & m.geom_conaffinity[a]) != 0;
      const int one = m.body_weldid[m.geom_bodyid[a]], other = m.body_weldid[m.geom_bodyid[b]];
      const bool parent = one != 0 && other != 0 &&
                          (one == m.body_weldid[m.body_parentid[other]] ||
                           other == m.body_weldid[m.body_parentid[one]]);
      if (collide && one != other && !parent && !pairs.contains({a, b})) return false;
    }
  }
  return true;
}
#endif

ModelPointer read_model(const std::string& file, const mjVFS* files) {
  char message[1000] = "";
  mjModel* model = nullptr;
  guarded([&] { model = mj_loadXML(file.c_str(), files, message, sizeof message); });
  if (model == nullptr) throw Error(fmt::format("model '{}': {}", file, message));
#if mjVERSION_HEADER < 300
  // without a search for other contacts a step takes a fifth less time; later versions of MuJoCo
  // have no such switch
  if (lists_all_contacts(*model)) model->opt.collision = mjCOL_PAIR;
#endif
  return {model, [](mjModel* m) { mj_deleteModel(m); }};
}

std::shared_ptr<const mjModel> compile(const EmbeddedModel& source) {
  // all models, because they include each other
  Files files;
  const auto add = [&](const EmbeddedModel& model) {
    if (!files.add(model.name + ".xml", model.text))
      throw Error(fmt::format("MuJoCo does not accept model '{}'", model.name));
  };
  std::ranges::for_each(embedded_models(), add);
  if (std::ranges::find(embedded_models(), source.name, &EmbeddedModel::name) ==
      embedded_models().end())
    add(source);

  return read_model(source.name + ".xml", files.get());
}

std::mutex compiling;  // MuJoCo's compiler is not thread-safe

}  // namespace

std::shared_ptr<const mjModel> compile_model(const std::string& name, const std::string& text) {
  const std::lock_guard lock(compiling);
  return compile({name, text});
}

std::shared_ptr<const mjModel> load_model(const std::string& path) {
  const std::lock_guard lock(compiling);
  return read_model(path, nullptr);
}

std::shared_ptr<const mjModel> shared_model(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const mjModel>> compiled;
  const std::lock_guard lock(compiling);
  auto& model = compiled[name];
  if (!model) {
    const auto source = std::ranges::find(embedded_models(), name, &EmbeddedModel::name);
    if (source == embedded_models().end()) throw Error(fmt::format("no model named '{}'", name));
    model = compile(*source);
  }
  return model;
}

}  // namespace ovde
