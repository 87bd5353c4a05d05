/* reader.h - reads a trace, raw or packed, finished or still being written, whole or damaged
 *
 * image      one trace file.
 * event      one decoded event; a realloc gives one event at the old block's end and one at the new one's birth, so
 *            that a consumer only sees blocks begin and end.
 * A reader merges the streams of an image into the order of time (see format.h on equal ticks).
 *
 * Every byte of the file may be hostile. An error ends the damaged part and is noted in the info. It never causes a
 * crash or an endless loop, nor more memory than the streams, nodes and modules in the file need.
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
  HWI_EVENT_SCOPE = 4, /* a scope begins or ends: entry is enum hw_scope_op, size its name or count, usable its value */
  HWI_EVENT_HEAP = 5, /* of a heap of the program's: entry is enum hw_heap_op, usable the heap's name; address, size and
                         node as far as the op has them */
};

struct hwi_event {
  uint64_t tick; /* see hwi_trace_tick_ns */
  uint64_t address;
  uint64_t size;   /* requested; 0 for a free */
  uint64_t usable; /* 0: not recorded */
  uint64_t took;   /* clock units of the call, plus 1; 0: not recorded. Of a realloc, only the ALLOC event has it */
  uint32_t node;   /* of allocations and failed calls; 0: unknown */
  uint32_t thread; /* number */
  uint32_t heap;   /* number of the HEAP event's heap */
  uint8_t kind;    /* enum hwi_event_kind */
  uint8_t entry;   /* of a free: enum hw_entry. An allocation's is in its node */
  union {
    uint8_t alignment_log2; /* 0: none requested */
    uint8_t tick_part;      /* of a HEAP event: see format.h */
    bool temporary;         /* of a free of a sample: its thread has allocated nothing since it allocated the block */
  };
  bool moved; /* half of a realloc: the ALLOC and the FREE before it belong together */
};

struct hwi_node {
  uint64_t address; /* the byte before it is in the frame's instruction */
  uint32_t parent;  /* the caller's node; 0: none */
  uint32_t module;  /* load number; 0: none */
  uint8_t entry;    /* enum hw_entry; HW_ENTRY_NONE in all but innermost nodes */
  bool known;       /* false: no readable part of the file defines it */
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
  bool renamed; /* it changed the name that it began with */
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

/* Facts that are known without reading events; some are more exact after reading them. All pointers are owned by the
 * reader. */
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
  uint64_t rss_peak_bytes;                         /* the target reads it from time to time; 0: unknown */
  uint64_t duration_ns;                            /* from the start to the last known moment */
  uint32_t node_count, module_count, thread_count; /* one more than the largest number seen */
  uint32_t children_unseen;
  struct hwi_missing_execs missing; /* of a complete run; such programs also count in children_unseen */
  bool being_written;               /* its process is alive and has it mapped */
  bool ended;                       /* the program reached the end of its destructors */
  bool parent_missing;              /* of a forked image: stacks that it inherited are unknown */
  uint64_t dropped_until_ns;        /* of older events only those of what lives on are there, and sums; 0: all are */
  uint64_t dropped_calls;           /* that are only in those sums */
  uint64_t silent_from_ns;          /* from then on nothing could be recorded (limit, disk). UINT64_MAX: never */
  uint64_t damaged_chunks;          /* skipped, completely or from some byte on */
  uint64_t first_damage_off;        /* valid where damaged_chunks > 0 */
  uint64_t missing_chunks;          /* gaps in a stream's sequence */
  uint64_t raw_event_bytes;         /* of events as the target wrote them */
};

/* What is known of events that were dropped: see struct hw_base. */
struct hwi_base {
  uint64_t from_tick; /* all events from here on are there; of older ones, those of what lives on */
  struct hw_base about;
  const struct hw_base_cell *cells;
  const struct hw_base_thread *threads;
  const struct hw_base_slice *slices;
};

struct hwi_trace; /* an open image */

enum { HWI_TRACE_MIN_BATCH = 64 };

/* No time in info or of an event is later than this, whatever the file contains: 146 years. The sum of two does not
 * overflow. */
#define HWI_TRACE_LATEST_NS (UINT64_C(1) << 62)

/* Opens a trace and reads its index and the tools' records. Returns 0 or a negative status; on failure *trace is NULL
 * and *error has the reason. For an image begun by a fork, the parent's trace is looked up by image ID among the
 * other traces of the run, and its definitions are read too. A trace is used by one thread at a time. */
int hwi_trace_open(struct hwi_trace **trace, const char *path, struct hwi_error *error);
void hwi_trace_close(struct hwi_trace *trace); /* NULL is fine */

/* Releases the memory of events and definitions, and closes the file. The info stays valid. */
void hwi_trace_finish(struct hwi_trace *trace);

/* Returns the info, which is valid until the trace is closed; its contents grow while events are read. */
const struct hwi_trace_info *hwi_trace_info(const struct hwi_trace *trace);

/* Copies up to `max` (at least HWI_TRACE_MIN_BATCH) next events in order. Returns their number, 0 at the end, or a
 * negative status. */
int hwi_trace_next(struct hwi_trace *trace, struct hwi_event *events, int max, struct hwi_error *error);

/* Follows a trace while a process writes it. Before the first call, no event must have been read. From then on
 * hwi_trace_next returns the events that were certain when this was called: those of the last moments are not, because a
 * thread may be in the middle of an earlier one. *is_over: no process writes the trace any more, and all its events can be
 * read now. It is not over between an exec and the begin of the next image's trace. Also brings the
 * info up to date, and the clock, whose rate becomes more exact. Returns 0 or a negative status. */
int hwi_trace_look(struct hwi_trace *trace, bool *is_over, struct hwi_error *error);

/* From the next look on, events of the last `ns` are not certain, as far as that is longer than usual: a thread that is stopped in
 * the middle of an event for so long causes no late event. */
void hwi_trace_delay(struct hwi_trace *trace, uint64_t ns);

/* To be called in a forked process that goes on reading, as its parent does. */
void hwi_trace_forked(struct hwi_trace *trace);

/* Returns whether the launcher that started the trace's process runs: it may still write how the process ended. */
bool hwi_trace_launcher_runs(const struct hwi_trace *trace);

/* Reads how the launched process ended, if the launcher wrote that after the last look, such as when a later image of the
 * process had ended. For a trace that is over. */
void hwi_trace_read_status(struct hwi_trace *trace);

/* Returns whether an event was returned after later ones: its thread was stopped in the middle of it for long. */
bool hwi_trace_had_late_events(const struct hwi_trace *trace);

/* Returns the time, since the start of the image, up to which all events can be read since the last look, of a trace that is
 * not over. */
uint64_t hwi_trace_seen_ns(const struct hwi_trace *trace);

/* Makes hwi_trace_next continue with the first event that is not older than `tick`; the position may move forwards or
 * backwards. Earlier events in the same part of the file are read and dropped. Definitions in skipped parts may be
 * unknown, see hwi_trace_complete; the damage counters of the info are not meaningful for such a trace. Returns 0 or a
 * negative status; on failure there are no further events. */
int hwi_trace_seek(struct hwi_trace *trace, uint64_t tick, struct hwi_error *error);

/* Sets a callback for events of different streams at equal ticks whose order depends on which blocks are live.
 * `is_live` returns whether `address` is live after all events returned so far. It is called from within
 * hwi_trace_next, which returns fewer events if necessary, so that all earlier events have been returned before the
 * call. Without a callback, a block that is freed at such a tick counts as live before it, unless the events alone
 * decide. */
void hwi_trace_set_liveness(struct hwi_trace *trace, bool (*is_live)(void *context, uint64_t address), void *context);

/* Returns what is known of events that were dropped, or NULL if none were. Owned by the reader. */
const struct hwi_base *hwi_trace_base(const struct hwi_trace *trace);

/* Sets *all to the bytes of events in the file, and *done to how many of them hwi_trace_next has used. */
void hwi_trace_progress(const struct hwi_trace *trace, uint64_t *done, uint64_t *all);

/* Returns the number of events that the file states; of a raw file, an estimate. */
uint64_t hwi_trace_expected_events(const struct hwi_trace *trace);

/* Returns an upper limit for the number of nodes that a trace of `bytes` bytes can define. */
uint64_t hwi_trace_most_nodes(uint64_t bytes);

/* A stream can use a node whose definition is in a part of another stream that was not read yet: see
 * hwi_trace_complete. For an undefined number, the node, module or thread has known = false. */
struct hwi_node hwi_trace_node(const struct hwi_trace *trace, uint32_t number);
const struct hwi_module *hwi_trace_module(const struct hwi_trace *trace, uint32_t number);
/* Returns the name of scopes with this number, or NULL if it is not defined. Owned by the reader. */
const char *hwi_trace_name(const struct hwi_trace *trace, uint32_t number);
struct hwi_thread hwi_trace_thread(const struct hwi_trace *trace, uint32_t number);

/* Returns how many chunks of a sample have counts of calls, and the list of them (call_counts.h). */
struct hwi_chunk_counts;
size_t hwi_trace_call_counts(const struct hwi_trace *trace, const struct hwi_chunk_counts **counts);

/* The texts of instances of scopes may be many, so that only those are read that were wanted before their part of the
 * file is read, and 16 MB at most. The first returns false if there is no memory; the second returns NULL if the text is
 * not known, and else a string that is owned by the reader. */
bool hwi_trace_want_text(struct hwi_trace *trace, uint32_t number);
const char *hwi_trace_text(const struct hwi_trace *trace, uint32_t number);

/* Its info has this path instead of its own. It must outlive the trace. */
void hwi_trace_show_as(struct hwi_trace *trace, const char *path);

/* From now on, holds the text of each instance from when its event is read until it is taken; up to 128 MB of them. The
 * second returns the text, which the caller frees, or NULL if it is not known. */
void hwi_trace_hold_texts(struct hwi_trace *trace);
char *hwi_trace_take_text(struct hwi_trace *trace, uint32_t number);

/* Reads ahead for the definitions of the whole file; later calls do nothing. Returns 0 or a negative status. */
int hwi_trace_complete(struct hwi_trace *trace, struct hwi_error *error);

/* Returns the clock that converts ticks to nanoseconds since the start of the image, for callers that convert every
 * event (trace/clock.h). Only hwi_trace_look changes it. */
struct hwi_clock;
const struct hwi_clock *hwi_trace_clock(const struct hwi_trace *trace);

/* Returns the nanoseconds from the start of the image to `tick`. */
uint64_t hwi_trace_tick_ns(const struct hwi_trace *trace, uint64_t tick);

/* Returns the duration of `units` clock units in nanoseconds. */
uint64_t hwi_trace_units_ns(const struct hwi_trace *trace, uint64_t units);

/* Finds the newest trace in `dir` (by modification time) that the user owns. `to` gets its path. */
int hwi_trace_newest(const char *dir, char *to, size_t to_bytes, struct hwi_error *error);

#endif
