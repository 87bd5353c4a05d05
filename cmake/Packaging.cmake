# What a user reads, and what a user's own build finds: the headers, heapwright.pc for pkg-config, and the CMake package.
include(CMakePackageConfigHelpers)

# The documents that the manual pages name, laid out as in the source, so that their links lead somewhere.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION share/doc/heapwright)
install(DIRECTORY docs DESTINATION share/doc/heapwright PATTERN man EXCLUDE)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/heapwright DESTINATION include FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

configure_file(${CMAKE_SOURCE_DIR}/cmake/heapwright.pc.in ${CMAKE_BINARY_DIR}/packaging/heapwright.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/packaging/heapwright.pc DESTINATION lib/pkgconfig)
foreach(name heapwright-heap heapwright-heaps)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/packaging/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/packaging/${name}.pc DESTINATION lib/pkgconfig)
endforeach()

write_basic_package_version_file(${CMAKE_BINARY_DIR}/packaging/heapwright-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/heapwright-config.cmake cmake/heapwright-heaps.cmake ${CMAKE_BINARY_DIR}/packaging/heapwright-config-version.cmake
  DESTINATION lib/cmake/heapwright)
