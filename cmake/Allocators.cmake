# libheapwright-pool.a: the pool of pool.h. Freestanding: it needs no libc, and so none of the flags that bring its headers.
hw_sources(HW_POOL_SOURCES allocators/tlsf/*.c)
add_library(heapwright-pool STATIC ${HW_POOL_SOURCES})
target_compile_options(heapwright-pool PRIVATE -ffreestanding -O3 -fPIC -fno-tree-slp-vectorize)
target_link_libraries(heapwright-pool PRIVATE hw-flags PUBLIC hw-sanitize)
install(TARGETS heapwright-pool ARCHIVE DESTINATION lib)

# The same as one header (make single-header).
set(HW_POOL_HEADER ${CMAKE_BINARY_DIR}/heapwright-pool.h)
add_custom_command(OUTPUT ${HW_POOL_HEADER}
  COMMAND /usr/bin/python3 -B ${CMAKE_SOURCE_DIR}/tools/single_header.py ${HW_POOL_HEADER}
  DEPENDS ${CMAKE_SOURCE_DIR}/tools/single_header.py ${CMAKE_SOURCE_DIR}/include/heapwright/pool.h ${HW_POOL_SOURCES})
add_custom_target(single-header DEPENDS ${HW_POOL_HEADER})

# libheapwright-tlsf.so: the heap of a whole process on such a pool, to be preloaded. It needs libc alone: libgcc's unwinder, for
# the stacks of its reports, is linked in; what that wants of glibc's loader alone is wrapped (os_linux_heap.c), so that the library
# loads where there is another libc. -O3 puts the pool's functions into the entry points; sums that are not reordered need
# fewer registers there.
hw_sources(HW_PROCESS_SOURCES allocators/process/*.c)
add_library(heapwright-tlsf SHARED
  ${HW_PROCESS_SOURCES} ${HW_POOL_SOURCES} ${HW_PLATFORM_SOURCES} ${HW_HEAP_PLATFORM_SOURCES} ${HW_BASE_TARGET_SOURCES})
target_link_libraries(heapwright-tlsf PRIVATE hw-flags hw-banned)
target_compile_options(heapwright-tlsf PRIVATE
  -O3 -fPIC -fvisibility=hidden -fno-semantic-interposition -flto=auto -fexceptions -ftls-model=initial-exec
  -fno-tree-slp-vectorize -fno-tree-reassoc -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free)
target_link_options(heapwright-tlsf PRIVATE
  -flto=auto -static-libgcc -Wl,--exclude-libs,ALL -Wl,--wrap=_dl_find_object -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--no-undefined -Wl,--as-needed)
install(TARGETS heapwright-tlsf LIBRARY DESTINATION lib)

# libheapwright-annotate.so: annotate.h around any malloc. It walks stacks with the recorder's reader of call frame information.
# The entry points and their slow paths have frame pointers, by which the caller is found.
hw_sources(HW_ANNOTATE_SOURCES annotate/*.c record/unwind/cfi*.c record/unwind/range.c)
add_library(heapwright-annotate SHARED
  ${HW_ANNOTATE_SOURCES} ${HW_PLATFORM_SOURCES} ${HW_BASE_TARGET_SOURCES})
target_link_libraries(heapwright-annotate PRIVATE hw-flags hw-banned)
target_compile_options(heapwright-annotate PRIVATE
  -fPIC -fvisibility=hidden -fno-semantic-interposition -flto=auto ${HW_TARGET_FLAGS})
target_link_options(heapwright-annotate PRIVATE
  -flto=auto -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--no-undefined -Wl,--as-needed)
install(TARGETS heapwright-annotate LIBRARY DESTINATION lib)
