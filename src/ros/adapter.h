/* adapter.h - the library that `heapwright record --ros` preloads into the target next to the recorder */
#ifndef HWI_ROS_ADAPTER_H
#define HWI_ROS_ADAPTER_H

#define HWI_ROS_NAME "libheapwright-ros.so"

#endif
