# heapwright-config.cmake - for find_package(heapwright)
#
#   heapwright_add_allocator(NAME SOURCE...)   a library libNAME.so that replaces malloc, from a file that includes
#                                              <heapwright/allocator.h>; more sources may belong to it
#   heapwright_test_allocator(NAME)            a test NAME.conformance for ctest: does it keep malloc's contract?
#   heapwright_EXECUTABLE, heapwright_RECORDER, heapwright_POOL, heapwright_HEAP
#                                              the tool, and libraries to preload: the one that records, the real-time
#                                              pool, and the heap for throughput
#   heapwright::heaps, heapwright::heap, heapwright::heap_static
#                                              to link with: see heapwright-heaps.cmake
get_filename_component(heapwright_prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
set(heapwright_EXECUTABLE ${heapwright_prefix}/bin/heapwright)
set(heapwright_RECORDER ${heapwright_prefix}/lib/libheapwright-record.so)
set(heapwright_POOL ${heapwright_prefix}/lib/libheapwright-tlsf.so)
set(heapwright_HEAP ${heapwright_prefix}/lib/libheapwright-heap.so)

if(NOT TARGET heapwright::allocator)
  find_package(Threads REQUIRED)
  add_library(heapwright::allocator INTERFACE IMPORTED)
  target_include_directories(heapwright::allocator INTERFACE ${heapwright_prefix}/include)
  target_compile_options(heapwright::allocator INTERFACE -fexceptions -fvisibility=hidden)
  target_link_libraries(heapwright::allocator INTERFACE Threads::Threads ${CMAKE_DL_LIBS} -Wl,-z,now)
endif()

include(${CMAKE_CURRENT_LIST_DIR}/heapwright-heaps.cmake)

function(heapwright_add_allocator name)
  add_library(${name} SHARED ${ARGN})
  target_link_libraries(${name} PRIVATE heapwright::allocator)
endfunction()

function(heapwright_test_allocator name)
  add_test(NAME ${name}.conformance COMMAND ${heapwright_EXECUTABLE} test $<TARGET_FILE:${name}>)
endfunction()
