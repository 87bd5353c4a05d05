# heapwright-libraries.cmake - for find_package(heapwright): libraries to link with
#
#   heapwright::pool          the pool of heapwright/pool.h
#   heapwright::heaps         heaps as objects, of heapwright/heap.h
#   heapwright::heap          the same, and malloc of the whole process: the shared library
#   heapwright::heap_static   the same, linked into the program: the archive, also for programs that are static
#   heapwright::record_static the recorder, linked into a program that is static
if(TARGET heapwright::heaps)
  return()
endif()
get_filename_component(heapwright_libraries ${heapwright_HEAP} DIRECTORY)
get_target_property(heapwright_headers heapwright::allocator INTERFACE_INCLUDE_DIRECTORIES)

function(heapwright_add_library name kind file)
  add_library(heapwright::${name} ${kind} IMPORTED)
  set_target_properties(heapwright::${name} PROPERTIES
    IMPORTED_LOCATION ${heapwright_libraries}/${file} INTERFACE_INCLUDE_DIRECTORIES ${heapwright_headers})
  target_link_libraries(heapwright::${name} INTERFACE Threads::Threads ${heapwright_atomics})
endfunction()

heapwright_add_library(pool STATIC libheapwright-pool.a)
heapwright_add_library(heaps STATIC libheapwright-heaps.a)
heapwright_add_library(heap SHARED libheapwright-heap.so)
heapwright_add_library(heap_static STATIC libheapwright-heap.a)
heapwright_add_library(record_static STATIC libheapwright-record.a)
target_link_options(heapwright::record_static INTERFACE LINKER:@${heapwright_libraries}/heapwright-record.options)
# A program that calls none of its functions itself has it, too.
target_link_options(heapwright::heap INTERFACE LINKER:--no-as-needed)
target_link_options(heapwright::heap_static INTERFACE LINKER:--undefined=malloc)
