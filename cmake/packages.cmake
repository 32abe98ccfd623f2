# cpack: the Debian packages ovde (program), libovde-dev (libraries, headers, CMake package, pkg-config) and python3-ovde;
# cpack --config build/CPackSourceConfig.cmake: an archive of the sources. scripts/package makes all of them.
set(CPACK_PACKAGE_VENDOR "The ovde developers")
set(CPACK_PACKAGE_CONTACT "The ovde developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Noise-aware optimistic exploration for continuous control")
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_STRIP_FILES ON)

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # libraries that the files are linked with

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME ovde)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION
  "The program: trains agents, compares algorithms over many seeds, exports policies as C and ONNX.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "gnuplot-nox")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "ffmpeg")

# a static library needs the libraries that it was linked with
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libovde-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
  "Libraries and headers for C++ programs that train agents or act with a trained policy.")
set(needs "")
if(fmt_FOUND)
  list(APPEND needs libfmt-dev)
endif()
if(OVDE_HAS_MUJOCO AND NOT OVDE_MUJOCO_ROOT)
  list(APPEND needs libmujoco-dev)
endif()
if(OVDE_LODEPNG)
  list(APPEND needs liblodepng-dev)
endif()
list(JOIN needs ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)

if(OVDE_HAS_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-ovde)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_DESCRIPTION "The Python package: training on Gymnasium environments, policies, studies.")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "python3 (>= ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}~), python3-numpy")
endif()

set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME ovde-${PROJECT_VERSION})
# hidden files and folders except the formatter's settings and CI; build folders; runs
set(CPACK_SOURCE_IGNORE_FILES "/\\\\.[^/]*/" "/\\\\.git[^/]*$" "${PROJECT_SOURCE_DIR}/build" "${PROJECT_SOURCE_DIR}/runs/"
  "/__pycache__/" "\\\\.deb$" "\\\\.whl$" "${PROJECT_SOURCE_DIR}/[^/]*\\\\.tar\\\\.gz$")

install(FILES LICENSE DESTINATION share/doc/ovde RENAME copyright COMPONENT program)
install(FILES LICENSE DESTINATION share/doc/libovde-dev RENAME copyright COMPONENT development)
install(FILES THIRD_PARTY_LICENSES DESTINATION share/doc/ovde COMPONENT program)
install(FILES THIRD_PARTY_LICENSES DESTINATION share/doc/libovde-dev COMPONENT development)
include(CPack)
