/* size_classes.h - the most bytes that were live in each class of block sizes, of all threads and of each row of threads */
#ifndef HWI_PAGE_SIZE_CLASSES_H
#define HWI_PAGE_SIZE_CLASSES_H

#include "page/packed.h"
#include "page/threads.h"
#include "profile/counters/class_peaks.h"

/* Writes "size_classes" into the current object. A row of several threads has no peak. */
void hwi_json_page_size_classes(struct hwi_json *json, const struct hwi_class_peaks *peaks,
                                const struct hwi_page_threads *threads);

#endif
