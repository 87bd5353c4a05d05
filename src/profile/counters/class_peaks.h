/* class_peaks.h - the most bytes that were live at a time in blocks of each class of sizes, in total and by thread
 *
 * Bytes are as requested; a block counts for the thread that allocated it. The size classes are those of
 * hwi_size_class.
 */
#ifndef HWI_PROFILE_COUNTERS_CLASS_PEAKS_H
#define HWI_PROFILE_COUNTERS_CLASS_PEAKS_H

#include "profile/profile.h"

/* All zero: nothing was live. */
struct hwi_class_peaks {
  struct hwi_class_peak all[HWI_SIZE_CLASSES];
  struct hwi_class_peak (*by_thread)[HWI_SIZE_CLASSES];
  size_t thread_capacity;
};

/* Blocks begin. Returns false if there is no memory. */
bool hwi_class_peaks_begin(struct hwi_class_peaks *peaks, uint32_t thread, uint64_t size, uint64_t blocks);

/* Blocks end that began. */
void hwi_class_peaks_end(struct hwi_class_peaks *peaks, uint32_t thread, uint64_t size, uint64_t blocks);

void hwi_class_peaks_release(struct hwi_class_peaks *peaks);

#endif
