/* size_classes.c - the most bytes that were live in each class of block sizes, of all threads and of each row of threads */
#include "page/size_classes.h"

struct columns {
  struct hwi_packed thread, to, peak_bytes;
  uint64_t count;
};

/* `number`: 0 for all threads, else the row of threads, plus 1. */
static void add_classes(struct columns *columns, uint64_t number, const struct hwi_class_peak *peaks)
{
  for (unsigned class = 0; class < HWI_SIZE_CLASSES; class ++) {
    if (!peaks[class].peak_bytes)
      continue;
    hwi_packed_add(&columns->thread, number);
    hwi_packed_add(&columns->to, UINT64_C(1) << (class + HWI_SMALLEST_CLASS_BITS));
    hwi_packed_add(&columns->peak_bytes, peaks[class].peak_bytes);
    columns->count++;
  }
}

void hwi_json_page_size_classes(struct hwi_json *json, const struct hwi_class_peaks *peaks,
                                const struct hwi_page_threads *threads)
{
  struct columns columns = {0};
  add_classes(&columns, 0, peaks->all);
  for (uint32_t row = 0; row < threads->row_count; row++)
    if (threads->threads[row] < peaks->thread_capacity)
      add_classes(&columns, (uint64_t)row + 1, peaks->by_thread[threads->threads[row]]);
  hwi_json_begin_object(json, "size_classes");
  hwi_json_number(json, "count", columns.count);
  hwi_json_packed(json, "thread", &columns.thread);
  hwi_json_packed(json, "to", &columns.to);
  hwi_json_packed(json, "peak_bytes", &columns.peak_bytes);
  hwi_json_end_object(json);
}
