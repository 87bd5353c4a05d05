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
    -flto=auto -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--no-undefined -Wl,--as-needed)
  install(TARGETS heapwright-record)
endif()

# libheapwright-ros.so: what `heapwright record --ros` preloads next to it. It needs libc alone and exports the functions of
# libtracetools that it replaces.
hw_sources(HW_ROS_SOURCES ros/*.c)
add_library(heapwright-ros SHARED ${HW_ROS_SOURCES} ${HW_PLATFORM_SOURCES} ${HW_BASE_TARGET_SOURCES})
target_link_libraries(heapwright-ros PRIVATE hw-flags hw-banned)
target_compile_options(heapwright-ros PRIVATE -fPIC -fvisibility=hidden -flto=auto -ftls-model=initial-exec)
target_link_options(heapwright-ros PRIVATE
  -flto=auto -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--no-undefined -Wl,--as-needed)
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
