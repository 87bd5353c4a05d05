/* alone.h - how `heapwright run` tells the library in the program what to restore */
#ifndef HWI_RUN_ALONE_H
#define HWI_RUN_ALONE_H

#define HWI_ALONE_NAME "libheapwright-alone.so"

/* LD_PRELOAD as the caller had it; "" where there was none. */
#define HWI_ALONE_VARIABLE "HEAPWRIGHT_ALONE"

#endif
