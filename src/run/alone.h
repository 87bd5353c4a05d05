/* alone.h - how `heapwright run` passes the value to restore to the library in the program */
#ifndef HWI_RUN_ALONE_H
#define HWI_RUN_ALONE_H

#define HWI_ALONE_NAME "libheapwright-alone.so"

/* LD_PRELOAD as the caller had it, or "" if it was not set. */
#define HWI_ALONE_VARIABLE "HEAPWRIGHT_ALONE"

#endif
