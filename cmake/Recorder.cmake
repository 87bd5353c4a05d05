# libheapwright-record.so: what is preloaded into the target. It needs libc alone and exports its entry points alone.
set(HW_TARGET_SOURCES ${HW_PLATFORM_SOURCES} ${HW_BASE_TARGET_SOURCES} ${HW_WRITER_SOURCES} ${HW_RECORD_SOURCES})

set(HW_TARGET_FLAGS
  -fno-omit-frame-pointer   # the entry points read their caller's frame
  -foptimize-sibling-calls  # they jump to their bodies, also at -O1
  -fexceptions              # a new_handler may throw through operator new
  -ftls-model=initial-exec  # the general model allocates on first use
  -fno-tree-slp-vectorize   # two addresses in one register must be taken apart again in each step of a walk
  -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free # never folded into one another
)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^arm")
  set(HW_TARGET_CPU_FLAGS -marm -ffixed-r7) # see arch_arm.h
  list(APPEND HW_TARGET_FLAGS ${HW_TARGET_CPU_FLAGS})
  set(HW_TARGET_LINK_FLAGS ${HW_TARGET_CPU_FLAGS} -static-libgcc -Wl,--exclude-libs,ALL) # the tables name functions of libgcc
endif()
string(TOUPPER "${CMAKE_BUILD_TYPE}" HW_BUILD_TYPE)
if("${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${HW_BUILD_TYPE}}" MATCHES "-Og")
  list(APPEND HW_TARGET_FLAGS -O1) # gcc makes no such jumps at -Og
endif()

if(HW_RECORD_SOURCES)
  add_library(heapwright-record SHARED ${HW_TARGET_SOURCES})
  target_link_libraries(heapwright-record PRIVATE hw-flags hw-banned)
  target_compile_options(heapwright-record PRIVATE
    -fPIC -fvisibility=hidden -fno-semantic-interposition -flto=auto ${HW_TARGET_FLAGS})
  # Bound at load time (-z now): a lazy resolver would need more stack than a small thread has.
  # A program that loaded it as a collector may close it, while threads that it has seen go on: it stays (nodelete).
  target_link_options(heapwright-record PRIVATE
    -flto=auto ${HW_TARGET_LINK_FLAGS} -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--no-undefined -Wl,--as-needed
    -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/record.map)
  set_target_properties(heapwright-record PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/record.map)
  install(TARGETS heapwright-record)
endif()

# libheapwright-record.a: the same for static programs, as one object (without --gc-sections, which drops unwind tables), and the options of the linker that lead the calls of the program and
# of libc to it. Whatever malloc is linked in stays beneath. operator new of the program or of libstdc++ calls malloc.
set(HW_LINKED malloc free calloc realloc reallocarray posix_memalign aligned_alloc memalign valloc pvalloc malloc_usable_size
  free_sized free_aligned_sized pthread_setname_np prctl syscall execv execvp execve execvpe fexecve execl execlp execle
  posix_spawn posix_spawnp)
list(JOIN HW_LINKED "\n--wrap=" options)
set(HW_LINKED_OPTIONS ${CMAKE_BINARY_DIR}/lib/heapwright-record.options)
file(WRITE ${HW_LINKED_OPTIONS} "--wrap=${options}\n--undefined=__wrap_malloc\n--eh-frame-hdr\n")
list(TRANSFORM HW_LINKED REPLACE "(.+)" "--redefine-sym=\\1=__wrap_\\1" OUTPUT_VARIABLE HW_LINKED_NAMES)
list(TRANSFORM HW_LINKED PREPEND "--keep-global-symbol=__wrap_" OUTPUT_VARIABLE HW_LINKED_KEPT)
set(HW_LINKED_SOURCES ${HW_TARGET_SOURCES} ${HW_STATIC_PLATFORM_SOURCES})
list(REMOVE_ITEM HW_LINKED_SOURCES ${HW_DYNAMIC_PLATFORM_SOURCES})
add_library(heapwright-record-objects OBJECT ${HW_LINKED_SOURCES})
target_link_libraries(heapwright-record-objects PRIVATE hw-flags hw-banned)
target_compile_options(heapwright-record-objects PRIVATE -fPIC -fvisibility=hidden ${HW_TARGET_FLAGS})
set(HW_LINKED_RECORDER ${CMAKE_BINARY_DIR}/lib/libheapwright-record.a)
add_custom_command(OUTPUT ${HW_LINKED_RECORDER}
  COMMAND ${CMAKE_LINKER} -r -o heapwright-record.o $<TARGET_OBJECTS:heapwright-record-objects>
  COMMAND ${CMAKE_OBJCOPY} ${HW_LINKED_NAMES} heapwright-record.o
  COMMAND ${CMAKE_OBJCOPY} ${HW_LINKED_KEPT} --keep-global-symbol=heapwright_monitor --strip-unneeded heapwright-record.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${HW_LINKED_RECORDER}
  COMMAND ${CMAKE_AR} rcs ${HW_LINKED_RECORDER} heapwright-record.o
  DEPENDS heapwright-record-objects $<TARGET_OBJECTS:heapwright-record-objects>
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(heapwright-record-static ALL DEPENDS ${HW_LINKED_RECORDER})
install(FILES ${HW_LINKED_RECORDER} ${HW_LINKED_OPTIONS} TYPE LIB)

# libheapwright-ros.so: what `heapwright record --ros` preloads next to it. It needs libc alone and exports the functions of
# libtracetools that it replaces.
hw_sources(HW_ROS_SOURCES ros/*.c)
add_library(heapwright-ros SHARED ${HW_ROS_SOURCES} ${HW_PLATFORM_SOURCES} ${HW_BASE_TARGET_SOURCES})
target_link_libraries(heapwright-ros PRIVATE hw-flags hw-banned)
target_compile_options(heapwright-ros PRIVATE -fPIC -fvisibility=hidden -flto=auto -ftls-model=initial-exec)
target_link_options(heapwright-ros PRIVATE
  -flto=auto ${HW_TARGET_LINK_FLAGS} -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--no-undefined -Wl,--as-needed)
install(TARGETS heapwright-ros)

# The same objects for unit tests. Without the entry points and the library's start: a test must not record itself.
set(HW_TARGET_TEST_SOURCES ${HW_WRITER_SOURCES} ${HW_RECORD_SOURCES})
hw_sources(HW_ENTRY_SOURCES record/entry/*.c)
list(REMOVE_ITEM HW_TARGET_TEST_SOURCES ${HW_ENTRY_SOURCES})
if(HW_TARGET_TEST_SOURCES)
  add_library(hw-target-side STATIC EXCLUDE_FROM_ALL ${HW_TARGET_TEST_SOURCES})
  target_compile_options(hw-target-side PRIVATE ${HW_TARGET_FLAGS})
  target_link_libraries(hw-target-side PRIVATE hw-flags hw-banned PUBLIC hw-sanitize hw-common)
endif()
