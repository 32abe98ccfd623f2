# ovde inside another project (add_subdirectory, as with FetchContent) as a shared library used by a plug-in: builds
# tests/embedded with the parts of ovde it needs, without optimisation, and runs it with a policy trained here.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV}: ${result}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/small_run.cmake)
set(work ${BUILD}/embedded)
file(REMOVE_RECURSE ${work}/run)
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/embedded -B ${work}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Debug
  -DOVDE_SOURCE=${SOURCE} -DOVDE_UNITY=ON -DOVDE_NATIVE=OFF "-DCMAKE_PREFIX_PATH=${PREFIX_PATH}"
  -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
run(${CMAKE_COMMAND} --build ${work}/build)
# the program of the main build trains the policy that the plug-in uses
run(${OVDE} train --task GridChaos-v0:s --algo ovde_g --epochs 1 --out ${work}/run ${small})
run(${work}/build/host ${work}/build/libplugin.so ${work}/run/policy.safetensors)
if(NOT output MATCHES "^-?[0-9.e-]+ -?[0-9.e-]+\n$")
  message(FATAL_ERROR "no action of two numbers: ${output}")
endif()

# the library for acting does not depend on libraries for training
find_program(READELF readelf)
if(READELF)
  file(GLOB library ${work}/build/ovde/libovde_policy.so)
  run(${READELF} -d ${library})
  if(output MATCHES "mujoco|cuda")
    message(FATAL_ERROR "ovde::policy needs more than it should:\n${output}")
  endif()
endif()
