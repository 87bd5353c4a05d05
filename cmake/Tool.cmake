# build/bin/heapwright, from one static library that the unit tests link as well.
if(HW_PLATFORM_SOURCES OR HW_BASE_SOURCES)
  add_library(hw-common STATIC ${HW_PLATFORM_SOURCES} ${HW_BASE_SOURCES})
  target_link_libraries(hw-common PRIVATE hw-flags hw-banned PUBLIC hw-sanitize)
else()
  add_library(hw-common INTERFACE)
endif()

# The page of HTML reports is built in web/ and committed; its bytes become a part of the tool.
set(HW_PAGE_TEMPLATE ${CMAKE_SOURCE_DIR}/web/dist/page.html)
set(HW_PAGE_SOURCE ${CMAKE_BINARY_DIR}/generated/page_template.c)
add_custom_command(OUTPUT ${HW_PAGE_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DFROM=${HW_PAGE_TEMPLATE} -DTO=${HW_PAGE_SOURCE} -P ${CMAKE_SOURCE_DIR}/cmake/Page.cmake
  DEPENDS ${HW_PAGE_TEMPLATE} ${CMAKE_SOURCE_DIR}/cmake/Page.cmake VERBATIM)

add_library(hw-tool STATIC ${HW_TOOL_SOURCES} ${HW_TOOL_PLATFORM_SOURCES} ${HW_PAGE_SOURCE})
target_link_libraries(hw-tool PRIVATE hw-flags hw-banned heapwright-pool PUBLIC hw-sanitize hw-common hw-dependencies)

# Columns of a summary are a good part of what a second report does: worth vectors, which -O2 makes of next to no loop.
set_source_files_properties(src/profile/columns/columns.c PROPERTIES
  COMPILE_OPTIONS "$<$<CONFIG:Release,RelWithDebInfo>:-O3>")

if(HW_MAIN_SOURCES)
  add_executable(heapwright ${HW_MAIN_SOURCES})
  target_link_libraries(heapwright PRIVATE hw-flags hw-banned hw-tool)
  install(TARGETS heapwright)
endif()

file(GLOB HW_MAN_PAGES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/*.1)
install(FILES ${HW_MAN_PAGES} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_SOURCE_DIR}/src/cli/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME heapwright)

# What `heapwright test` starts with a malloc in its place: each rule is a run of it. No sanitizer, which brings a malloc of its own,
# and no built-in functions, whose calls the compiler may leave out.
hw_sources(HW_CONFORM_SOURCES conform/main.c conform/rules_*.c)
add_executable(heapwright-conform ${HW_CONFORM_SOURCES})
target_compile_options(heapwright-conform PRIVATE -fno-builtin -fexceptions -Wno-deprecated-declarations)
target_link_libraries(heapwright-conform PRIVATE hw-flags hw-banned Threads::Threads ${CMAKE_DL_LIBS})
hw_sources(HW_CONFORM_USER_SOURCES conform/user.c)
add_library(heapwright-conform-user MODULE ${HW_CONFORM_USER_SOURCES})
target_compile_options(heapwright-conform-user PRIVATE -fno-builtin)
target_link_libraries(heapwright-conform-user PRIVATE hw-flags hw-banned)
set_target_properties(heapwright-conform-user PROPERTIES PREFIX "")
set_target_properties(heapwright-conform heapwright-conform-user PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/heapwright LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/heapwright)
install(TARGETS heapwright-conform heapwright-conform-user
  RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/heapwright LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/heapwright)

# `heapwright run` preloads this next to an allocator, so that it serves one process only.
hw_sources(HW_RUN_SOURCES run/*.c)
add_library(heapwright-alone SHARED ${HW_RUN_SOURCES})
target_compile_options(heapwright-alone PRIVATE -fvisibility=hidden)
target_link_libraries(heapwright-alone PRIVATE hw-flags hw-banned)
install(TARGETS heapwright-alone)
