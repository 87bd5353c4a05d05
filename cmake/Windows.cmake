# What there is on Windows: heapwright.exe with the commands that explain recordings, and the libraries of the pool and the heaps.
# Windows' own programs are not recorded: the rest of src/ is about programs of Linux.
find_package(Threads REQUIRED)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a) # Windows has none of their DLLs: no libz.dll.a
find_library(ZSTD_ARCHIVE zstd REQUIRED)
find_library(ZLIB_ARCHIVE z REQUIRED)
find_library(JANSSON_ARCHIVE jansson REQUIRED)
find_path(JANSSON_INCLUDE_DIR jansson.h REQUIRED) # and the headers of the others

# What mingw-w64 lacks of POSIX is in src/platform/windows/posix. Structures have the layout that Linux' compilers give them: traces are made
# of these. Formats are checked by the builds for Linux; gcc checks them here by the rules of another printf.
target_compile_definitions(hw-flags INTERFACE __USE_MINGW_ANSI_STDIO=1 _FILE_OFFSET_BITS=64 _WIN32_WINNT=0x0602 _CRT_RAND_S=)
target_compile_options(hw-flags INTERFACE -mno-ms-bitfields -Wno-format -Wno-attributes -Wno-shadow
  "SHELL:-idirafter ${JANSSON_INCLUDE_DIR}" "SHELL:-include ${CMAKE_SOURCE_DIR}/src/platform/windows/posix/posix.h" "SHELL:-isystem ${CMAKE_SOURCE_DIR}/src/platform/windows/posix/include")

hw_sources(HW_WINDOWS_POSIX_SOURCES platform/windows/posix/*.c)
hw_sources(HW_WINDOWS_PLATFORM_SOURCES platform/windows/*.c)
hw_sources(HW_WINDOWS_TOOL_SOURCES platform/windows/tools/*.c windows/*.c)
list(REMOVE_ITEM HW_WINDOWS_TOOL_SOURCES ${CMAKE_SOURCE_DIR}/src/windows/no_libc_blocks.c) # of the heaps
list(REMOVE_ITEM HW_BASE_SOURCES ${CMAKE_SOURCE_DIR}/src/base/system_words.c) # of Linux

# --- the libraries ---

hw_sources(HW_POOL_SOURCES allocators/tlsf/*.c)
add_library(heapwright-pool STATIC ${HW_POOL_SOURCES})
target_compile_options(heapwright-pool PRIVATE -ffreestanding -O3 -fno-tree-slp-vectorize)
target_include_directories(heapwright-pool PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
install(TARGETS heapwright-pool)

hw_sources(HW_HEAP_SOURCES allocators/heap/*.c allocators/lock.c allocators/message.c)
list(FILTER HW_HEAP_SOURCES EXCLUDE REGEX "/libc_blocks\\.c$") # for valgrind and the sanitizers
add_library(heapwright-heaps STATIC ${HW_HEAP_SOURCES} ${HW_WINDOWS_PLATFORM_SOURCES} ${HW_BASE_TARGET_SOURCES} src/windows/no_libc_blocks.c)
target_compile_options(heapwright-heaps PRIVATE -O3)
target_link_libraries(heapwright-heaps PRIVATE hw-flags PUBLIC synchronization)
install(TARGETS heapwright-heaps)
install(DIRECTORY include/heapwright TYPE INCLUDE FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

# --- the tool ---

# Of the tools' sources, those that need Linux: other processes, ELF files and debug information, gnuplot as a process.
list(FILTER HW_TOOL_SOURCES EXCLUDE REGEX "src/(launch|live|memory|push)/")
list(FILTER HW_TOOL_SOURCES EXCLUDE REGEX "src/cli/(cmd_(control|core|import|leaks|live|push|record|run|test)|core_[a-z]*|followed_run|record_options)\\.c$")
list(FILTER HW_TOOL_SOURCES EXCLUDE REGEX "src/export/(import/[a-z_]*|synthetic)\\.c$")
list(FILTER HW_TOOL_SOURCES EXCLUDE REGEX "src/report/[a-z]*/core[a-z_]*\\.c$")
list(FILTER HW_TOOL_SOURCES EXCLUDE REGEX "src/(plot/gnuplot_process|profile/follow|trace/read/hold)\\.c$")
list(FILTER HW_TOOL_SOURCES EXCLUDE REGEX "src/symbols/(d(ata|ebug|emangle|warf)[a-z_]*|elf_[a-z]*|frame_variables|library_types|lines|module_file|program_allocator|unwind_starts)\\.c$")

set(HW_PAGE_SOURCE ${CMAKE_BINARY_DIR}/generated/page_template.c)
add_custom_command(OUTPUT ${HW_PAGE_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DFROM=${CMAKE_SOURCE_DIR}/web/dist/page.html -DTO=${HW_PAGE_SOURCE} -P ${CMAKE_SOURCE_DIR}/cmake/Page.cmake
  DEPENDS ${CMAKE_SOURCE_DIR}/web/dist/page.html ${CMAKE_SOURCE_DIR}/cmake/Page.cmake VERBATIM)

# Without hw-banned: Windows' own headers use such functions.
add_library(hw-platform STATIC ${HW_WINDOWS_PLATFORM_SOURCES} ${HW_WINDOWS_TOOL_SOURCES} ${HW_WINDOWS_POSIX_SOURCES})
target_link_libraries(hw-platform PRIVATE hw-flags PUBLIC synchronization Threads::Threads)

add_library(hw-tool STATIC ${HW_TOOL_SOURCES} ${HW_BASE_SOURCES} ${HW_PAGE_SOURCE})
target_compile_definitions(hw-tool PRIVATE HWI_SQLITE3_FILE="sqlite3.dll")
target_link_libraries(hw-tool PRIVATE hw-flags hw-banned
  PUBLIC heapwright-pool ${ZSTD_ARCHIVE} ${ZLIB_ARCHIVE} ${JANSSON_ARCHIVE} hw-platform)

add_executable(heapwright ${HW_MAIN_SOURCES})
target_link_libraries(heapwright PRIVATE hw-flags hw-banned hw-tool)
target_link_options(heapwright PRIVATE -municode -static -Wl,-Map=heapwright.map) # the tests read there what is linked in
install(TARGETS heapwright)

# --- unit tests, which wine runs ---

find_library(CMOCKA_LIBRARY cmocka-static)
add_custom_target(unit-tests)
function(hw_add_windows_test floor name)
  string(REPLACE / - target unit-${floor}-${name})
  add_executable(${target} EXCLUDE_FROM_ALL tests/${floor}/${name}.c)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${floor})
  target_compile_definitions(${target} PRIVATE HW_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HW_BUILD_DIR="${CMAKE_BINARY_DIR}")
  target_include_directories(${target} PRIVATE tests/${floor})
  target_link_libraries(${target} PRIVATE hw-flags heapwright-heaps hw-tool ${CMOCKA_LIBRARY})
  target_link_options(${target} PRIVATE -static)
  add_dependencies(unit-tests ${target})
  add_test(NAME ${floor}/${name} COMMAND ${target} WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set_tests_properties(${floor}/${name} PROPERTIES TIMEOUT 600 LABELS unit ENVIRONMENT WINEDEBUG=-all)
endfunction()

enable_testing()
if(CMOCKA_LIBRARY)
  foreach(test test_pool test_heap test_heap_config_text test_heap_late)
    hw_add_windows_test(allocators ${test})
  endforeach()
  hw_add_windows_test(cross/windows test_port)
endif()
