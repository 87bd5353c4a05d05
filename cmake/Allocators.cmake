# libheapwright-pool.a: the pool of pool.h. Freestanding: it needs no libc, and so none of the flags that bring its headers.
hw_sources(HW_POOL_SOURCES allocators/tlsf/*.c)
add_library(heapwright-pool STATIC ${HW_POOL_SOURCES})
target_compile_options(heapwright-pool PRIVATE -ffreestanding -O3 -fPIC -fno-tree-slp-vectorize)
target_link_libraries(heapwright-pool PRIVATE hw-flags PUBLIC hw-sanitize)
install(TARGETS heapwright-pool)

# The pool, and the heap, each as one header.
add_custom_target(single-header
  COMMAND /usr/bin/python3 -B ${CMAKE_SOURCE_DIR}/tools/single_header.py pool ${CMAKE_BINARY_DIR}/heapwright-pool.h
  COMMAND /usr/bin/python3 -B ${CMAKE_SOURCE_DIR}/tools/single_header.py heap ${CMAKE_BINARY_DIR}/heapwright-heap.h)

# libheapwright-tlsf.so: the heap of a whole process on such a pool, to be preloaded. It needs libc alone: libgcc's unwinder, for
# the stacks of its reports, is linked in; what that wants of glibc's loader alone is wrapped (platform/linux/heap.c), so that the library
# loads where there is another libc. -O3 puts the pool's functions into the entry points; sums that are not reordered need
# fewer registers there.
hw_sources(HW_PROCESS_SOURCES allocators/*.c allocators/process/*.c)
add_library(heapwright-tlsf SHARED
  ${HW_PROCESS_SOURCES} ${HW_POOL_SOURCES} ${HW_PLATFORM_SOURCES} ${HW_HEAP_PLATFORM_SOURCES} ${HW_BASE_TARGET_SOURCES})
target_link_libraries(heapwright-tlsf PRIVATE hw-flags hw-banned)
target_compile_options(heapwright-tlsf PRIVATE
  -O3 -fPIC -fvisibility=hidden -fno-semantic-interposition -flto=auto -fexceptions -ftls-model=initial-exec
  -fno-tree-slp-vectorize -fno-tree-reassoc -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free)
target_link_options(heapwright-tlsf PRIVATE
  -flto=auto -static-libgcc -Wl,--exclude-libs,ALL -Wl,--wrap=_dl_find_object -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--no-undefined -Wl,--as-needed)
install(TARGETS heapwright-tlsf)

# libheapwright-heaps.a: the heaps of heap.h. libheapwright-heap.so: one of them as the heap of a whole process, built like the pool's.
# The names differ, since the linker prefers a .so.
hw_sources(HW_HEAP_SOURCES_ALONE allocators/heap/*.c allocators/lock.c allocators/message.c allocators/setting.c)
set(HW_HEAP_SOURCES ${HW_HEAP_SOURCES_ALONE} ${HW_PLATFORM_SOURCES} ${HW_HEAP_PLATFORM_SOURCES} ${HW_BASE_TARGET_SOURCES})
add_library(heapwright-heaps STATIC ${HW_HEAP_SOURCES})
target_compile_options(heapwright-heaps PRIVATE -O3 -fPIC -fvisibility=hidden -ftls-model=initial-exec)
target_link_libraries(heapwright-heaps PRIVATE hw-flags hw-banned PUBLIC hw-sanitize)
install(TARGETS heapwright-heaps)

# Calls of heap.h within the library stay there, also if the program has the archive.
hw_sources(HW_PROCESS_HEAP_SOURCES allocators/fork_heap.c allocators/pass_on.c allocators/process_heap/*.c)
hw_sources(HW_STATIC_HEAP_SOURCES allocators/process_heap/static_program.c)
list(REMOVE_ITEM HW_PROCESS_HEAP_SOURCES ${HW_STATIC_HEAP_SOURCES})
set(HW_EXPORT_HEAPS "SHELL:-include ${CMAKE_SOURCE_DIR}/src/allocators/process_heap/exported.h")
add_library(heapwright-process-heap SHARED ${HW_PROCESS_HEAP_SOURCES} ${HW_HEAP_SOURCES})
set_target_properties(heapwright-process-heap PROPERTIES OUTPUT_NAME heapwright-heap)
target_link_libraries(heapwright-process-heap PRIVATE hw-flags hw-banned)
target_compile_options(heapwright-process-heap PRIVATE $<TARGET_PROPERTY:heapwright-tlsf,COMPILE_OPTIONS> ${HW_EXPORT_HEAPS})
target_link_options(heapwright-process-heap PRIVATE $<TARGET_PROPERTY:heapwright-tlsf,LINK_OPTIONS> -Wl,-Bsymbolic-functions)
install(TARGETS heapwright-process-heap)

# libheapwright-heap.a: the same to be linked in: one object, whose only global names are malloc and the like, and those of heap.h. Of
# the platform, it has the files that it needs.
add_library(heapwright-heap-objects OBJECT ${HW_PROCESS_HEAP_SOURCES} ${HW_STATIC_HEAP_SOURCES} ${HW_HEAP_SOURCES_ALONE})
add_library(heapwright-heap-platform STATIC ${HW_PLATFORM_SOURCES} ${HW_HEAP_PLATFORM_SOURCES} ${HW_BASE_TARGET_SOURCES})
get_target_property(HW_STATIC_HEAP_OPTIONS heapwright-tlsf COMPILE_OPTIONS)
list(REMOVE_ITEM HW_STATIC_HEAP_OPTIONS -flto=auto)
foreach(target heapwright-heap-objects heapwright-heap-platform)
  target_link_libraries(${target} PRIVATE hw-flags hw-banned)
  target_compile_options(${target} PRIVATE ${HW_STATIC_HEAP_OPTIONS} ${HW_EXPORT_HEAPS})
endforeach()
set(HW_STATIC_HEAP ${CMAKE_BINARY_DIR}/lib/libheapwright-heap.a)
add_custom_command(OUTPUT ${HW_STATIC_HEAP}
  COMMAND ${CMAKE_LINKER} -r -T ${CMAKE_SOURCE_DIR}/cmake/heap-static.ld -o heapwright-heap.o
    $<TARGET_OBJECTS:heapwright-heap-objects> $<TARGET_FILE:heapwright-heap-platform>
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden --strip-unneeded heapwright-heap.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${HW_STATIC_HEAP}
  COMMAND ${CMAKE_AR} rcs ${HW_STATIC_HEAP} heapwright-heap.o
  DEPENDS heapwright-heap-objects $<TARGET_OBJECTS:heapwright-heap-objects> heapwright-heap-platform cmake/heap-static.ld
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(heapwright-heap-static ALL DEPENDS ${HW_STATIC_HEAP})
install(FILES ${HW_STATIC_HEAP} DESTINATION ${CMAKE_INSTALL_LIBDIR})

# libheapwright-annotate.so: annotate.h around any malloc. It walks stacks with the recorder's reader of call frame information.
# The entry points and their slow paths have frame pointers, by which the caller is found. What does not allocate, such as mallinfo,
# stays with the malloc beneath.
hw_sources(HW_ANNOTATE_SOURCES annotate/*.c record/unwind/range.c)
list(APPEND HW_ANNOTATE_SOURCES ${HW_CFI_SOURCES} ${HW_PLATFORM_SOURCES} ${HW_BASE_TARGET_SOURCES})
add_library(heapwright-annotate SHARED ${HW_ANNOTATE_SOURCES})
target_link_libraries(heapwright-annotate PRIVATE hw-flags hw-banned)
target_compile_options(heapwright-annotate PRIVATE
  -fPIC -fvisibility=hidden -fno-semantic-interposition -flto=auto ${HW_TARGET_FLAGS})
target_link_options(heapwright-annotate PRIVATE
  -flto=auto ${HW_TARGET_LINK_FLAGS} -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/annotate.map
  -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--no-undefined -Wl,--as-needed)
install(TARGETS heapwright-annotate)

# The same for static programs: one object, in which malloc is called __wrap_malloc, and so on. libstdc++'s operators new call that.
set(HW_WRAPPED malloc free calloc realloc reallocarray posix_memalign aligned_alloc memalign valloc pvalloc malloc_usable_size)
list(TRANSFORM HW_WRAPPED REPLACE "(.+)" "--redefine-sym=\\1=__wrap_\\1" OUTPUT_VARIABLE HW_WRAPPED_NAMES)
list(TRANSFORM HW_WRAPPED PREPEND "--undefined=" OUTPUT_VARIABLE HW_WRAPPED_ROOTS)
list(JOIN HW_WRAPPED "\n--wrap=" options)
file(WRITE ${CMAKE_BINARY_DIR}/lib/heapwright-annotate.options "--wrap=${options}\n--undefined=__wrap_malloc\n--eh-frame-hdr\n")
add_library(heapwright-annotate-objects OBJECT ${HW_ANNOTATE_SOURCES})
target_link_libraries(heapwright-annotate-objects PRIVATE hw-flags hw-banned)
target_compile_definitions(heapwright-annotate-objects PRIVATE HW_STATIC)
target_compile_options(heapwright-annotate-objects PRIVATE
  -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections ${HW_TARGET_FLAGS})
set(HW_ANNOTATE_ARCHIVE ${CMAKE_BINARY_DIR}/lib/libheapwright-annotate.a)
add_custom_command(OUTPUT ${HW_ANNOTATE_ARCHIVE}
  COMMAND ${CMAKE_LINKER} -r --gc-sections ${HW_WRAPPED_ROOTS} -T ${CMAKE_SOURCE_DIR}/cmake/annotate-static.ld
    -o heapwright-annotate.o $<TARGET_OBJECTS:heapwright-annotate-objects>
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden --strip-unneeded ${HW_WRAPPED_NAMES} heapwright-annotate.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${HW_ANNOTATE_ARCHIVE}
  COMMAND ${CMAKE_AR} rcs ${HW_ANNOTATE_ARCHIVE} heapwright-annotate.o
  DEPENDS heapwright-annotate-objects $<TARGET_OBJECTS:heapwright-annotate-objects> cmake/annotate-static.ld
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(heapwright-annotate-static ALL DEPENDS ${HW_ANNOTATE_ARCHIVE})
install(FILES ${HW_ANNOTATE_ARCHIVE} ${CMAKE_BINARY_DIR}/lib/heapwright-annotate.options TYPE LIB)
