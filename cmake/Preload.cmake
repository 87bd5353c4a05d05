# The names under which LD_PRELOAD has libraries that children get, see src/launch/target/preload.c: a folder for each value of $PLATFORM.
# 32-bit programs find libraries without contents there, where the compiler can make them. All of it also in a folder whose name
# AddressSanitizer takes for its own library's.
set(HW_PRELOAD_NAMES ${CMAKE_BINARY_DIR}/lib/heapwright)
file(REMOVE_RECURSE ${HW_PRELOAD_NAMES})
file(MAKE_DIRECTORY ${HW_PRELOAD_NAMES})
file(CREATE_LINK . ${HW_PRELOAD_NAMES}/not-libasan.so SYMBOLIC)
set(own_platforms ${CMAKE_SYSTEM_PROCESSOR} "$PLATFORM") # the latter: musl's loader takes the name as it is
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  list(APPEND own_platforms haswell xeon_phi)
  file(MAKE_DIRECTORY ${HW_PRELOAD_NAMES}/i686)
  foreach(platform i586 i486 i386)
    file(CREATE_LINK i686 ${HW_PRELOAD_NAMES}/${platform} SYMBOLIC)
  endforeach()
  foreach(name record tlsf heap ros)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -m32 -shared -nostdlib -s -Wl,-z,noexecstack -x c /dev/null
      -o ${HW_PRELOAD_NAMES}/i686/libheapwright-${name}.so OUTPUT_QUIET ERROR_QUIET)
  endforeach()
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^arm") # of ARMv7 and ARMv8, which the processor's name may not be
  list(APPEND own_platforms v7l v8l)
endif()
foreach(platform ${own_platforms})
  file(CREATE_LINK .. ${HW_PRELOAD_NAMES}/${platform} SYMBOLIC)
endforeach()
install(DIRECTORY ${HW_PRELOAD_NAMES} TYPE LIB)
