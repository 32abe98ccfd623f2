# Installs into an empty folder, builds examples/ against it with the CMake package and with pkg-config, and runs them. On Debian
# the Debian packages are made and unpacked there, and the Python package is used from its .deb and from its wheel.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV}: ${result}\n${output}")
  endif()
endfunction()

set(work ${BUILD}/installed_package)
set(prefix ${work}/prefix)
file(REMOVE_RECURSE ${work})

find_program(DPKG_DEB dpkg-deb)
find_program(SHLIBDEPS dpkg-shlibdeps)
if(DPKG_DEB AND SHLIBDEPS AND NOT SANITIZE)
  run(${CMAKE_CPACK_COMMAND} --config ${BUILD}/CPackConfig.cmake -B ${work}/packages -D CPACK_DEBIAN_COMPRESSION_TYPE=none)
  file(GLOB packages ${work}/packages/*.deb)
  list(LENGTH packages count)
  if(NOT count EQUAL 2 AND NOT count EQUAL 3)
    message(FATAL_ERROR "packages: ${packages}")
  endif()
  foreach(package IN LISTS packages)
    run(${DPKG_DEB} -x ${package} ${work}/root)
  endforeach()
  set(prefix ${work}/root/usr)
else()
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
endif()
run(${prefix}/bin/ovde list tasks)
foreach(licence copyright THIRD_PARTY_LICENSES)
  if(NOT EXISTS ${prefix}/share/doc/ovde/${licence})
    message(FATAL_ERROR "the package has no ${licence}")
  endif()
endforeach()
set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()
run(${CMAKE_COMMAND} -S ${SOURCE}/examples -B ${work}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
  "-DCMAKE_PREFIX_PATH=${prefix};${PREFIX_PATH}" "-DCMAKE_CXX_FLAGS=${flags}")
run(${CMAKE_COMMAND} --build ${work}/build)

# a user's task: listed, trained, evaluated
include(${CMAKE_CURRENT_LIST_DIR}/small_run.cmake)
run(${work}/build/custom_env list tasks)
run(${work}/build/custom_env train --task Valve-v0 --algo ovde_g --epochs 2 --out ${work}/run ${small})
run(${work}/build/custom_env eval ${work}/run --episodes 2)
# a user's explorer: an algorithm with its own keys, refused by name on a GPU
run(${work}/build/custom_explorer train --task GridChaos-v0:s --algo cautious --epochs 2 --set explore.caution=2
  --out ${work}/careful ${small} --set task.horizon=50)
run(${work}/build/custom_explorer eval ${work}/careful --episodes 2)
execute_process(COMMAND ${work}/build/custom_explorer train --task GridChaos-v0:s --algo cautious --epochs 2
    --device cuda --out ${work}/on_gpu ${small} --set task.horizon=50
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT result EQUAL 2 OR NOT output MATCHES "cautious runs on the CPU only|--device cuda: ")
  message(FATAL_ERROR "an explorer without a device form on a GPU: ${result}\n${output}")
endif()
# the policy of the first run in a control loop
run(${work}/build/control_loop ${work}/run/policy.safetensors 200)

find_program(PKG_CONFIG pkg-config)
find_program(CXX NAMES c++ g++)
if(PKG_CONFIG AND CXX)
  file(GLOB pc ${prefix}/lib*/pkgconfig ${prefix}/lib/*/pkgconfig)
  list(JOIN pc ":" pc)
  set(ENV{PKG_CONFIG_PATH} ${pc})
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs ovde-policy
    OUTPUT_VARIABLE arguments OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(arguments)
  run(${CXX} ${flags} ${SOURCE}/examples/control_loop/main.cpp ${arguments} -o ${work}/by_pkg_config)
  run(${work}/by_pkg_config ${work}/run/policy.safetensors 50)
endif()

# the Python package: the .deb, and a wheel made and installed without a package index
function(run_python packages)
  file(REMOVE_RECURSE ${work}/python)
  run(${CMAKE_COMMAND} -E env PYTHONPATH=${packages} ${PYTHON} -c "
import ovde
run = ovde.train('GridChaos-v0:s', 'sac', epochs=1, out='${work}/python', network={'hidden': [16]}, train={'batch': 16, 'warmup_steps': 50, 'eval_steps': 100})
assert ovde.__file__.startswith('${packages}/'), ovde.__file__
assert run.policy()([0.1, 0.1]).shape == (2,)")
endfunction()
if(PYTHON AND EXISTS ${prefix}/lib/python3/dist-packages)
  run_python(${prefix}/lib/python3/dist-packages)
endif()
execute_process(COMMAND ${PYTHON} -m pip --version RESULT_VARIABLE no_pip OUTPUT_QUIET ERROR_QUIET)
if(PYTHON AND NOT no_pip)
  run(${PYTHON} -m pip wheel ${SOURCE} --no-deps --no-index --no-build-isolation --config-settings build=${BUILD} -w ${work}/wheel)
  file(GLOB wheel ${work}/wheel/*.whl)
  run(${PYTHON} -m pip install --no-deps --no-index --target ${work}/site ${wheel})
  run_python(${work}/site)
endif()
