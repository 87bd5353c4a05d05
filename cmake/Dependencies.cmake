# Debian 12's own libraries. All are the tools'; the recorder needs libc alone.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw libelf)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_check_modules(CURL REQUIRED libcurl) # its headers only: `heapwright push` loads it
pkg_check_modules(NCURSES REQUIRED ncursesw) # its flags select an older POSIX than ours: only its libraries are used
find_library(IBERTY_LIBRARY iberty REQUIRED)
find_path(IBERTY_INCLUDE_DIR libiberty/demangle.h REQUIRED)

add_library(hw-dependencies INTERFACE)
target_link_libraries(hw-dependencies INTERFACE PkgConfig::DW PkgConfig::LZMA PkgConfig::ZSTD PkgConfig::ZLIB PkgConfig::SQLITE PkgConfig::JANSSON PkgConfig::MICROHTTPD ${NCURSES_LINK_LIBRARIES} ${IBERTY_LIBRARY} m ${CMAKE_DL_LIBS})
target_include_directories(hw-dependencies INTERFACE ${CURL_INCLUDE_DIRS})
