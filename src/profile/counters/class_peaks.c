/* class_peaks.c - the most bytes that were live at a time in blocks of each class of sizes, in total and by thread */
#include "profile/counters/class_peaks.h"

#include "trace/grow.h"

static void add(struct hwi_class_peak *peak, uint64_t bytes)
{
  peak->live_bytes += bytes;
  if (peak->live_bytes > peak->peak_bytes)
    peak->peak_bytes = peak->live_bytes;
}

bool hwi_class_peaks_begin(struct hwi_class_peaks *peaks, uint32_t thread, uint64_t size, uint64_t blocks)
{
  const unsigned class = hwi_size_class(size);
  if (!hwi_grow((void **)&peaks->by_thread, &peaks->thread_capacity, (size_t)thread + 1, sizeof *peaks->by_thread))
    return false;
  add(&peaks->all[class], blocks * size);
  add(&peaks->by_thread[thread][class], blocks * size);
  return true;
}

void hwi_class_peaks_end(struct hwi_class_peaks *peaks, uint32_t thread, uint64_t size, uint64_t blocks)
{
  const unsigned class = hwi_size_class(size);
  peaks->all[class].live_bytes -= blocks * size;
  peaks->by_thread[thread][class].live_bytes -= blocks * size;
}

void hwi_class_peaks_release(struct hwi_class_peaks *peaks)
{
  free(peaks->by_thread);
  *peaks = (struct hwi_class_peaks){0};
}
