/* epoch_file.h - epochs in a file, one after the other: the length of each in bytes (u64), and these bytes */
#ifndef HWI_PROFILE_EPOCHS_EPOCH_FILE_H
#define HWI_PROFILE_EPOCHS_EPOCH_FILE_H

#include "profile/epochs/epoch.h"

/* Writes the epoch at offset *end of the file, and moves *end past it. Returns 0, or a negative hw_error. */
int hwi_epoch_file_add(int fd, uint64_t *end, struct hwi_epoch *epoch);

/* All zero: none. */
struct hwi_epoch_file {
  int fd; /* not owned */
  uint64_t *offs;
  size_t count;
};

/* Finds the `count` epochs that are from `off` to `end` of the file. Returns false if there are more or fewer, or if
 * there is no memory. */
bool hwi_epoch_file_open(struct hwi_epoch_file *file, int fd, uint64_t off, uint64_t end, size_t count);
void hwi_epoch_file_release(struct hwi_epoch_file *file);

/* Reads the epoch into one that is all zero or was released. None of its lists may be longer than `most_items`, or than
 * its bytes can plausibly hold. Returns 0, or a negative hw_error. */
int hwi_epoch_file_read(const struct hwi_epoch_file *file, size_t number, uint64_t most_items, struct hwi_epoch *epoch);

#endif
