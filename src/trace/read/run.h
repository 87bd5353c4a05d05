/* run.h - the images of a run: NAME, and NAME.children/ with the later images */
#ifndef HWI_TRACE_READ_RUN_H
#define HWI_TRACE_READ_RUN_H

#include <stddef.h>

#include "trace/reader.h"
#include "trace/store.h"

struct hwi_run_image {
  char *path;
  struct hw_trace_header header;       /* as read when the run was looked up */
  struct hwi_definitions *definitions; /* complete; NULL: not needed yet */
  uint64_t replaced_ns; /* since its start: when an exec began the process's next image; UINT64_MAX: none is known */
  struct hwi_missing_execs missing;
};

struct hwi_run {
  struct hwi_run_image *images; /* sorted by start time */
  size_t count, capacity;
  struct hwi_run *relatives; /* of a single trace of a folder: the run of all traces there. NULL: not looked up */
  size_t unreadable;         /* files in NAME.children that are not traces of this run */
  bool is_whole;             /* it has all images; false: it is one trace of a folder */
  char *folder;              /* NAME.children */
  int64_t settled_ns;        /* when it changed, if all traces of then are known */
  struct hwi_store known;    /* the names of its traces there */
};

/* Finds the images that belong to `path`: a NAME with its children, or a NAME.children folder. If `path` is a trace
 * inside such a folder, the run is that trace alone, or all traces of NAME if `relatives` is set. Returns 0 or a
 * negative status. */
int hwi_run_find(struct hwi_run *run, const char *path, bool relatives, struct hwi_error *error);

/* Returns whether an image of the run of `path` has this pid. */
bool hwi_run_has_process(const char *path, uint64_t pid);
void hwi_run_release(struct hwi_run *run);

/* Looks for images that began since the run was found. They come after the known ones, in the order of their starts.
 * Returns 0 or a negative status. */
int hwi_run_look(struct hwi_run *run, struct hwi_error *error);

/* The run of all images of NAME is called `name` from now on, and its images like that. Returns 0 or HW_ERR_MEMORY. */
int hwi_run_rename(struct hwi_run *run, const char *name);

/* Brings the info of image `number`, whose trace is open, up to date with what is known of the other images. */
void hwi_run_update_info(const struct hwi_run *run, size_t number, struct hwi_trace *trace);

/* Finds the programs without a trace again, from what the headers of open traces have now: traces[i], or NULL, is of image
 * i. Returns 0 or HW_ERR_MEMORY. */
int hwi_run_find_unseen_programs(struct hwi_run *run, struct hwi_trace *const *traces);

/* Forked children of image `number` inherit from the definitions of its open trace, which may still grow. NULL: it has
 * ended; they are read again if a child that is found later needs them. */
void hwi_run_set_definitions(struct hwi_run *run, size_t number, struct hwi_trace *trace);

/* Opens image `number` of the run. Definitions that forked images inherit are read once and cached in the run. Returns
 * 0 or a negative status. */
int hwi_run_open(struct hwi_run *run, size_t number, struct hwi_trace **trace, struct hwi_error *error);

/* Computes a number that changes when an image of the run changes, or when the set of its files changes. It is made of
 * each file's size, time of modification and header. For raw files it includes the chunk headers, since a target that
 * is not visible from here may still write. Returns false if a file cannot be read or is still being written. */
bool hwi_run_fingerprint(const struct hwi_run *run, uint64_t *fingerprint);

#endif
