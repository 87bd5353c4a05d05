# hw_sources(VARIABLE PATTERN...): the files that match below src/, found again at each build.
function(hw_sources variable)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/src/)
  file(GLOB found CONFIGURE_DEPENDS ${ARGN})
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# Detours of functions: what is common to the CPUs that have them, and one CPU's part.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(code platform/code/plan.c platform/code/x86_64*.c)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(code platform/code/plan.c platform/code/aarch64*.c)
else()
  set(code platform/code/none.c)
endif()
hw_sources(HW_PLATFORM_SOURCES platform/linux/*.c ${code})
hw_sources(HW_HEAP_PLATFORM_SOURCES platform/linux/heap.c) # the heap of a process alone unwinds with libgcc
hw_sources(HW_TOOL_PLATFORM_SOURCES platform/machine.c platform/linux/tools/*.c)
hw_sources(HW_DYNAMIC_PLATFORM_SOURCES platform/linux/symbols.c platform/linux/functions.c platform/linux/dynamic.c)
hw_sources(HW_STATIC_PLATFORM_SOURCES platform/linux/static.c) # in place of them, in a static program with the recorder
list(REMOVE_ITEM HW_PLATFORM_SOURCES ${HW_HEAP_PLATFORM_SOURCES} ${HW_STATIC_PLATFORM_SOURCES})
hw_sources(HW_BASE_SOURCES base/*.c)
hw_sources(HW_WRITER_SOURCES trace/writer*.c)
hw_sources(HW_RECORD_SOURCES record/*.c record/*/*.c)
hw_sources(HW_CFI_SOURCES record/unwind/cfi*.c) # two readers of tables, one for each kind
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^arm")
  set(other_tables "/cfi_(find|rules)\\.c$")
else()
  set(other_tables "/cfi_exidx\\.c$")
endif()
list(FILTER HW_RECORD_SOURCES EXCLUDE REGEX ${other_tables})
list(FILTER HW_CFI_SOURCES EXCLUDE REGEX ${other_tables})
hw_sources(HW_TOOL_SOURCES trace/*.c trace/*/*.c symbols/*.c profile/*.c profile/*/*.c report/*.c report/*/*.c page/*.c plot/*.c compare/*.c export/*.c export/*/*.c tune/*.c tune/*/*.c allocators/heap/fields.c memory/*/*.c memory/*/*/*.c launch/*.c launch/*/*.c live/*.c live/*/*.c push/*.c cli/*.c)
hw_sources(HW_MAIN_SOURCES cli/main.c)
list(REMOVE_ITEM HW_TOOL_SOURCES ${HW_WRITER_SOURCES} ${HW_MAIN_SOURCES})

# Of base, what only the tools use: it may call malloc and stdio.
hw_sources(HW_BASE_TOOL_SOURCES base/error.c base/library.c base/system_words.c)
set(HW_BASE_TARGET_SOURCES ${HW_BASE_SOURCES})
list(REMOVE_ITEM HW_BASE_TARGET_SOURCES ${HW_BASE_TOOL_SOURCES})
