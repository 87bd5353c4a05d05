# build/bin/heapwright, from one static library that the unit tests link as well.
if(HW_PLATFORM_SOURCES OR HW_BASE_SOURCES)
  add_library(hw-common STATIC ${HW_PLATFORM_SOURCES} ${HW_BASE_SOURCES})
  target_link_libraries(hw-common PRIVATE hw-flags hw-banned PUBLIC hw-sanitize)
else()
  add_library(hw-common INTERFACE)
endif()

add_library(hw-tool STATIC ${HW_TOOL_SOURCES})
target_link_libraries(hw-tool PRIVATE hw-flags hw-banned PUBLIC hw-sanitize hw-common hw-dependencies)

if(HW_MAIN_SOURCES)
  add_executable(heapwright ${HW_MAIN_SOURCES})
  target_link_libraries(heapwright PRIVATE hw-flags hw-banned hw-tool)
  install(TARGETS heapwright RUNTIME DESTINATION bin)
endif()

file(GLOB HW_MAN_PAGES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/*.1)
install(FILES ${HW_MAN_PAGES} DESTINATION share/man/man1)
