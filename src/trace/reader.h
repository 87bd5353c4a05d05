/* reader.h - reads a trace, raw or packed, finished or still being written, whole or damaged
 *
 * image      one trace file.
 * event      one thing that happened, decoded; a realloc gives one event at the old block's end and one at the new one's
 *            birth, so that a consumer sees blocks begin and end only.
 * A reader merges the streams of an image into the order in which things happened (see format.h on equal ticks).
 *
 * Every byte of the file counts as hostile: whatever is wrong ends the damaged part, is noted in the info, and never
 * crashes, hangs or takes memory beyond the number of streams, nodes and modules really there.
 */
#ifndef HWI_TRACE_READER_H
#define HWI_TRACE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/format.h"

enum hwi_event_kind {
  HWI_EVENT_ALLOC = 1,
  HWI_EVENT_FREE = 2,
  HWI_EVENT_FAILED = 3, /* address is 0 */
};

struct hwi_event {
  uint64_t tick; /* see hwi_trace_tick_ns */
  uint64_t address;
  uint64_t size;   /* requested; 0 for a free */
  uint64_t usable; /* 0: not recorded */
  uint64_t took;   /* clock units of the call, plus 1; 0: not recorded. Of a realloc the new block's half has it */
  uint32_t node;   /* of allocations and failed calls; 0: unknown */
  uint32_t thread; /* number */
  uint8_t kind;    /* enum hwi_event_kind */
  uint8_t entry;   /* of a free: enum hw_entry. An allocation's is in its node */
  uint8_t alignment_log2; /* 0: none asked for */
  bool moved;             /* half of a realloc: the ALLOC and the FREE before it belong together */
};

struct hwi_node {
  uint64_t address; /* the byte before it lies in the frame's instruction */
  uint32_t parent;  /* the caller's node; 0: none */
  uint32_t module;  /* load number; 0: none */
  uint8_t entry;    /* enum hw_entry; not NONE in innermost nodes only */
  bool known;       /* false: its definition is not in what could be read */
  bool cut;         /* not a frame: `address` frames (0: unknown number) were left out here */
};

struct hwi_module {
  uint64_t start, end, bias;
  uint8_t build_id[64];
  uint8_t build_id_bytes;
  bool known;
  const char *path; /* owned by the reader */
};

struct hwi_thread {
  uint32_t tid;
  uint8_t policy; /* SCHED_*; 255: unknown */
  uint8_t priority;
  bool known;
  bool renamed; /* it gave itself another name than it began with */
  char name[16];
};

struct hwi_mark {
  uint64_t ns;      /* since the start of the image */
  uint32_t type;    /* HW_TOOL_MARK, HW_TOOL_PAUSED or HW_TOOL_RESUMED */
  const char *text; /* owned by the reader */
};

struct hwi_rss_point {
  uint64_t ns;
  struct hw_rss_sample sample;
};

struct hwi_note {
  uint8_t kind;     /* enum hw_note */
  const char *text; /* owned by the reader */
};

/* Programs noted in a header as executed that left no trace in the run. */
struct hwi_missing_execs {
  uint64_t children; /* bit N: child_execs[N] */
  bool own;          /* exec */
};
static_assert(HW_CHILD_EXECS <= 64, "each has a bit");

/* What is known without reading events, or better after reading them. All pointers are owned by the reader. */
struct hwi_trace_info {
  struct hw_trace_header header;
  const char *path;
  const char *command; /* arguments joined by blanks, quoted as a shell would need */
  const char *exe;
  const char *cwd;
  const char *const *environment; /* NAME=VALUE, NULL at the end */
  const struct hwi_mark *marks;
  uint32_t mark_count;
  const struct hwi_rss_point *rss;
  uint32_t rss_count;
  const struct hw_exit_status *exit; /* NULL: unknown (still running, killed with its launcher, or no launcher) */
  const struct hwi_note *notes;
  uint32_t note_count;
  uint64_t clock_cost_ns;                          /* of the durations of calls: see the header's clock_cost */
  uint64_t rss_peak_bytes;                         /* as the target saw it now and then; 0: unknown */
  uint64_t duration_ns;                            /* from the start to the last thing known */
  uint32_t node_count, module_count, thread_count; /* one more than the largest number seen */
  uint32_t children_unseen;
  struct hwi_missing_execs missing; /* of a run that is all there; such programs count as children unseen, too */
  bool being_written;               /* its process is alive and has it mapped */
  bool ended;                       /* the program reached the end of its destructors */
  bool parent_missing;              /* of a forked image: stacks that it inherited are unknown */
  uint64_t silent_from_ns;          /* UINT64_MAX: never. From here on nothing could be recorded (limit, disk) */
  uint64_t damaged_chunks;          /* left out, wholly or from some byte on */
  uint64_t first_damage_off;        /* valid where damaged_chunks > 0 */
  uint64_t missing_chunks;          /* gaps in a stream's sequence */
  uint64_t raw_event_bytes;         /* of events as the target wrote them */
};

struct hwi_trace; /* an open image */

enum { HWI_TRACE_MIN_BATCH = 64 };

/* No time in info or of an event is later than this, whatever the file says: 146 years. Two of them can be added. */
#define HWI_TRACE_LATEST_NS (UINT64_C(1) << 62)

/* Opens a trace and reads its index and the tools' records. On failure *trace is NULL and *error says why. An image begun by
 * a fork reads its parent's definitions too, found by image id beside it. A trace is used by one thread at a time. */
int hwi_trace_open(struct hwi_trace **trace, const char *path, struct hwi_error *error);
void hwi_trace_close(struct hwi_trace *trace); /* NULL is fine */

/* No more events or definitions are wanted: gives their memory and the file back. The info stays. */
void hwi_trace_finish(struct hwi_trace *trace);

/* Valid until the trace is closed; its contents grow while events are read. */
const struct hwi_trace_info *hwi_trace_info(const struct hwi_trace *trace);

/* Copies up to `max` (at least HWI_TRACE_MIN_BATCH) next events in order. The number, 0 at the end, or negative. */
int hwi_trace_next(struct hwi_trace *trace, struct hwi_event *events, int max, struct hwi_error *error);

/* hwi_trace_next goes on with the first event that is not older than `tick`, in any direction. What lies before in its part
 * of the file is read and dropped. Definitions of the parts that are left out may be unknown, see hwi_trace_complete; what the
 * info counts of damage is not meant for a trace that is read so. 0 or negative; then there are no further events. */
int hwi_trace_seek(struct hwi_trace *trace, uint64_t tick, struct hwi_error *error);

/* Lets the order of events of different streams at equal ticks be settled where only the live blocks can tell: `is_live`
 * says whether `address` is live after all events given out so far. It is asked from within hwi_trace_next, which gives out
 * fewer events so that it need not ask while some are under way. Without it, what was freed in such a moment counts as live
 * before where the events alone do not say. */
void hwi_trace_set_liveness(struct hwi_trace *trace, bool (*is_live)(void *context, uint64_t address), void *context);

/* How many of the `all` bytes of events in the file hwi_trace_next has used. */
void hwi_trace_progress(const struct hwi_trace *trace, uint64_t *done, uint64_t *all);

/* How many events the file is said to have; of a raw file a guess. */
uint64_t hwi_trace_expected_events(const struct hwi_trace *trace);

/* No trace of so many bytes defines more nodes. */
uint64_t hwi_trace_most_nodes(uint64_t bytes);

/* A node can be used by one stream before the stream that defines it is read that far: see hwi_trace_complete. Numbers that
 * nothing defines give a node, module or thread with known = false. */
struct hwi_node hwi_trace_node(const struct hwi_trace *trace, uint32_t number);
const struct hwi_module *hwi_trace_module(const struct hwi_trace *trace, uint32_t number);
struct hwi_thread hwi_trace_thread(const struct hwi_trace *trace, uint32_t number);

/* Reads ahead for the definitions of the whole file; later calls do nothing. 0 or negative. */
int hwi_trace_complete(struct hwi_trace *trace, struct hwi_error *error);

/* What turns ticks to nanoseconds since the start of the image, for those who do that for every event (trace/clock.h). The same
 * as long as the trace is open. */
struct hwi_clock;
const struct hwi_clock *hwi_trace_clock(const struct hwi_trace *trace);

/* Nanoseconds since the start of the image. */
uint64_t hwi_trace_tick_ns(const struct hwi_trace *trace, uint64_t tick);

/* Nanoseconds that so many clock units last. */
uint64_t hwi_trace_units_ns(const struct hwi_trace *trace, uint64_t units);

#endif
