# For Debian's riscv64.
set(CMAKE_SYSTEM_PROCESSOR riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/../CrossLinux.cmake)
# The compiler's own libraries are those of an older release.
set(CMAKE_C_FLAGS_INIT -B$ENV{HW_SYSROOT}/usr/lib/riscv64-linux-gnu)
set(CMAKE_CXX_FLAGS_INIT -B$ENV{HW_SYSROOT}/usr/lib/riscv64-linux-gnu)
