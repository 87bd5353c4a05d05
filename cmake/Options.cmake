# What every C file of the project is compiled with, and the options of the build.
option(HW_WERROR "Warnings are errors" OFF)
set(HW_SANITIZE "" CACHE STRING "Sanitizers for the tools and the unit tests, e.g. address,undefined (never the recorder)")
option(HW_FUZZ "Build the fuzz targets (needs clang)" OFF)

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Assertions stay in: they cost nothing that a profile shows.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

add_library(hw-flags INTERFACE)
# The tables for unwinding, which are needed also for the recorder's own frames, are not the default on every CPU.
target_compile_options(hw-flags INTERFACE -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -fasynchronous-unwind-tables)
target_compile_definitions(hw-flags INTERFACE _GNU_SOURCE=)
if(CMAKE_SIZEOF_VOID_P EQUAL 4) # a file may be larger than 2 GB, or have a number above 2^32
  target_compile_definitions(hw-flags INTERFACE _FILE_OFFSET_BITS=64)
endif()
target_include_directories(hw-flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
if(HW_WERROR AND NOT HW_FUZZ) # gcc's warnings; clang, which fuzzing needs, knows not all of gcc's attributes
  target_compile_options(hw-flags INTERFACE -Werror)
endif()

# Functions that cannot be used safely are refused in the project's own code.
add_library(hw-banned INTERFACE)
target_compile_options(hw-banned INTERFACE -include ${CMAKE_SOURCE_DIR}/src/base/banned.h)

add_library(hw-sanitize INTERFACE)
if(HW_SANITIZE)
  target_compile_options(hw-sanitize INTERFACE -fsanitize=${HW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_definitions(hw-sanitize INTERFACE HW_SANITIZED)
  string(TOUPPER "${HW_SANITIZE}" names) # HW_SANITIZED_ADDRESS and so on: clang does not have gcc's __SANITIZE_ADDRESS__
  string(REPLACE "," ";HW_SANITIZED_" names "HW_SANITIZED_${names}")
  target_compile_definitions(hw-sanitize INTERFACE ${names})
  target_link_options(hw-sanitize INTERFACE -fsanitize=${HW_SANITIZE})
endif()
if(HW_FUZZ) # coverage, which libFuzzer goes by. NULL + 0, which clang reports, is defined since C2Y: a loop over an empty list has it
  target_compile_options(hw-sanitize INTERFACE -fsanitize=fuzzer-no-link -fno-sanitize=pointer-overflow)
endif()
