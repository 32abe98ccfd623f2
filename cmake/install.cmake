# cmake --install: the program, the libraries with their headers, a CMake package and pkg-config files. The components are the
# Debian packages of cmake/packages.cmake.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS ovde_core ovde_policy_only EXPORT ovde-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
# relative path, so that a program finds the shared library wherever both are installed
file(RELATIVE_PATH to_libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(ovde PROPERTIES INSTALL_RPATH $ORIGIN/${to_libraries})
install(TARGETS ovde RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(DIRECTORY include/ovde DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

set(OVDE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/ovde)
install(EXPORT ovde-targets NAMESPACE ovde:: DESTINATION ${OVDE_CMAKE_DIR} COMPONENT development)
configure_package_config_file(cmake/ovde-config.cmake.in ${PROJECT_BINARY_DIR}/ovde-config.cmake
  INSTALL_DESTINATION ${OVDE_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ovde-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ovde-config.cmake ${PROJECT_BINARY_DIR}/ovde-config-version.cmake
  DESTINATION ${OVDE_CMAKE_DIR} COMPONENT development)

# a static library needs the libraries it was linked with
set(OVDE_PC_FMT "")
set(OVDE_PC_LIBS "")
if(fmt_FOUND AND NOT BUILD_SHARED_LIBS)
  set(OVDE_PC_FMT " -lfmt")
endif()
if(OVDE_HAS_MUJOCO AND NOT BUILD_SHARED_LIBS)
  string(APPEND OVDE_PC_LIBS " ${MUJOCO_LIBRARY}")
endif()
if(OVDE_LODEPNG AND NOT BUILD_SHARED_LIBS)
  string(APPEND OVDE_PC_LIBS " ${OVDE_LODEPNG}")
endif()
if(OVDE_HAS_CUDA AND NOT BUILD_SHARED_LIBS)
  string(APPEND OVDE_PC_LIBS " ${CUDAToolkit_LIBRARY_DIR}/libcudart_static.a -ldl -lrt")
endif()
# relative to this file, because --prefix of cmake --install may differ from the configured one
file(RELATIVE_PATH OVDE_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/ovde.pc.in ${PROJECT_BINARY_DIR}/ovde.pc @ONLY)
configure_file(cmake/ovde-policy.pc.in ${PROJECT_BINARY_DIR}/ovde-policy.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ovde.pc ${PROJECT_BINARY_DIR}/ovde-policy.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT development)
include(cmake/packages.cmake)
