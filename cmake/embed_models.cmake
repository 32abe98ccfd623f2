# Writes MJCF files into one C++ source as raw strings, so that the program needs no files at run time.
# The table it defines is declared in src/env/mujoco/model.h.
function(ovde_embed_models output)
  set(rows "")
  foreach(path IN LISTS ARGN)
    get_filename_component(name "${path}" NAME_WE)
    file(READ "${path}" text)
    string(APPEND rows "    {\"${name}\", R\"mjcf(${text})mjcf\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
  endforeach()
  file(CONFIGURE OUTPUT "${output}" @ONLY CONTENT [=[
// Generated from src/env/models by cmake/embed_models.cmake.
#include "env/mujoco/model.h"

namespace ovde {

const std::vector<EmbeddedModel>& embedded_models() {
  static const std::vector<EmbeddedModel> models = {
@rows@  };
  return models;
}

}  // namespace ovde
]=])
endfunction()
