# How the parts of an installation find each other: by relative paths, in any layout of GNUInstallDirs, so that it may be moved. What
# flags of a distribution may not do. And what is installed that is neither a program nor a library.
include(CMakePackageConfigHelpers)

# How the tool finds its libraries and programs, and a recorder the tool.
file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH libexec_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBEXECDIR})
file(RELATIVE_PATH bin_from_lib ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_BINDIR})
set_source_files_properties(src/launch/target/preload.c PROPERTIES
  COMPILE_DEFINITIONS "HWI_LIB_FROM_BIN=\"${lib_from_bin}\";HWI_LIBEXEC_FROM_BIN=\"${libexec_from_bin}\"")
set_source_files_properties(src/record/live_view.c PROPERTIES COMPILE_DEFINITIONS "HWI_BIN_FROM_LIB=\"${bin_from_lib}\"")

# Distributions compile with checks that end a program when the memory of a function was overrun. What runs in the target may not
# end it, and was measured without them: they are for the tool alone, which is built of hw-*.
get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
foreach(target ${targets})
  get_target_property(type ${target} TYPE)
  if(target MATCHES "^heapwright-" AND type MATCHES "LIBRARY")
    target_compile_options(${target} PRIVATE -fno-stack-protector -U_FORTIFY_SOURCE)
  endif()
endforeach()

# The documents that the manual pages name, laid out as in the source, so that their links lead somewhere.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE TYPE DOC)
install(DIRECTORY docs examples TYPE DOC USE_SOURCE_PERMISSIONS PATTERN man EXCLUDE)
install(FILES packaging/container/Containerfile DESTINATION ${CMAKE_INSTALL_DOCDIR}/packaging/container)

# For a user's own build: the headers, a .pc file of pkg-config for each thing to link with, and the CMake package.
install(DIRECTORY include/heapwright TYPE INCLUDE FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE prefix_from_pc)
foreach(name heapwright heapwright-heap heapwright-heaps heapwright-pool heapwright-static)
  configure_file(cmake/${name}.pc.in packaging/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/packaging/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

configure_package_config_file(cmake/heapwright-config.cmake.in packaging/heapwright-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heapwright PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/packaging/heapwright-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/heapwright-libraries.cmake ${CMAKE_BINARY_DIR}/packaging/heapwright-config.cmake ${CMAKE_BINARY_DIR}/packaging/heapwright-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heapwright)
