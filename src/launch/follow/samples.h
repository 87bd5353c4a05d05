/* samples.h - samples a recorded process into its trace: its resident memory, its threads, its libraries
 *
 * memory     At first a sample is taken every 20 ms, so that a run of half a second has a curve. Then the interval is a
 *            fiftieth of the time that has passed, up to one second, which takes some 250 samples. New peaks are also
 *            sampled. The interval grows further after hours, and where reading the mappings takes long, so that it
 *            costs less than a hundredth of the time. A recording with a sample of its calls must cost little: at
 *            first every 250 ms, and less than a thousandth.
 * threads    Their names and scheduling are noted: under a launcher the program itself does not ask the kernel for
 *            them, since its sandbox may kill it for that. Young threads are looked at often, old ones seldom. A thread
 *            that ends before it is looked at keeps the name that it set itself, if any.
 * libraries  Their paths are noted if the process changed its folder. The recorder resolves a relative library path
 *            against the folder in which the program started, because it must not ask for the current folder in a
 *            sandbox. Once the process is seen in another folder, its mappings are read: soon after that, and then less
 *            often.
 */
#ifndef HWI_LAUNCH_FOLLOW_SAMPLES_H
#define HWI_LAUNCH_FOLLOW_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/follow/drain.h"

struct hwi_seen_thread;
struct hwi_noted_library;

/* All zero: nothing was sampled. */
struct hwi_samples {
  struct hwi_rss_samples {
    uint64_t began_ns;                    /* time of the first sample; 0: none yet */
    uint64_t next_ns;                     /* time of the next regular sample */
    uint64_t next_maps_ns;                /* time of the next reading of the mappings */
    uint64_t bytes;                       /* as last read, sampled or not */
    uint64_t peak_bytes;                  /* the largest sample so far */
    uint64_t noted_peak_bytes;            /* peak reported by the kernel, as last written to the header */
    uint64_t recorder_bytes, stack_bytes; /* from the last reading of the mappings */
  } rss;
  struct hwi_group_samples {
    char *folder;          /* of the control group that limits the process's memory; NULL: none is known */
    uint64_t next_find_ns; /* when it is looked for again: a process may move to another group */
    uint64_t first_kills;  /* of the group, at the first sample */
    uint64_t limit, kills; /* as last seen; kills since the first sample */
  } group;
  struct hwi_thread_samples {
    union hw_thread_hint hints[HW_THREAD_HINTS]; /* as last read */
    struct hwi_seen_thread *seen;                /* running threads */
    size_t count, capacity;
    uint32_t noted; /* number of records written */
  } threads;
  struct hwi_library_samples {
    bool moved; /* the process was seen in another folder than the one its command started in */
    uint64_t next_ns, interval_ns;
    struct hwi_noted_library *noted;
    size_t count, capacity;
  } libraries;
};

/* Takes the samples for which it is time. May be called at any rate. Does nothing if the process is gone; takes no
 * sample of its memory if its main thread's stack no longer begins at `stack_start` (0: unknown), which means that it
 * is another image. */
void hwi_samples_take(struct hwi_samples *samples, struct hwi_drain *drain, uint64_t stack_start, uint64_t now_ns);
void hwi_samples_release(struct hwi_samples *samples);

/* To be called for a process that will probably end soon: it is sampled later. */
void hwi_samples_defer(struct hwi_samples *samples, const struct hwi_drain *drain, uint64_t now_ns);

/* Returns how many processes of its control group were killed since the first sample because memory ran out. The process
 * may be gone. */
uint64_t hwi_samples_oom_kills(struct hwi_samples *samples);

/* Writes a peak of the resident set into the trace's header if it is larger than the one there. */
void hwi_samples_note_peak(struct hwi_samples *samples, const struct hwi_drain *drain, uint64_t peak_bytes);

#endif
