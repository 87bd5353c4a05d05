# Debian 12's own libraries. All are the tools'; the recorder needs libc alone.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw libelf)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
find_library(IBERTY_LIBRARY iberty REQUIRED)
find_path(IBERTY_INCLUDE_DIR libiberty/demangle.h REQUIRED)

# Libraries that only some commands load (src/base/library.h): their headers are used here, and the names by which the dynamic
# loader knows them, as a library that is linked with them has these names.
pkg_check_modules(CURL REQUIRED libcurl)
pkg_check_modules(MICROHTTPD REQUIRED libmicrohttpd)
pkg_check_modules(NCURSES REQUIRED ncursesw) # its flags select an older POSIX than ours: they are not used
pkg_check_modules(SQLITE REQUIRED sqlite3)
set(sysroot ${CMAKE_SYSROOT})
list(TRANSFORM sysroot PREPEND --sysroot=)
set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/loaded_libraries.so)
execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND ${CMAKE_C_COMPILER} ${sysroot} -shared -nostdlib -o ${probe} -Wl,--no-as-needed
  ${CURL_LINK_LIBRARIES} ${MICROHTTPD_LINK_LIBRARIES} ${NCURSES_LINK_LIBRARIES} ${SQLITE_LINK_LIBRARIES})
execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND ${CMAKE_READELF} -d ${probe} OUTPUT_VARIABLE loaded_libraries)
add_library(hw-loaded INTERFACE)
target_include_directories(hw-loaded INTERFACE ${CURL_INCLUDE_DIRS} ${MICROHTTPD_INCLUDE_DIRS} ${SQLITE_INCLUDE_DIRS})
foreach(name curl microhttpd ncursesw sqlite3)
  if(NOT loaded_libraries MATCHES "\\[(lib${name}\\.so[^]]*)\\]")
    message(FATAL_ERROR "heapwright loads lib${name} when it needs it, but here is no shared library of that name")
  endif()
  string(TOUPPER HWI_${name}_FILE variable)
  target_compile_definitions(hw-loaded INTERFACE "${variable}=\"${CMAKE_MATCH_1}\"")
endforeach()

add_library(hw-dependencies INTERFACE)
target_link_libraries(hw-dependencies INTERFACE hw-loaded PkgConfig::DW PkgConfig::LZMA PkgConfig::ZSTD PkgConfig::ZLIB PkgConfig::JANSSON ${IBERTY_LIBRARY} m ${CMAKE_DL_LIBS})

# For atomic operations on bytes, some compilers call functions (gcc before 14 on RISC-V). Those of libatomic.a have no locks and
# call nothing; they are linked in, so that what is preloaded needs no further library. A program with an archive is linked with them, too.
include(CheckCSourceCompiles)
check_c_source_compiles("int main(int n, char **words) { return __atomic_fetch_add(words[n - 1], 1, __ATOMIC_SEQ_CST); }" HW_HAS_BYTE_ATOMICS)
if(NOT HW_HAS_BYTE_ATOMICS)
  set(HW_ATOMICS -l:libatomic.a)
  link_libraries(-Wl,--exclude-libs,libatomic.a ${HW_ATOMICS})
endif()
