/* format.h - the definition of the trace format, for the writer (in the target) and the reader (in the tools)
 *
 * docs/trace-format.md describes every byte in prose. The terms:
 *
 * trace      one file for one program image (one address space between two execs). It is either *raw*, as the target
 *            leaves it, or *packed*, as `record` and `import` leave it. A run may have many traces.
 * window     the part of a raw file that the target maps and writes: the header, the tool area and the chunks.
 * tool area  records that tools (never the target) append: marks, pauses, RSS samples, the exit status.
 * chunk      a page-aligned piece of the window, owned by one stream; it can be decoded alone.
 * stream     an ordered sequence of chunks with one writer at a time. A thread has up to two: one for ordinary events
 *            and one for events of a signal handler that interrupted the recorder. A stream outlives its thread, and a
 *            later thread may take it over; a THREAD record names the thread of the events that follow it.
 * node       a stack frame in its context: (parent node, return address, module load, entry point). Node 0 is the root
 *            (no frames). An allocation carries the number of its innermost node.
 * entry      the entry point that the program called (malloc, operator new ...; enum hw_entry). It is stored in the
 *            innermost node of a stack and is HW_ENTRY_NONE in all others.
 * module     one *load* of a shared object: a library that is unloaded and loaded elsewhere has two numbers. Module 0
 *            is "no module" (JIT code, garbage).
 * tick       the unit of times in events: 2^tick_shift units of the header's clock.
 * scope      a named stretch of a thread's time that the program marked (heapwright/monitor.h). Scopes nest.
 * heap       memory that the program gives out itself, from an allocator of its own, and reports with its name (the same
 *            header). Several heaps may have one name; each has a number. Events of malloc belong to no heap.
 * section    a piece of a packed file, or of the data that a packer appended to a raw file after its window.
 *
 * All integers are little-endian. A `varint` is LEB128 (7 bits per byte, least significant first, at most 10 bytes); a
 * `zigzag` is a varint of (v << 1) ^ (v >> 63).
 */
#ifndef HW_TRACE_FORMAT_H
#define HW_TRACE_FORMAT_H

#include <assert.h>
#include <stdint.h>

#include "heapwright/detail/entry_list.h"

#define HW_TRACE_MAGIC "\x89HWT\r\n\x1a\n"
enum {
  HW_TRACE_MAGIC_BYTES = 8,
  HW_TRACE_VERSION = 1,
  HW_TRACE_HEADER_BYTES = 4096,
  HW_TOOL_AREA_OFF = HW_TRACE_HEADER_BYTES,
  HW_TOOL_AREA_BYTES = 1 << 20,
  HW_CHUNKS_OFF = HW_TOOL_AREA_OFF + HW_TOOL_AREA_BYTES,
  HW_CHUNK_MIN_BYTES = 4096,
  HW_CHUNK_MAX_BYTES = 1 << 20,
  HW_ID_BYTES = 16,
};

enum hw_trace_kind { HW_TRACE_RAW = 1, HW_TRACE_PACKED = 2 };

enum hw_clock { HW_CLOCK_TSC = 1, HW_CLOCK_MONOTONIC_NS = 2 };

/* Written by the tools and read by the target (range-checked: any other value counts as HW_CONTROL_RECORD). */
enum hw_control { HW_CONTROL_RECORD = 0, HW_CONTROL_PAUSE = 1 };

/* The target's own state. From any STOPPED state on, no events are recorded. SAVED is not the target's. */
enum hw_trace_state {
  HW_STATE_RECORDING = 0,
  HW_STATE_EXITED = 1,         /* the program reached the end of its destructors; late events may follow */
  HW_STATE_STOPPED_LIMIT = 2,  /* the window is full */
  HW_STATE_STOPPED_DISK = 3,   /* the file system had no space for the next chunk */
  HW_STATE_STOPPED_MEMORY = 4, /* no memory for the recorder's own tables */
  HW_STATE_SAVED = 5,          /* a copy of what the trace had at stop_clock, when the program went on */
};

enum hw_image_origin {
  HW_ORIGIN_EXEC = 0, /* began with an exec */
  HW_ORIGIN_FORK = 1, /* began with a fork: inherits blocks, nodes and modules of its parent */
  /* not recorded: the blocks that lived at one moment, each as an allocation, from a core dump or another image of memory */
  HW_ORIGIN_MOMENT = 2,
};

struct hw_anchor { /* one moment on two clocks; several anchors give the rate of the event clock */
  uint64_t clock;  /* in units of the header's clock, not ticks */
  uint64_t monotonic_ns;
};

/* The threads that began last, for tools that read their state from outside: thread N is at N % HW_THREAD_HINTS. */
enum { HW_THREAD_HINTS = 256 };
union hw_thread_hint {
  struct {
    uint32_t number;
    uint32_t tid; /* 0: there is none yet */
  };
  uint64_t word; /* stored and loaded as a unit */
};

/* Why an event was lost. */
enum hw_loss {
  HW_LOSS_NESTED,   /* in a signal handler that interrupted another one within its event */
  HW_LOSS_STARTING, /* another thread, of lower priority, was beginning the trace and did not finish that */
  HW_LOSS_MEMORY,   /* there was no memory for the thread's buffers */
  HW_LOSS_FULL,     /* the trace had no room for it */
  HW_LOSS_STRICT,   /* the thread was in strict seccomp, where it cannot get another chunk */
  HW_LOSSES
};

/* A process that was about to execute a program. If the run has no later image of the process, the program was not
 * recorded. */
enum { HW_EXEC_NAME_BYTES = 20, HW_CHILD_EXECS = 64 };
#define HW_EXEC_IS_COUNTED (UINT32_C(1) << 31) /* no pid is so large */
struct hw_exec {
  uint32_t pid; /* 0: none, or the exec failed; with HW_EXEC_IS_COUNTED: children_unseen counts it already */
  char name[HW_EXEC_NAME_BYTES]; /* of the program's file, truncated; ends at a NUL */
};

struct hw_trace_header {
  /* Written once, before the first chunk. */
  uint8_t magic[HW_TRACE_MAGIC_BYTES];
  uint16_t version;
  uint16_t kind;         /* enum hw_trace_kind */
  uint32_t header_bytes; /* HW_TRACE_HEADER_BYTES */
  uint16_t machine;      /* as e_machine of ELF */
  uint8_t pointer_bytes;
  uint8_t tick_shift;
  uint8_t clock;  /* enum hw_clock */
  uint8_t origin; /* enum hw_image_origin */
  uint16_t reserved0;
  uint32_t page_bytes;
  uint32_t depth_limit;  /* the most frames recorded per stack */
  uint64_t window_bytes; /* raw: where the window ends and sections may follow. packed: HW_TRACE_HEADER_BYTES */
  uint8_t run_id[HW_ID_BYTES];
  uint8_t image_id[HW_ID_BYTES];
  uint8_t parent_image_id[HW_ID_BYTES]; /* zeros: none known */
  uint32_t pid;
  uint32_t ppid;
  uint64_t process_start;     /* field 22 of /proc/PID/stat: with pid, identifies a process until the next boot */
  uint32_t inherited_nodes;   /* fork: nodes numbered below this (and above 0) are the parent's */
  uint32_t inherited_modules; /* fork: modules numbered below this (and above 0) are the parent's */
  struct hw_anchor start;
  uint64_t start_realtime_ns; /* since 1970 */
  uint64_t clock_hz_hint;     /* units per second as the CPU states it; 0: unknown. The anchors have priority. */
  uint8_t fields;             /* HW_FIELD_*: optional fields of the image's events */
  uint8_t started_paused;     /* 1: `control` was HW_CONTROL_PAUSE when the recording began */
  uint8_t reserved1[2];
  uint32_t clock_cost; /* clock units between two readings in direct succession; 0: calls are not timed */

  /* Written by tools. */
  uint32_t control; /* enum hw_control */

  /* Written once, as the fields before `control`. */
  uint32_t pid_namespace; /* of pid and ppid, as the kernel numbers pid namespaces; 0: unknown */

  /* Written by the target while it runs, by single aligned stores. They are hints that a reader does not trust. */
  uint32_t state;           /* enum hw_trace_state */
  uint32_t children_unseen; /* forked children that could not begin a trace */
  uint64_t stop_clock;      /* when `state` became a STOPPED one, or the copy was SAVED, in clock units */
  uint64_t used_bytes;      /* chunks begin below this offset */
  struct hw_anchor last;
  uint64_t lost_events;       /* events that could not be recorded, while recording was on */
  uint64_t truncated_stacks;  /* stacks deeper than the limit */
  uint64_t unfinished_stacks; /* stacks whose walk ended before the outermost frame (no CFI, JIT, garbage) */
  uint64_t audited_stacks;    /* spliced stacks that were compared with a full walk */
  uint64_t audit_differences; /* those of audited_stacks that differed; must be 0 */
  uint64_t node_limit_hits;   /* events whose stack is not known, because the table of nodes was full */
  uint64_t rss_peak_bytes;    /* from the last getrusage; 0: unknown */
  union hw_thread_hint threads[HW_THREAD_HINTS];

  /* Written by the target and its children before an exec whose image would be in the same run. If pid is not 0, the
   * entry is complete. */
  struct hw_exec exec;       /* by the image's process itself, in any of its threads */
  uint32_t child_exec_count; /* so far */
  uint32_t reserved2;
  struct hw_exec child_execs[HW_CHILD_EXECS]; /* by children without a trace; number N is at N % HW_CHILD_EXECS */
  uint64_t lost_by_cause[HW_LOSSES];          /* by enum hw_loss: those of lost_events whose cause is known */
  /* 0: every call is an event. Otherwise an allocation of `size` bytes is an event with the probability
   * 1 - exp(-max(size, 1) / sample_bytes), and a free is one if the allocation of its block was. Events of HW_OP_HEAP,
   * HW_OP_SCOPE and HW_OP_FAILED are all there. Written once, as the fields before `control`. */
  uint64_t sample_bytes;

  /* Written by tools. */
  uint64_t sections_off; /* raw: the first section, if older ones were dropped; 0: where the window ends */
  uint64_t limit_off;    /* raw: chunks end here, if this is within the window: read by the target. 0: no limit */
};
static_assert(sizeof(struct hw_trace_header) <= HW_TRACE_HEADER_BYTES, "the header fits its page");

enum hw_field {
  HW_FIELD_USABLE = 1,   /* allocation events carry the usable size */
  HW_FIELD_DURATION = 2, /* events carry the duration of the call */
  HW_FIELD_SAMPLED = 4,  /* events are a sample: see sample_bytes. Each chunk begins with a COUNTS record */
  HW_FIELDS = HW_FIELD_USABLE | HW_FIELD_DURATION | HW_FIELD_SAMPLED,
};

/* Of sample_bytes. */
#define HW_SAMPLE_USUAL_BYTES (UINT64_C(512) << 10)
#define HW_SAMPLE_MAX_BYTES (UINT64_C(1) << 30)

/* If a trace could not be begun, its NAME may be a symbolic link whose target is this text and then the reason. The
 * link is dangling; it needs no block of the disk and does not count for ulimit -f. */
#define HW_NO_TRACE_LINK "heapwright: no trace: "
enum { HW_NO_TRACE_BYTES = 60 }; /* with its NUL: longer links may need a block */

/* --- chunks --- */

#define HW_CHUNK_MAGIC UINT32_C(0x4b435748) /* "HWCK" */

enum hw_chunk_state { HW_CHUNK_OPEN = 1, HW_CHUNK_RETIRED = 2 };

/* Invariant: `valid_bytes` only grows, and the bytes below it are complete events. */
struct hw_chunk_header {
  uint32_t magic;
  uint32_t bytes;     /* header included; a multiple of the page */
  uint64_t off;       /* of this header in the file */
  uint64_t image_tag; /* the first 8 bytes of the trace's image_id */
  uint32_t stream;    /* from 0 */
  uint32_t sequence;  /* of this chunk in its stream, from 0 without gaps */
  uint32_t thread;    /* number of the thread of the events, up to the first THREAD record */
  uint16_t fields;    /* HW_FIELD_* */
  uint16_t reserved;
  uint64_t base_tick;    /* the first time delta counts from here */
  uint64_t base_address; /* the first address delta counts from here */
  uint32_t valid_bytes;  /* of events after this header */
  uint32_t state;        /* enum hw_chunk_state */
};
static_assert(sizeof(struct hw_chunk_header) == 64, "a cache line");

/* --- events ---
 *
 * An event is one byte, `op` in its low four bits and `dt` in its high four, then the op's fields in order. dt is the
 * time since the stream's previous event in ticks; 15 means that the next bytes are a varint with the time.
 *
 * address:  varint of u where u & 1 == 0: the delta to the stream's last address is zigzag(u >> 1) * 16;
 *                       u & 1 == 1: the delta is zigzag(u >> 1). Every address in an event becomes the last address.
 * size: with HW_FIELD_USABLE: varint of (size << 1 | odd); odd = 1: a zigzag of usable - hw_usual_usable(size) follows.
 *           Without: varint of size.
 * node, module, thread: varint numbers.
 * duration: with HW_FIELD_DURATION, after all other fields of every op but NODE, RECORD, SCOPE and HEAP: varint of the clock units
 *           that the real allocator's function took, plus 1; 0: unknown. It is the difference of two readings of the
 *           clock, so that it includes clock_cost.
 *
 * Times within a stream never decrease. At equal ticks, events of different streams have the order in which every free
 * finds its block (the time of a free is read before the real free, that of an allocation after the real allocation).
 */
enum hw_op {
  HW_OP_END = 0,           /* never written: the zeros after the last complete event */
  HW_OP_ALLOC = 1,         /* node, size, address */
  HW_OP_ALLOC_ALIGNED = 2, /* alignment (byte: its log2), node, size, address */
  HW_OP_FREE = 3,          /* address; the entry is HW_ENTRY_FREE */
  HW_OP_DELETE = 4,        /* address; the entry is HW_ENTRY_DELETE_SIZED */
  HW_OP_FREE_VIA = 5,      /* entry (byte), address */
  HW_OP_REALLOC = 6,       /* node, varint ticks from the old block's end to the new one's birth (from which the next
                              event's dt counts), old address (0 delta form as above), size, new address.
                              The old block ends at this event's time. The new address is never 0 (FREE_VIA, FAILED). */
  HW_OP_FAILED = 7, /* alignment (byte: its log2), node, varint of size: a call that returned NULL for want of memory */
  HW_OP_NODE = 8, /* zigzag of number - (the chunk's last NODE number + 1), zigzag of number - parent number, varint of
                              module << 1 | has entry, entry (byte) if so, zigzag of address - the chunk's last NODE
                              address. The last number and address are 0 at the start of a chunk */
  HW_OP_RECORD = 9,        /* type (byte), varint of payload bytes, payload; unknown types are skipped */
  HW_OP_ALLOC_RECENT = 10, /* slot (byte), size, address as a delta to the slot's: an ALLOC whose node is the slot's */
  HW_OP_ALLOC_AGAIN = 11,  /* slot (byte), address as a delta to the slot's: size and usable size are also the slot's */
  HW_OP_NODE_CHILD = 12,   /* the fields of NODE from module on: the next number; the parent is the chunk's last NODE */
  HW_OP_SCOPE = 13,        /* enum hw_scope_op (byte), varint name or count, varint value: see there */
  HW_OP_HEAP = 14,         /* op and part of the tick (byte), varint number of the heap, varint name, and: see there */
};
/* What follows in a HEAP event. Sizes have no usable size with them. The upper bits of the op's byte are the part of the
 * tick: how many 32nds of it had passed. It orders events of different streams, where a reader does not know which blocks
 * of a heap are live. */
enum { HW_HEAP_OP_BITS = 3, HW_TICK_PART_BITS = 5 };
enum hw_heap_op {
  HW_HEAP_CREATE = 1,  /* nothing */
  HW_HEAP_ALLOC = 2,   /* node, varint size, address */
  HW_HEAP_FREE = 3,    /* address */
  HW_HEAP_RESET = 4,   /* nothing: all blocks of the heap end, and it goes on */
  HW_HEAP_DESTROY = 5, /* nothing: they end, and so does the heap */
  HW_HEAP_FAILED = 6,  /* node, varint size: the heap had no room */
};
/* The name and the value of a SCOPE event. */
enum hw_scope_op {
  HW_SCOPE_BEGIN = 1,           /* the scope `name` begins within the thread's current one; value: 0 */
  HW_SCOPE_BEGIN_NUMBER = 2,    /* the same; value: the number that the program gave this instance */
  HW_SCOPE_BEGIN_TEXT = 3,      /* the same; value: the number of the instance's text, which a TEXT record defines */
  HW_SCOPE_CONTINUE = 4,        /* as BEGIN, for a scope that was open at the fork that made this image */
  HW_SCOPE_END = 5,             /* count: scopes that end, at least 1. All but the last were left without an end */
  HW_SCOPE_BEGIN_FORBIDDEN = 6, /* as BEGIN; the thread must not allocate or free until the scope ends */
  HW_SCOPE_MARK = 7,            /* no scope: the program named this moment; value: 0 */
  HW_SCOPE_COUNTER = 8,         /* no scope: the counter `name` has a new value; value: see hw_counter_encode */
  HW_SCOPE_TASK = 9,            /* a task `name` begins, in no thread yet; value: its number, from 1 */
  HW_SCOPE_ENTER = 10,  /* the thread enters a task that no thread is in; instead of a name: the task's number */
  HW_SCOPE_LEAVE = 11,  /* the thread leaves a task, and tasks that it entered inside; the same */
  HW_SCOPE_FINISH = 12, /* a task ends with its open scopes, when no thread is in it; the same */
};
/* The value of a counter in a SCOPE event: the bytes of the double in reverse order, so that usual values are short
 * varints. */
static inline uint64_t hw_counter_encode(double value)
{
  union {
    double value;
    uint64_t bits;
  } of = {value};
  return __builtin_bswap64(of.bits);
}
static inline double hw_counter_decode(uint64_t encoded)
{
  union {
    uint64_t bits;
    double value;
  } of = {__builtin_bswap64(encoded)};
  return of.value;
}
/* The entry byte of a NODE that is no frame: at least `address` frames (0: an unknown number) were left out between its
 * parent and its children, because the stack was deeper than the limit. */
enum { HW_NODE_CUT = 255 };
/* A chunk has HW_RECENT_SLOTS slots, empty at its start. An ALLOC puts its node, size, usable size and address into the
 * slot hw_recent_slot(node); an ALLOC_RECENT or ALLOC_AGAIN puts its sizes and address into the slot that it names. */
enum { HW_RECENT_SLOTS = 256 };
static inline uint8_t hw_recent_slot(uint32_t node)
{
  return (uint8_t)(node * UINT32_C(0x9e3779b1) >> 24);
}
enum { HW_OP_BITS = 4, HW_OP_MASK = 15, HW_DT_LONG = 15, HW_EVENT_MAX_BYTES = 80 };

/* Payloads of HW_OP_RECORD. `text` extends to the end of the payload. */
enum hw_record_type {
  /* varint number, varint start, varint end - start, varint load bias, byte build-id length, build-id, text path
   * (empty: the kernel's vdso) */
  HW_RECORD_MODULE = 1,
  /* varint number, varint tid, byte policy (SCHED_*; 255 unknown), byte priority, text name. From here on the stream's
   * events belong to this thread; written again when a field has changed */
  HW_RECORD_THREAD = 2,
  HW_RECORD_COMMAND = 3, /* text: the arguments, each ended by NUL; truncated at 16 KiB */
  HW_RECORD_EXE = 4,     /* text: path of the executable */
  HW_RECORD_CWD = 5,     /* text */
  HW_RECORD_ENV = 6,     /* text: NAME=VALUE, each ended by NUL; only variables that affect memory */
  HW_RECORD_RSS = 7,     /* varint bytes: peak resident set so far */
  HW_RECORD_NOTE = 8,    /* byte enum hw_note, text: the subject of the note */
  HW_RECORD_EXIT = 9,    /* empty: the image's destructors ran */
  HW_RECORD_NAME = 10,   /* varint number, text: the name of scopes or heaps */
  HW_RECORD_TEXT = 11,   /* varint number, text: what the program said about an instance of a scope */
  /* The first record of a chunk with HW_FIELD_SAMPLED: a byte, HW_COUNTS_OF_CHUNK; a u32 each with the chunk's thread, stream
   * and sequence number; then a u64 for each enum hw_count, which lies on a multiple of 8 bytes. It counts the thread's
   * calls while the chunk was the latest of its stream: its numbers grow while the chunk is open, so that a later copy of
   * the record takes the place of an earlier one. A thread's calls are the sum over its chunks in both streams.
   * HW_COUNTS_OF_CHUNKS, in a base: the sum over all of the thread's chunks of the stream up to the one of this number.
   * The records of all chunks of a stream up to the highest such number do not count */
  HW_RECORD_COUNTS = 12,
  HW_RECORD_TEMPORARY =
      13, /* empty, with HW_FIELD_SAMPLED: the next event, in the same chunk, frees a block before its thread's next allocation */
};

/* A module whose path begins with this is no file: its frames are data, such as a type, and the rest of the path is their name.
 * Only traces of core dumps have such. */
#define HW_DATA_MODULE "[data] "

enum hw_count {
  HW_COUNT_ALLOCATIONS, /* calls that gave out a block; a realloc of a block is one of these and one free */
  HW_COUNT_BYTES,       /* that they asked for */
  HW_COUNT_FREES,       /* of blocks */
  HW_COUNTS
};
enum { HW_COUNTS_OF_CHUNK = 0, HW_COUNTS_OF_CHUNKS = 1 };
enum {                         /* op, type and length are 3 bytes */
       HW_COUNTS_PADDING = 13, /* bytes of the payload before the numbers: */
       HW_COUNTS_THREAD_OFF = 1,
       HW_COUNTS_STREAM_OFF = 5,
       HW_COUNTS_SEQUENCE_OFF = 9,
       HW_COUNTS_OFF = 3 + HW_COUNTS_PADDING,              /* of the numbers in a chunk's events */
       HW_COUNTS_BYTES = HW_COUNTS_PADDING + HW_COUNTS * 8 /* of the payload */
};

enum hw_note {
  /* text: the module that defines malloc and comes before the recorder in symbol search; its calls are not recorded */
  HW_NOTE_OWN_MALLOC = 1,
  /* text: the module that defines operator new and comes before the recorder; recorded if it calls malloc */
  HW_NOTE_OWN_NEW = 2,
  HW_NOTE_BOOT_BLOCKS = 3, /* text: decimal count of blocks allocated before libc was ready, which have no stack */
  /* text: an allocator that is linked into a module under other names (jemalloc, tcmalloc, mimalloc) */
  HW_NOTE_STATIC_ALLOCATOR = 4,
  HW_NOTE_IMPORTED = 5,  /* text: what the imported recording lacks, since its tool does not record it */
  HW_NOTE_ALLOCATOR = 6, /* text: the module whose malloc served the program, if it is not the C library */
  /* text: name of a thread that entered strict seccomp: from here on its events have the time of the latest event of
   * any thread, and events that do not fit its last chunk are lost */
  HW_NOTE_STRICT = 7,
  HW_NOTE_LATE = 8,    /* text: what is not seen, since the recorder was loaded only as a collector of ITT or NVTX */
  HW_NOTE_IGNORED = 9, /* text: a function of ITT that the program calls, and that is ignored */
  HW_NOTE_MEMORY = 10, /* text: what the image of memory does not have, which the blocks come from (HW_ORIGIN_MOMENT) */
  /* text: an allocator that is linked into a module, whose calls are recorded: "jemalloc (je_malloc) in PATH" */
  HW_NOTE_REDIRECTED = 11,
  /* the same, followed by ": " and why they are not recorded; of a stripped library: "jemalloc in PATH: ..." */
  HW_NOTE_NOT_REDIRECTED = 12,
};

/* Returns the usable size that glibc gives to most blocks of this size; events carry the difference to it. */
static inline uint64_t hw_usual_usable(uint64_t size)
{
  uint64_t usable = ((size + 8 + 15) & ~UINT64_C(15)) - 8;
  return usable < 24 ? 24 : usable;
}

/* --- tool area ---
 *
 * Records one after the other from HW_TOOL_AREA_OFF, each aligned to 8 bytes, ended by a zero `type`. A tool appends
 * under an exclusive flock on the file: payload first, `type` last. */
struct hw_tool_record {
  uint32_t type;  /* enum hw_tool_type */
  uint32_t bytes; /* of the payload that follows */
  uint64_t monotonic_ns;
};
enum hw_tool_type {
  HW_TOOL_MARK = 1,   /* text */
  HW_TOOL_PAUSED = 2, /* the control word became HW_CONTROL_PAUSE */
  HW_TOOL_RESUMED = 3,
  HW_TOOL_RSS = 4,    /* struct hw_rss_sample */
  HW_TOOL_EXIT = 5,   /* struct hw_exit_status */
  HW_TOOL_ANCHOR = 6, /* uint64_t clock units: the same moment as monotonic_ns */
  /* uint32_t: children seen so far that run without the recorder; in the last record, those that no header counts */
  HW_TOOL_UNSEEN = 7,
  /* struct hw_thread_state. The latest of a thread has priority, also over THREAD records. Exception: if a THREAD
   * record changed the name to one that no HW_TOOL_THREAD of the thread has, that name has priority */
  HW_TOOL_THREAD = 8,
  HW_TOOL_FILE = 9, /* uint64_t start of a mapping, text: the path of its file */
};
struct hw_thread_state {
  uint32_t number;
  uint8_t policy; /* SCHED_*; 255: unknown */
  uint8_t priority;
  uint16_t reserved;
  char name[16]; /* ends at a NUL */
};
struct hw_rss_sample { /* bytes, from /proc/PID/smaps_rollup or status */
  uint64_t rss;
  uint64_t anonymous;
  uint64_t file;
  uint64_t shmem;
  uint64_t swap;
  uint64_t recorder; /* part of rss: pages of the trace and of the recorder */
  uint64_t stacks;   /* part of rss: thread stacks, where known */
  /* Older records end here. The next fields are from smaps, read at the time of the sample; `mapped` is 0 if it was not
   * read. */
  uint64_t mapped;    /* resident bytes, summed over all mappings */
  uint64_t heap;      /* part of mapped: mappings from which allocators take memory */
  uint64_t files;     /* part of mapped: code, data and other files, without the recorder's */
  uint64_t untouched; /* bytes of the address space of large blocks that were never touched, so are not resident */
  /* Older records end here. */
  uint64_t large; /* part of heap: mappings each of which may be a large block, or a mapping that the program made */
  /* Older records end here. Of the control group that limits the process's memory; all 0: unknown. */
  uint64_t group_limit;     /* 0: none */
  uint64_t group_current;   /* of all its processes, cached files included */
  uint64_t group_oom_kills; /* processes that the kernel killed because memory ran out, since the first sample */
};
#define HW_RSS_SAMPLE_MIN_BYTES offsetof(struct hw_rss_sample, mapped)
struct hw_exit_status {
  uint32_t code;   /* exit code, when signal is 0 */
  uint32_t signal; /* the signal that ended the process */
  /* Older records end here. */
  uint64_t group_oom_kills; /* as in struct hw_rss_sample, after the process's end */
};
#define HW_EXIT_STATUS_MIN_BYTES offsetof(struct hw_exit_status, group_oom_kills)

/* --- sections: of packed files, and after the window of a raw file that is being packed --- */

#define HW_SECTION_MAGIC UINT32_C(0x43535748) /* "HWSC" */

enum hw_section_type {
  HW_SECTION_TOOL = 1,   /* the tool area's records, zstd */
  HW_SECTION_EVENTS = 2, /* chunks `first_sequence` to `last_sequence` of one stream, recoded (see docs), zstd */
  HW_SECTION_END = 3,    /* empty: the packed file is complete */
  /* Events of HW_BASE_STREAM: what is left of the events that were dropped, and all definitions; coded as
   * HW_SECTION_EVENTS. They directly precede their HW_SECTION_BASE */
  HW_SECTION_LEFT = 4,
  /* Completes the HW_SECTION_LEFT before it, whose number is `stream`: struct hw_base and its lists, zstd. The events before
   * first_tick are dropped, and so are sections whose last_tick is before it. The last one in the file counts */
  HW_SECTION_BASE = 5,
};
#define HW_BASE_STREAM UINT32_MAX
struct hw_section_header {
  uint32_t magic;
  uint32_t type;
  uint64_t packed_bytes; /* after this header; the next section follows, aligned to 8 */
  uint64_t plain_bytes;  /* after decompression */
  uint32_t stream;
  uint32_t first_sequence;
  uint32_t last_sequence;
  uint32_t codec; /* how events are recoded; 0: chunk headers and events verbatim */
  uint64_t first_tick;
  uint64_t last_tick;
  uint64_t event_count;
};
static_assert(sizeof(struct hw_section_header) == 64, "a cache line");

/* --- a base: what is known of events that were dropped ---
 *
 * Cells count the dropped blocks: those that were allocated and ended before the cut. Blocks that lived at the cut are not
 * counted, since their allocations are events of HW_BASE_STREAM. The lists follow in this order: struct hw_base_cell,
 * hw_base_thread, hw_base_slice. */
enum { HW_BASE_LIFETIMES = 5 }; /* temporary, below 1 ms, below 1 s, below 1 min, longer */
enum { HW_BASE_SLICES_MAX = 1024, HW_BASE_CELLS_MAX = 1 << 18 };

struct hw_base {
  uint32_t cell_count, thread_count, slice_count;
  uint32_t reserved;
  uint64_t first_slice_tick, slice_ticks; /* slice N begins at first_slice_tick + N * slice_ticks */
  /* The moment before the cut when most bytes were live. */
  uint64_t peak_tick, peak_bytes, peak_blocks, peak_usable;
  uint64_t missed_frees, inherited_frees, unmatched_frees; /* as struct hwi_totals of profile.h */
  uint64_t calls; /* that are dropped: allocations, frees and failed calls; a realloc is two of them */
};
struct hw_base_cell { /* the blocks of one thread, stack and size */
  uint32_t thread, node;
  uint64_t size, usable;             /* of each block */
  uint64_t ended[HW_BASE_LIFETIMES]; /* blocks that were freed */
  uint64_t missed;                   /* blocks that ended, but whose free was not seen */
  uint64_t failed;                   /* calls that returned no block; size and usable are 0 */
  uint64_t peak_blocks;              /* live at the peak, also those that live on */
};
struct hw_base_thread {
  uint32_t thread, reserved;
  uint64_t free_calls, foreign_frees;
};
struct hw_base_slice {
  uint64_t live_bytes, live_blocks;                       /* at its end, or at the cut */
  uint64_t max_bytes;                                     /* within */
  uint64_t allocation_calls, free_calls, allocated_bytes; /* of the dropped blocks; allocations by their begin */
};
static_assert(sizeof(struct hw_base) == 104 - 8 && sizeof(struct hw_base_cell) == 88 &&
                  sizeof(struct hw_base_thread) == 24 && sizeof(struct hw_base_slice) == 48,
              "no padding");

#endif
