# For Debian's armhf: 32-bit Arm, ARMv7-A.
set(CMAKE_SYSTEM_PROCESSOR arm)
set(HW_TRIPLE arm-linux-gnueabihf)
include(${CMAKE_CURRENT_LIST_DIR}/../CrossLinux.cmake)
