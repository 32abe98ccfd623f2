# cmake --install: the program, the library with its headers, a CMake package and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS ovde_core EXPORT ovde-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ovde RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/ovde DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(OVDE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/ovde)
install(EXPORT ovde-targets NAMESPACE ovde:: DESTINATION ${OVDE_CMAKE_DIR})
configure_package_config_file(cmake/ovde-config.cmake.in ${PROJECT_BINARY_DIR}/ovde-config.cmake
  INSTALL_DESTINATION ${OVDE_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ovde-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ovde-config.cmake ${PROJECT_BINARY_DIR}/ovde-config-version.cmake
  DESTINATION ${OVDE_CMAKE_DIR})

# a static library: whoever links it needs what it was linked with
set(OVDE_PC_LIBS "")
if(fmt_FOUND)
  string(APPEND OVDE_PC_LIBS " -lfmt")
endif()
if(OVDE_HAS_MUJOCO)
  string(APPEND OVDE_PC_LIBS " ${MUJOCO_LIBRARY}")
endif()
if(OVDE_HAS_CUDA)
  string(APPEND OVDE_PC_LIBS " ${CUDAToolkit_LIBRARY_DIR}/libcudart_static.a -ldl -lrt")
endif()
# found from where the file lies: --prefix of cmake --install may be another than the one configured
file(RELATIVE_PATH OVDE_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/ovde.pc.in ${PROJECT_BINARY_DIR}/ovde.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ovde.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
