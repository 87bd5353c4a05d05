/* profile.h - the model: what a recording says about a program's heap
 *
 * stack      a distinct call stack, numbered from 1 in the profile. It is identified by its frames, not by node
 *            numbers, so that the images of a run and forked children share stacks. Not to be confused with a *node*,
 *            which is one frame of a trace's tree.
 * live       allocated and not yet freed.
 * peak       the moment when most requested bytes were live, over the whole run (the sum over its images along time).
 * span       the part of the run that a profile is about: all of it, an interval, or one moment.
 * The names of the figures are those of the JSON report, see docs/json.md.
 */
#ifndef HWI_PROFILE_PROFILE_H
#define HWI_PROFILE_PROFILE_H

#include <stddef.h>

#include "base/error.h"
#include "trace/reader.h"

/* interval   [from_ns, to_ns). Only calls within the interval are counted (temporary_calls: of blocks that were
 *            allocated within it). Blocks that were allocated before the interval are live in it, too: the peak is the
 *            moment within the interval when most bytes were live, and "at the end" means the end of the interval.
 * moment     from_ns. Nothing is counted. The blocks that were live at that moment are both those of the peak and those
 *            that are live at the end. */
enum hwi_span_kind {
  HWI_SPAN_RUN = 0,
  HWI_SPAN_INTERVAL,
  HWI_SPAN_MOMENT,
};

struct hwi_span {
  enum hwi_span_kind kind;
  uint64_t from_ns, to_ns;
  /* of a moment: right after the event at from_ns that made this many bytes live; 0: right after the last event at
   * from_ns */
  uint64_t bytes;
};

struct hwi_totals {
  uint64_t allocation_calls, free_calls, failed_calls, temporary_calls;
  uint64_t allocated_bytes, usable_bytes; /* usable: summed like allocated_bytes; 0 if not recorded */
  uint64_t peak_bytes, peak_blocks, peak_time_ns;
  uint64_t peak_usable_bytes;                         /* usable size of the blocks that were live at the peak */
  uint64_t live_blocks_at_start, live_bytes_at_start; /* of the span */
  uint64_t live_blocks_at_end, live_bytes_at_end;
  uint64_t unmatched_frees;        /* of addresses for which no allocation was seen (foreign or inherited unknown) */
  uint64_t frees_of_silent_blocks; /* ... that may have been allocated while recording was paused */
  uint64_t missed_frees;           /* allocations at an address that was still live */
  uint64_t inherited_frees;        /* see struct hwi_image */
};

/* All calls of an image or a thread in a sampled recording. */
struct hwi_call_counts {
  uint64_t allocation_calls, allocated_bytes, free_calls;
  bool known;
};

enum { HWI_FRAME_MODULE_BITS = 23, HWI_FRAME_MODULES_MOST = 1 << HWI_FRAME_MODULE_BITS };

/* Frames form one tree, so that a million stacks share their common parts: a stack is its innermost frame and the
 * callers of that frame. A frame's caller always has a smaller index than the frame. */
struct hwi_frame {
  uint64_t address;                        /* address - the module's bias is the address in the file. See `cut` */
  uint32_t caller;                         /* index of the frame that called this one; 0: none, this is the outermost */
  uint32_t module : HWI_FRAME_MODULE_BITS; /* index into the profile's modules; 0: none */
  uint32_t entry : 8;                      /* enum hw_entry; not NONE in innermost frames only */
  uint32_t cut : 1; /* not a real frame: stands for frames left out; `address` is how many, 0: unknown */
};

/* A shared object. All its loads, at any address, are one module; `start`, `end` and `bias` are those of the first
 * load. */
struct hwi_profile_module {
  const char *path;
  /* of a program that was run under another name than its file's, by a link: that name. NULL: no other name */
  const char *run_as;
  uint8_t build_id[64];
  uint8_t build_id_bytes;
  uint64_t start, end, bias;
};

#define HWI_NS_A_MS UINT64_C(1000000)
#define HWI_NS_A_SECOND UINT64_C(1000000000)
#define HWI_NS_A_MINUTE (60 * HWI_NS_A_SECOND)

/* How long blocks live. A block is in the first of these classes that applies to it. */
enum hwi_lifetime {
  HWI_LIFETIME_TEMPORARY = 0, /* freed before its thread's next allocation, however late */
  HWI_LIFETIME_BELOW_1MS,
  HWI_LIFETIME_BELOW_1S,
  HWI_LIFETIME_BELOW_1MIN,
  HWI_LIFETIME_LONGER,
  HWI_LIFETIME_UNTIL_END, /* never freed */
  HWI_LIFETIMES
};
/* How a block ends: freed after an enum hwi_lifetime, with its process while others of the run continue, or unseen. */
enum { HWI_ENDING_LEFT = HWI_LIFETIME_UNTIL_END, HWI_ENDING_UNSEEN = HWI_LIFETIMES, HWI_ENDINGS };

enum { HWI_LIFETIMES_ENDED = HWI_LIFETIME_UNTIL_END }; /* the classes before this one are of blocks that were freed */

/* Returns the lifetime of a block that was freed after `ns`. This is on the hot path, so it has no branch. */
static inline enum hwi_lifetime hwi_lifetime_of(bool is_temporary, uint64_t ns)
{
  unsigned steps = (ns >= HWI_NS_A_MS) + (ns >= HWI_NS_A_SECOND) + (ns >= HWI_NS_A_MINUTE);
  return (enum hwi_lifetime)(is_temporary ? HWI_LIFETIME_TEMPORARY : HWI_LIFETIME_BELOW_1MS + steps);
}

/* The variances of figures that are estimates; 0: they are exact. */
struct hwi_variance {
  float calls, bytes, usable, temporary_calls;
  float live_blocks, live_bytes;
  float peak_blocks, peak_bytes, peak_usable;
};

struct hwi_stack {
  uint64_t calls, bytes; /* allocations and their requested bytes */
  uint64_t usable;       /* sum of usable sizes */
  uint64_t free_calls, temporary_calls, failed_calls;
  uint64_t missed_frees;              /* blocks whose free was not seen */
  uint64_t start_blocks, start_bytes; /* live at the start of the span */
  uint64_t live_blocks, live_bytes;   /* at the end */
  uint64_t peak_blocks, peak_bytes;   /* at the run's peak */
  uint64_t peak_usable;               /* usable sizes of these; 0 if not recorded */
  uint64_t own_peak_bytes;            /* its own maximum */
  uint64_t first_ns, last_ns;         /* of its allocations */
  uint64_t smallest, largest;         /* block sizes */
  uint64_t lifetimes[HWI_LIFETIMES];  /* freed, or live at the end; without missed frees */
  struct hwi_variance variance;
  uint32_t frame; /* the innermost one, an index into frames; 0: the stack is unknown */
  uint8_t entry;  /* enum hw_entry */
};

/* How the contents of blocks move on to larger or smaller blocks: see resizes.h. */
struct hwi_resizes {
  uint64_t steps;                     /* blocks that took over the contents of another block */
  uint64_t moved, copied_bytes;       /* steps to another address; the smaller of both sizes of each, summed */
  uint64_t grown, grown_copied_bytes; /* steps to a larger size; the part of copied_bytes that these copied */
};

/* Of a stack to whose blocks steps led. */
struct hwi_stack_resizes {
  uint32_t stack;
  bool estimated; /* from the probable growth of containers; else from reallocs */
  struct hwi_resizes steps;
  uint64_t final_blocks;                /* blocks of the stack that no step ended */
  uint64_t final_median, final_largest; /* sizes of these */
};

/* A stack whose blocks were freed together, generation by generation: see sweeps.h. */
struct hwi_together {
  uint32_t stack;
  uint64_t blocks, generations;
  uint64_t largest_bytes; /* of a generation */
};

/* Blocks that the thread `owner` allocated and another one freed. */
struct hwi_handover {
  uint32_t owner, freer;
  uint64_t blocks, bytes;
};

struct hwi_size {
  uint64_t size, calls, live_blocks, peak_blocks, own_peak_blocks, temporary_calls;
  uint64_t peak_usable; /* usable sizes of the blocks at the peak; 0 if not recorded */
};

/* The blocks that one thread allocated from one stack, in one path of scopes and one size, requested and usable: the
 * finest counter. All figures that can be added are sums over cells, so that a report can be restricted in any way. */
struct hwi_profile_cell {
  uint32_t thread, stack, size; /* size: an index into the profile's sizes */
  uint32_t scope;               /* path of the scopes that the thread was in; 0: none */
  uint64_t usable;              /* of each block; 0 if not recorded */
  uint64_t calls, temporary_calls, peak_blocks, live_blocks;
};

/* Of a cell: blocks of events that were dropped (record --keep), which are in no slice of a history or of events. */
struct hwi_dropped_blocks {
  uint32_t thread, stack;
  uint64_t size, calls;
  uint64_t ended[HWI_ENDINGS];
};

struct hwi_profile_thread {
  uint32_t image, number, tid;
  uint8_t policy, priority;
  char name[sizeof((struct hwi_thread *)0)->name + 1]; /* ended by NUL */
  uint64_t allocation_calls, free_calls, failed_calls, temporary_calls, allocated_bytes;
  uint64_t live_bytes, live_blocks, peak_bytes, own_peak_bytes; /* of blocks that it allocated */
  uint64_t late_allocation_calls, late_free_calls;              /* more than a second after its first call */
  uint64_t foreign_frees; /* of its free_calls: blocks that another thread allocated */
};

/* A stack whose minimum kept rising during the last seven tenths of the run: see growth.h. In (to_ns - from_ns) it
 * gained (to_bytes - from_bytes), which is what a steady leak loses in that time. */
struct hwi_growing {
  uint32_t stack;
  uint64_t from_ns, to_ns;       /* the starts of the first and the last tenth of the rise */
  uint64_t from_bytes, to_bytes; /* the minima in these tenths */
};

struct hwi_time_point {             /* a slice of the run; slices are equally long */
  uint64_t ns;                      /* its end */
  uint64_t live_bytes, live_blocks; /* at its end */
  uint64_t max_bytes;               /* within */
  uint64_t allocation_calls, free_calls, allocated_bytes;
};

/* A slice of a run, up to the next one's begin. All members are uint64_t, since the page writes them as columns. */
struct hwi_slice {
  uint64_t from_ns;
  uint64_t allocation_calls, free_calls, failed_calls, temporary_calls, allocated_bytes; /* within */
  uint64_t live_bytes, live_blocks, usable_bytes;                                        /* at its end */
  uint64_t min_bytes, max_bytes;                                                         /* live within */
  uint64_t pinned; /* whether it stays apart from the slice before: it begins right after the peak or at a mark */
};

/* Adds a slice to the one before it. */
static inline void hwi_slice_join(struct hwi_slice *sum, const struct hwi_slice *next)
{
  sum->allocation_calls += next->allocation_calls;
  sum->free_calls += next->free_calls;
  sum->failed_calls += next->failed_calls;
  sum->temporary_calls += next->temporary_calls;
  sum->allocated_bytes += next->allocated_bytes;
  sum->live_bytes = next->live_bytes;
  sum->live_blocks = next->live_blocks;
  sum->usable_bytes = next->usable_bytes;
  sum->min_bytes = next->min_bytes < sum->min_bytes ? next->min_bytes : sum->min_bytes;
  sum->max_bytes = next->max_bytes > sum->max_bytes ? next->max_bytes : sum->max_bytes;
}

/* Of a run that is followed. The slice's changes and handovers begin where those of the slice before end. */
struct hwi_history_slice {
  struct hwi_slice slice;
  size_t changes_end, handovers_end;
};
enum { HWI_HISTORY_SLICES = 160 };

/* What changed in a cell within a slice. A slice may have several changes of one cell, which add up. There are millions of
 * them, so that they are short. */
struct hwi_cell_change {
  uint32_t cell;
  uint32_t is_open : 1; /* of the one who counts */
  uint32_t calls : 31;
  uint32_t ended[HWI_ENDINGS]; /* blocks, also those allocated in earlier slices */
};

/* Classes of block sizes: up to 16 bytes, up to 32, up to 64, ... */
enum { HWI_SIZE_CLASSES = 61, HWI_SMALLEST_CLASS_BITS = 4, HWI_CLASS_POINTS = 200 };

static inline unsigned hwi_size_class(uint64_t size)
{
  enum { SIZE_BITS = 64 };
  if (size <= UINT64_C(1) << HWI_SMALLEST_CLASS_BITS)
    return 0;
  return SIZE_BITS - HWI_SMALLEST_CLASS_BITS - (unsigned)__builtin_clzll(size - 1);
}

/* Of the blocks of a class. */
struct hwi_class_peak {
  uint64_t live_bytes, peak_bytes; /* its own peak */
};

struct hwi_class_point {
  uint64_t ns;
  uint64_t live_bytes[HWI_SIZE_CLASSES]; /* right before this time; of the last point: at the end */
};

/* One trace of the run. The blocks that a forked image got from its parent belong to the parent: they are live in the
 * parent, so that the sum of the run counts them once, and the child's own figures do not include them. If the image
 * frees an address that it never allocated, the first such free is taken as the free of an inherited block
 * (inherited_frees); the second one is unmatched. An image's blocks leave the run's sum when the image ends; those that
 * were live then still count as live at the end. */
struct hwi_image {
  const struct hwi_trace_info *info;
  struct hwi_totals totals;
  /* false: known, but not part of this profile; then totals are those that need no matching of frees, or 0 */
  bool counted;
  bool calls_are_exact; /* of a sampled image: see struct hwi_profile */
  bool unreadable;      /* then info is NULL; also while a run is followed, for images that are not counted */
};

struct hwi_profile {
  struct hwi_totals totals;
  /* Of a sampled recording; 0: all figures are exact. Otherwise they are estimates, see sample.h */
  uint64_t sample_bytes;
  bool calls_are_exact; /* of the totals and the threads: allocation_calls, allocated_bytes, free_calls */
  uint64_t duration_ns; /* of the run */
  struct hwi_span span; /* to_ns is not after the run's end */
  bool is_of_memory;    /* nothing was recorded: what lived at one moment, which is the span (HW_ORIGIN_MOMENT) */
  const struct hwi_image *images;
  uint32_t image_count;       /* in the order in which they began */
  uint32_t unreadable_images; /* files of the run that are damaged or are not traces */
  bool has_summary;           /* a summary is stored next to the trace, because reading the trace takes long */
  const struct hwi_stack *stacks;
  uint32_t stack_count; /* [1, stack_count); 0 is unused */
  const struct hwi_frame *frames;
  uint32_t frame_count; /* [1, frame_count) */
  const struct hwi_profile_module *modules;
  uint32_t module_count; /* [1, module_count) */
  const struct hwi_size *sizes;
  uint32_t size_count; /* ascending */
  const struct hwi_profile_thread *threads;
  uint32_t thread_count;
  const struct hwi_profile_cell *cells;
  uint32_t cell_count; /* by stack */
  const struct hwi_dropped_blocks *dropped;
  size_t dropped_count;
  /* These along time, by the end of slices, without the calls of blocks that live on: only of one image. The live bytes and
   * blocks at the end and the maximum are those of all blocks. */
  const struct hwi_time_point *dropped_slices;
  uint32_t dropped_slice_count;
  uint64_t dropped_free_calls, dropped_failed_calls;
  const struct hwi_scope *scopes;
  uint32_t scope_count;                  /* paths [1, scope_count); 0 or 1: there are no scopes */
  const struct hwi_scope_chains *chains; /* of the options */
  const struct hwi_breach *breaches;
  uint32_t breach_count; /* in the order of their first calls */
  const struct hwi_program_mark *marks;
  uint32_t mark_count; /* by time, at most HWI_PROGRAM_MARKS_MAX; those of `heapwright control` are in the images */
  const struct hwi_program_counter *counters;
  uint32_t counter_count; /* in the order of their first values, at most HWI_COUNTERS_MAX */
  const char *heap;       /* of the options, whose text it is; NULL: the profile is of malloc */
  const struct hwi_heap *heaps;
  uint32_t heap_count; /* the largest peak first; none if the option `heap` is set */
  const struct hwi_growing *growing;
  uint32_t growing_count; /* ordered by gain, the largest first; none if the profile is of a part of the run */
  const struct hwi_stack_resizes *resizes;
  uint32_t resize_count; /* by stack */
  const struct hwi_together *together;
  uint32_t together_count; /* by stack; none if the profile is of a part of the run, or of a
                              sample */
  const struct hwi_handover *handovers;
  uint32_t handover_count; /* by owner, then freer */
  const struct hwi_time_point *timeline;
  uint32_t timeline_count; /* at most 2,000; none if the span is a moment */
  const struct hwi_class_point *class_points;
  uint32_t class_point_count;              /* at most HWI_CLASS_POINTS; none if the span is a moment */
  const struct hwi_history_slice *history; /* of a run that is followed; NULL: not kept */
  uint32_t history_count;
  const struct hwi_cell_change *changes;
  const struct hwi_handover *handovers_along; /* the same, by slice */
  const struct hwi_class_peaks *class_peaks;  /* the same: see class_peaks.h */
  const struct hwi_timed_calls *timed_calls;  /* the same: see timed_calls.h */
  const struct hwi_instance_list *instances;  /* the same: see instance_list.h */
};

/* By which instances of scopes are ranked. */
enum hwi_instance_measure {
  HWI_INSTANCE_DURATION = 0,
  HWI_INSTANCE_PEAK,  /* most net bytes at a time */
  HWI_INSTANCE_NET,   /* net bytes at its end */
  HWI_INSTANCE_CALLS, /* allocation calls */
  HWI_INSTANCE_BYTES, /* allocated */
  HWI_INSTANCE_MEASURES
};
enum { HWI_WORST_INSTANCES = 10 }; /* of each path and measure */

enum { HWI_INSTANCE_SIZES_MAX = 256 };

struct hwi_instance_size {
  uint64_t size;
  int64_t blocks; /* allocated less freed */
};

/* What an instance did by block size, requested, without the scopes inside it. */
struct hwi_instance_detail {
  const struct hwi_instance_size *sizes; /* ascending; `blocks` is not 0 */
  uint32_t size_count;                   /* at most HWI_INSTANCE_SIZES_MAX */
  bool has_others;                       /* it used further sizes, which are only added up */
  int64_t other_blocks, other_bytes;
  int64_t self_bytes; /* of all sizes */
  const char *text;   /* of an instance with a text; NULL: not kept */
};

/* One stretch of a thread's time in a scope, with the scopes inside it. Net: what the thread allocated less what it
 * freed, whosever blocks those were. */
struct hwi_instance {
  uint64_t begin_ns, duration_ns;
  uint64_t value;    /* of the BEGIN event */
  uint64_t sequence; /* of the path's instances, from 1 in the order of their begins */
  uint64_t calls, bytes, peak_bytes;
  int64_t net_bytes;
  uint32_t thread;
  uint8_t op;                               /* enum hw_scope_op: what `value` is */
  const struct hwi_instance_detail *detail; /* NULL: the options did not ask for it */
};

/* Instances with the largest values. */
struct hwi_worst {
  uint32_t count;
  uint64_t least; /* value of the least bad of them */
  struct hwi_instance items[HWI_WORST_INSTANCES];
};

/* A path: a scope that the program marked (heapwright/monitor.h) and the scopes around it. The figures are those of the
 * scope itself, without the scopes inside it, which are paths of their own. What it allocated is in the cells. */
struct hwi_scope {
  const char *name; /* of its innermost scope */
  uint32_t outer;   /* the path of the next outer scope, a smaller number; 0: none */
  uint32_t depth;   /* scopes in the path */
  uint64_t instances;
  uint64_t left_open;                    /* instances that were left without an end: they ended with an outer one */
  uint64_t duration_ns, self_ns, max_ns; /* self: without the scopes inside */
  uint64_t free_calls, freed_blocks, freed_bytes, failed_calls;
  uint64_t peak_bytes;           /* most net bytes of an instance, with the scopes inside it */
  uint64_t allocating;           /* instances that allocated, also in scopes inside */
  uint64_t last_allocating;      /* sequence of the last of them */
  uint64_t first_quiet;          /* sequence of the first one that does not allocate; 0: each allocates */
  const struct hwi_worst *worst; /* by measure, the worst first; NULL: no instance */
};

/* Rules make scopes of stacks: a user names functions, source files or modules (report --scope). The chain of a stack is
 * the rules that its frames match, from the outermost frame inwards, each rule once. Chains form a tree. */
struct hwi_scope_chain {
  uint32_t outer; /* the chain without its innermost rule, a smaller number; 0: no rule */
  uint32_t rule;  /* the innermost one */
};
#define HWI_CHAIN_UNKNOWN UINT32_MAX /* the frames of the stack are not known */

struct hwi_scope_chains {
  const char *const *names; /* by rule, of its scope */
  uint32_t rule_count;
  const struct hwi_scope_chain *items; /* [1, count) */
  uint32_t count;
  const uint32_t *by_stack; /* the chains of the stacks of a profile of the whole run; later stacks are not known */
  uint32_t stack_count;
};

/* Calls in forbidden zones (HW_NO_ALLOC) of one path that are about blocks of one stack. */
struct hwi_breach {
  uint32_t scope; /* the path of the innermost forbidden zone */
  uint32_t stack; /* of a call that allocated: where it did. Of a free: where its block was allocated; 0: unknown */
  bool is_free;
  uint64_t calls, bytes;             /* a failed call counts, without bytes */
  uint64_t first_ns, first_instance; /* of the first call: when, and the zone's instance, from 1 */
  uint32_t first_thread;
};

/* The mark of hw_live_reset: figures count from it. */
#define HWI_RESET_MARK "heapwright: reset"

/* A moment that the program named (hw_mark). */
struct hwi_program_mark {
  uint64_t ns; /* since the run's start */
  const char *text;
};

/* A value along time that the program set (hw_counter). */
struct hwi_counter_point {
  uint64_t ns; /* since the run's start */
  double value;
};
enum { HWI_COUNTER_POINTS = 512, HWI_COUNTERS_MAX = 4096, HWI_PROGRAM_MARKS_MAX = 100000 };
struct hwi_program_counter {
  const char *name;
  uint64_t sets;
  double least, most, last;
  const struct hwi_counter_point *points;
  uint32_t point_count; /* at most HWI_COUNTER_POINTS: the last value of each part of the run that has one */
};

/* The heaps of one name that the program gives out itself (monitor.h), next to malloc. */
struct hwi_heap {
  const char *name;
  uint64_t created, destroyed;
  uint64_t allocation_calls, allocated_bytes, failed_calls;
  uint64_t free_calls;           /* of single blocks */
  uint64_t resets, reset_blocks; /* blocks that ended with a reset, or with their heap */
  uint64_t unmatched_frees;      /* of blocks that were never allocated, neither before a fork nor during a pause */
  uint64_t missed_frees;         /* allocations at an address at which one was */
  uint64_t peak_bytes, peak_blocks, peak_ns;
  uint64_t live_blocks, live_bytes; /* at the end */
};

enum hwi_image_choice {
  HWI_IMAGES_LARGEST = 0, /* the image with the most allocated bytes */
  HWI_IMAGES_ALL = 1,
  HWI_IMAGES_PID = 2,
};

enum hwi_block_event_kind {
  HWI_BLOCK_ALLOC = 1,
  HWI_BLOCK_FREE,
  HWI_BLOCK_FAILED,       /* stack, thread: as for an allocation; address is 0 */
  HWI_BLOCK_FREE_UNKNOWN, /* of an address at which no block is live: size, usable and stack are 0 */
  HWI_BLOCK_FREE_MISSED,  /* no call: the block must have been freed, because the next event allocates at its address */
  HWI_BLOCK_LEFT,         /* no call: its image ended while other images of the run go on */
};

/* An event of the replay and its block. Stacks, threads and images are numbered as in the profile. */
struct hwi_block_event {
  uint64_t ns; /* since the run's start; never decreases */
  uint64_t address, size;
  uint64_t usable;  /* 0: not recorded */
  uint64_t took_ns; /* how long the call took, if it was timed. For a realloc, the ALLOC has it */
  uint64_t born_ns; /* of a FREE: when its block was allocated */
  uint32_t stack;   /* the stack that allocated the block */
  uint32_t owner;   /* the thread that allocated it */
  uint32_t scope;   /* the path of scopes in which it was allocated; of a FAILED: that of the call. 0: none */
  uint32_t thread;  /* the thread of this event */
  uint32_t image;
  uint8_t kind;           /* enum hwi_block_event_kind */
  uint8_t entry;          /* enum hw_entry of this call */
  uint8_t alignment_log2; /* 0: no alignment was requested */
  bool moved;             /* half of a realloc: the FREE, then the ALLOC, belong together */
  bool temporary;         /* a FREE before the owner's next allocation */
  bool timed;
  uint32_t
      weight; /* of the block, see sample.h: in a sample, an event stands for so many. 1: the events are all there */
};

/* Whether the program made a call; and whether a known block ended, with or without a call. */
static inline bool hwi_block_is_call(const struct hwi_block_event *event)
{
  return event->kind != HWI_BLOCK_FREE_MISSED && event->kind != HWI_BLOCK_LEFT;
}

static inline bool hwi_block_is_end(const struct hwi_block_event *event)
{
  return event->kind == HWI_BLOCK_FREE || event->kind == HWI_BLOCK_FREE_MISSED || event->kind == HWI_BLOCK_LEFT;
}

/* Returns the bytes of the block, in a sample those that it stands for. */
static inline uint64_t hwi_block_bytes(const struct hwi_block_event *event)
{
  return event->weight * event->size;
}

/* How much is live, while events are taken: in the whole run, or of one stack, thread or size. */
struct hwi_live_sum {
  uint64_t bytes, blocks, usable;
};

/* Counts the block that begins or ends with the event. Other events change nothing. */
static inline void hwi_live_sum_count(struct hwi_live_sum *sum, const struct hwi_block_event *event)
{
  const uint64_t weight = event->weight, count = event->kind == HWI_BLOCK_ALLOC ? weight : 0;
  const uint64_t blocks = hwi_block_is_end(event) ? -weight : count; /* modulo 2^64 */
  sum->bytes += blocks * event->size;
  sum->blocks += blocks;
  sum->usable += blocks * event->usable;
}

/* A scope of a thread begins, or some end. Each begin is followed by its end, unless the replay ends early. */
struct hwi_scope_event {
  uint64_t ns;    /* since the run's start; of scopes that end with their image: of the thread's latest event */
  uint64_t value; /* of a begin */
  uint32_t path;  /* the path that the thread is in from now on; 0: none */
  uint32_t outer; /* of a begin: the path around it */
  uint32_t ended; /* so many scopes end, the innermost first; 0: the innermost scope of `path` begins */
  uint32_t left;  /* of those: the first so many were left without an end of their own */
  uint32_t thread;
  uint32_t image;
  uint8_t op;       /* enum hw_scope_op of a begin: what `value` is */
  bool is_stay;     /* of a begin: the thread entered the instance's task, and the end is when it leaves */
  const char *text; /* of a begin: the instance's, valid during the call; NULL: none, or not wanted */
};

/* Takes events in order. Each function returns false if it wants no more events: the replay then ends with
 * HW_ERR_LIMIT. */
struct hwi_block_sink {
  bool (*take)(void *context, const struct hwi_block_event *event);
  void *context;
  bool (*take_scope)(void *context, const struct hwi_scope_event *event); /* NULL: scopes are not wanted */
  bool wants_texts;                                                       /* of instances of scopes */
};

struct hwi_profile_options {
  enum hwi_image_choice images;
  uint32_t pid;
  struct hwi_span span;
  bool summaries;                        /* see summary.h: use a summary if that helps, and store one */
  uint64_t summary_least_ns;             /* ... of a replay that took more CPU time than this */
  uint64_t epoch_events;                 /* in each epoch; 0: chosen automatically */
  bool instance_details;                 /* of the worst instances of scopes: see hwi_instance_detail */
  const struct hwi_scope_chains *chains; /* of rules for scopes; NULL: there are none */
  /* The profile is of the program's own heaps with this name instead of malloc; a name as in base/shell_pattern.h. It is
   * an error if there is none. NULL: malloc */
  const char *heap;
  const char *shown_path; /* how traces are called, for as long as the profile lives; NULL: by their paths */
  bool history;           /* of a run that is followed: keep what changes along time, for a page */
  void (*progress)(void *context, uint64_t done, uint64_t all); /* may be NULL; called from time to time */
  void *progress_context;
};

/* Returns how many calls the profile's events stand for: in a sample an estimate, also where all calls are known. */
uint64_t hwi_profile_event_calls(const struct hwi_profile *profile);

/* Returns how many of these an event is: a call that is not about a known block is one, also in a sample. */
static inline uint64_t hwi_block_calls(const struct hwi_block_event *event)
{
  const bool has_block = event->kind == HWI_BLOCK_ALLOC || event->kind == HWI_BLOCK_FREE;
  return has_block ? event->weight : hwi_block_is_call(event);
}

/* Adds the variances of a cell's figures. `sample_bytes` is not 0. */
void hwi_variance_add_cell(struct hwi_variance *sum, const struct hwi_profile *profile,
                           const struct hwi_profile_cell *cell);
void hwi_variance_add(struct hwi_variance *sum, const struct hwi_variance *part);

/* Returns the number of the stack's frames, not counting cut ones. */
uint32_t hwi_profile_depth(const struct hwi_profile *profile, uint32_t stack);

/* Returns the index of the stack's first cell, or of the first cell after it. */
uint32_t hwi_profile_first_cell(const struct hwi_profile *profile, uint32_t stack);

/* Replays the run named by `path` (a trace, or a NAME.children folder). The caller owns *profile. This function and the
 * next two return 0, or a negative status that is described in `error`. */
int hwi_profile_create(struct hwi_profile **profile, const char *path, const struct hwi_profile_options *options,
                       struct hwi_error *error);
void hwi_profile_destroy(struct hwi_profile *profile);

/* Replays the same run only for its events, all of them: the options about spans and summaries are ignored. This needs
 * much less memory than a profile. Returns HW_ERR_LIMIT if the sink wanted no more. */
int hwi_profile_events(const char *path, const struct hwi_profile_options *options, const struct hwi_block_sink *sink,
                       struct hwi_error *error);

#endif
