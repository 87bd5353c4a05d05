/* classes.h - the size classes of a general heap by default, and how large the pages of a class are */
#ifndef HWI_ALLOCATORS_HEAP_CLASSES_H
#define HWI_ALLOCATORS_HEAP_CLASSES_H

#include <stddef.h>

enum {
  HWI_SLICE_BITS = 16,
  HWI_LARGE_PAGE_SLICES = 4, /* of classes of which fewer than 16 fit in a slice */
};

#define HWI_SLICE_BYTES ((size_t)1 << HWI_SLICE_BITS)

/* 1152, 2304 and so on: programs often add a header of their own to a power of two. */
static const size_t hwi_default_classes[] = {
    16,   32,   48,   64,   80,   96,   112,   128,   160,   192,   224,   256,   320,   384,   448,
    512,  640,  768,  896,  1024, 1152, 1280,  1536,  1792,  2048,  2304,  2560,  3072,  3584,  4096,
    4608, 5120, 6144, 7168, 8192, 9216, 10240, 12288, 14336, 16384, 18432, 20480, 24576, 28672, 32768,
};

enum { HWI_DEFAULT_CLASS_COUNT = sizeof hwi_default_classes / sizeof *hwi_default_classes };

static inline unsigned hwi_class_slices(size_t block_bytes)
{
  enum { FEWEST_BLOCKS = 16 };
  return HWI_SLICE_BYTES / block_bytes >= FEWEST_BLOCKS ? 1 : HWI_LARGE_PAGE_SLICES;
}

#endif
