// Renders a model that consists of the solids alone, with its geoms at the given poses.
#include "env/renderer.h"

#include <algorithm>
#include <string>

#include <dlfcn.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mujoco/mujoco.h>

#include <ovde/error.h>
#include "env/mujoco/guard.h"
#include "env/mujoco/model.h"
#include "env/mujoco/simulation.h"
#include "env/solid.h"

namespace ovde {

namespace {

// An OpenGL context without a window. EGL is loaded at run time, so that it is needed for pictures
// only (EGL 1.5 with EXT_platform_base, EXT_device_enumeration, EXT_platform_device,
// MESA_platform_surfaceless).
class EglContext {
 public:
  EglContext(int width, int height) {
    library_ = ::dlopen("libEGL.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library_ == nullptr) refuse("libEGL.so.1 is not installed (Debian: libegl1)");
    const auto get_address =
        reinterpret_cast<void* (*)(const char*)>(::dlsym(library_, "eglGetProcAddress"));
    if (get_address == nullptr) refuse("libEGL.so.1 is not a valid EGL library");
    const auto find = [&]<typename F>(F*& function, const char* name) {
      function = reinterpret_cast<F*>(get_address(name));
    };
    find(initialize_, "eglInitialize");
    find(terminate_, "eglTerminate");
    find(bind_api_, "eglBindAPI");
    find(choose_config_, "eglChooseConfig");
    find(create_context_, "eglCreateContext");
    find(create_pbuffer_, "eglCreatePbufferSurface");
    find(make_current_, "eglMakeCurrent");
    find(query_devices_, "eglQueryDevicesEXT");
    find(platform_display_, "eglGetPlatformDisplayEXT");
    if (initialize_ == nullptr || make_current_ == nullptr || platform_display_ == nullptr)
      refuse("this EGL cannot draw without a screen");

    // a GPU if possible, else software rendering
    void* devices[16] = {};
    int count = 0;
    if (query_devices_ != nullptr) query_devices_(16, devices, &count);
    for (int i = 0; i < count && display_ == nullptr; ++i)
      try_display(platform_display_(kPlatformDevice, devices[i], nullptr), width, height);
    if (display_ == nullptr)
      try_display(platform_display_(kPlatformSurfaceless, nullptr, nullptr), width, height);
    if (display_ == nullptr)
      refuse("EGL offers no OpenGL (Debian: libegl-mesa0 and libgl1-mesa-dri draw in software)");
  }
  ~EglContext() {
    if (display_ == nullptr) return;
    make_current_(display_, nullptr, nullptr, nullptr);
    terminate_(display_);
  }
  EglContext(const EglContext&) = delete;
  EglContext& operator=(const EglContext&) = delete;

 private:
  static constexpr unsigned kPlatformDevice = 0x313F, kPlatformSurfaceless = 0x31DD,
                            kOpenGl = 0x30A2;

  [[noreturn]] static void refuse(const std::string& why) {
    throw InputError("cannot draw pictures: " + why);
  }

  void try_display(void* display, int width, int height) {
    constexpr int kSurfaceType = 0x3033, kPbuffer = 1, kRenderableType = 0x3040, kGlBit = 8,
                  kRed = 0x3024, kGreen = 0x3023, kBlue = 0x3022, kDepth = 0x3025, kNone = 0x3038,
                  kWidth = 0x3057, kHeight = 0x3056;
    if (display == nullptr || initialize_(display, nullptr, nullptr) == 0) return;
    const int wanted[] = {kSurfaceType, kPbuffer, kRenderableType, kGlBit, kRed, 8, kGreen, 8,
                          kBlue,        8,        kDepth,          24,     kNone};
    const int size[] = {kWidth, width, kHeight, height, kNone};
    void* config = nullptr;
    int count = 0;
    if (bind_api_(kOpenGl) != 0 && choose_config_(display, wanted, &config, 1, &count) != 0 &&
        count == 1) {
      void* const context = create_context_(display, config, nullptr, nullptr);
      void* const surface = create_pbuffer_(display, config, size);
      if (context != nullptr && surface != nullptr &&
          make_current_(display, surface, surface, context) != 0) {
        display_ = display;
        return;
      }
    }
    terminate_(display);
  }

  void* library_ = nullptr;  // never unloaded: drivers crash when they are
  void* display_ = nullptr;
  unsigned (*initialize_)(void*, int*, int*) = nullptr;
  unsigned (*terminate_)(void*) = nullptr;
  unsigned (*bind_api_)(unsigned) = nullptr;
  unsigned (*choose_config_)(void*, const int*, void**, int, int*) = nullptr;
  void* (*create_context_)(void*, void*, void*, const int*) = nullptr;
  void* (*create_pbuffer_)(void*, void*, const int*) = nullptr;
  unsigned (*make_current_)(void*, void*, void*, void*) = nullptr;
  unsigned (*query_devices_)(int, void**, int*) = nullptr;
  void* (*platform_display_)(unsigned, void*, const int*) = nullptr;
};

std::string geom_of(const Solid& solid) {
  const bool is_plane = solid.kind == Solid::Kind::plane;
  std::array<double, 3> size = solid.size;
  for (double& x : size) x = std::max(x, is_plane ? 0.0 : 1e-6);
  if (is_plane) size[2] = std::max(size[2], 1.0);  // spacing of its grid
  const Pose pose = solid.fixed.value_or(Pose{});
  return fmt::format(
      "<geom type='{}' size='{}' rgba='{}' pos='{}' quat='{}' contype='0' conaffinity='0'{}/>\n",
      name(solid.kind), fmt::join(size, " "), fmt::join(solid.colour, " "),
      fmt::join(pose.position, " "), fmt::join(pose.orientation, " "),
      is_plane ? " material='floor'" : "");
}

// Light, sky and floor are the same as in the tasks' models.
std::string model_of(const std::vector<Solid>& solids, int width, int height) {
  std::string geoms;
  for (const Solid& solid : solids) geoms += geom_of(solid);
  return fmt::format(
      "<mujoco><include file='scene.xml'/><visual><global offwidth='{}' offheight='{}'/>"
      "<map znear='0.01' shadowclip='1'/><quality shadowsize='2048' offsamples='4'/></visual>"
      "<statistic extent='3' center='0 0 0'/><worldbody>\n{}</worldbody></mujoco>",
      width, height, geoms);
}

class MujocoRenderer final : public Renderer {
 public:
  MujocoRenderer(const std::vector<Solid>& solids, int width, int height)
      : egl_(width, height),
        model_(compile_model("solids", model_of(solids, width, height))),
        width_(width),
        height_(height),
        flipped_(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {
    for (std::size_t i = 0; i < solids.size(); ++i)
      if (!solids[i].fixed) moving_.push_back(static_cast<int>(i));
    data_ = make_data(*model_);
    guarded([&] {
      mj_forward(model_.get(), data_.get());
      mjv_defaultScene(&scene_);
      mjr_defaultContext(&context_);
      mjv_defaultOption(&options_);
      mjv_makeScene(model_.get(), &scene_, model_->ngeom + 100);
      mjr_makeContext(model_.get(), &context_, mjFONTSCALE_100);
      mjr_setBuffer(mjFB_OFFSCREEN, &context_);
    });
    if (context_.currentBuffer != mjFB_OFFSCREEN) throw Error("OpenGL has no offscreen buffer");
  }
  ~MujocoRenderer() override {
    mjr_freeContext(&context_);
    mjv_freeScene(&scene_);
  }
  MujocoRenderer(const MujocoRenderer&) = delete;
  MujocoRenderer& operator=(const MujocoRenderer&) = delete;

  void draw(std::span<const Pose> moving, const View& view,
            std::span<std::uint8_t> pixels) override {
    if (moving.size() != moving_.size() || pixels.size() != flipped_.size())
      throw Error("the number of poses or pixels does not match the renderer");
    for (std::size_t i = 0; i < moving.size(); ++i) {
      std::ranges::copy(moving[i].position, data_->geom_xpos + 3 * moving_[i]);
      mju_quat2Mat(data_->geom_xmat + 9 * moving_[i], moving[i].orientation.data());
    }
    mjvCamera camera;
    mjv_defaultCamera(&camera);
    std::ranges::copy(view.target, camera.lookat);
    camera.distance = view.distance;
    camera.azimuth = view.azimuth;
    camera.elevation = view.elevation;
    // the light follows the camera's target, so that it always casts a shadow
    for (int i = 0; i < model_->nlight; ++i) {
      data_->light_xpos[3 * i] = view.target[0];
      data_->light_xpos[3 * i + 1] = view.target[1];
    }
    const mjrRect whole = {0, 0, width_, height_};
    guarded([&] {
      mjv_updateScene(model_.get(), data_.get(), &options_, nullptr, &camera, mjCAT_ALL, &scene_);
      mjr_render(whole, &scene_, &context_);
      mjr_readPixels(flipped_.data(), nullptr, whole, &context_);
    });
    const auto row = 3 * static_cast<std::size_t>(width_);
    for (int y = 0; y < height_; ++y)
      std::copy_n(flipped_.data() + row * static_cast<std::size_t>(height_ - 1 - y), row,
                  pixels.data() + row * static_cast<std::size_t>(y));
  }

 private:
  EglContext egl_;
  std::shared_ptr<const mjModel> model_;
  DataPointer data_;
  int width_, height_;
  std::vector<int> moving_;  // geom numbers of the moving solids
  std::vector<std::uint8_t> flipped_;
  mjvScene scene_;
  mjrContext context_;
  mjvOption options_;
};

}  // namespace

std::unique_ptr<Renderer> make_renderer(const std::vector<Solid>& solids, int width, int height) {
  return std::make_unique<MujocoRenderer>(solids, width, height);
}

}  // namespace ovde
