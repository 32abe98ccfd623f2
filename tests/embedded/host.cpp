// host PLUGIN POLICY: loads the plug-in, as a simulator or a robot's middleware would, and prints
// an action of two numbers.
#include <cstdio>

#include <dlfcn.h>

int main(int argc, char** argv) {
  if (argc != 3) return 3;
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return std::fprintf(stderr, "%s\n", dlerror()), 4;
  const auto act =
      reinterpret_cast<int (*)(const char*, double*, int)>(dlsym(plugin, "plugin_act"));
  double action[2] = {};
  if (!act || act(argv[2], action, 2) != 0) return 5;
  std::printf("%.9g %.9g\n", action[0], action[1]);
  return dlclose(plugin);
}
