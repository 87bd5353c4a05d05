/* epoch_file.h - epochs in a file, one behind the other: of each how many bytes it takes (u64), and these */
#ifndef HWI_PROFILE_EPOCH_FILE_H
#define HWI_PROFILE_EPOCH_FILE_H

#include "profile/epoch.h"

/* Writes the epoch at *end of the file, and moves *end behind it. 0 or negative. */
int hwi_epoch_file_add(int fd, uint64_t *end, struct hwi_epoch *epoch);

/* All zero: none. */
struct hwi_epoch_file {
  int fd; /* somebody else's */
  uint64_t *offs;
  size_t count;
};

/* Finds the `count` epochs that lie from `off` to `end` of the file. False: there are others, or no memory. */
bool hwi_epoch_file_open(struct hwi_epoch_file *file, int fd, uint64_t off, uint64_t end, size_t count);
void hwi_epoch_file_release(struct hwi_epoch_file *file);

/* Reads the epoch into one that is all zero, or was released; none of its lists is longer than `most_items`, or than its bytes can
 * well tell. 0 or negative. */
int hwi_epoch_file_read(const struct hwi_epoch_file *file, size_t number, uint64_t most_items, struct hwi_epoch *epoch);

#endif
