/* session.h - the recording of one program image: its start, its end, and its restart in a forked child
 *
 * phase      NEW until the first event, ON while events are recorded, then OFF for ever: not wanted, or nothing more
 *            can be recorded. It is private memory, so a forked child inherits it.
 * liveness   is on a page that the kernel zeroes in every new address space. `live` is not 0 only if phase is ON *and*
 *            this address space has its own trace: it is the word that an event must read first. It is then equal to
 *            module_epoch, so that the same load shows whether modules were loaded or unloaded.
 */
#ifndef HWI_RECORD_SESSION_H
#define HWI_RECORD_SESSION_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/arch.h"
#include "record/options.h"
#include "trace/format.h"
#include "trace/writer.h"

enum hwi_phase { HWI_PHASE_NEW, HWI_PHASE_ON, HWI_PHASE_OFF };

struct hwi_address_space {
  _Atomic uint32_t live;    /* see above */
  _Atomic uint32_t starter; /* tid of the thread that is making the trace, or 0 */
  _Atomic uint32_t stopped; /* recording stopped, in this address space or before it was made; the trace reports it */
  _Atomic uint32_t counted; /* pid of its process that children_unseen has counted, or 0 */
  _Atomic uint64_t lost;    /* events of threads that gave up waiting for it, not yet shown in the trace */
};

/* A range of code: [start, start + bytes). */
struct hwi_callers {
  uintptr_t start, bytes;
};

static inline bool hwi_callers_have(const struct hwi_callers *callers, uintptr_t pc)
{
  return pc - callers->start < callers->bytes;
}

enum { HWI_SESSION_LINE_BYTES = 64 };

struct hwi_session {
  /* Each event reads these. They share a cache line. */
  struct hwi_address_space *liveness; /* never NULL */
  struct hw_trace_header *header;     /* in the window; only written, never read, except `control` */
  const char *is_single_threaded;     /* never NULL; see os_inline.h */
  uint8_t fields;                     /* HW_FIELD_*: the fields of events */
  uint8_t clock;                      /* enum hw_clock */
  bool has_odd_clock;                 /* it is not the TSC, or not every thread may read the TSC */
  bool is_never_on;                   /* this image is not wanted, or could have no trace */
  /* Callers whose calls are not usual events (see event.h): the loader only, or all callers if an event needs more than
   * its bytes. */
  struct hwi_callers slow_alloc_callers, slow_free_callers;
  struct hwi_writer writer;
  _Atomic uint32_t phase;
  _Atomic uint32_t module_epoch; /* changes with each load and unload */
  _Atomic uint32_t unload_epoch; /* rows and cached stacks from an earlier one are invalid */
  _Atomic uint64_t unload_count; /* the loader's count, when it was last read */
  struct hwi_callers loader;
  uint32_t pid;               /* of this address space; a child of vfork has another one */
  uint32_t clock_cost;        /* see the trace's header */
  bool is_next_expected;      /* a program that the process executes will begin a trace in this run, if it can */
  bool are_children_expected; /* so will a program that its children execute */
  bool has_launcher;          /* it existed when the image began, and records names, policies and resident memory */
  struct hwi_options options;
  uint8_t image_id[HW_ID_BYTES];
  char name[HWI_OS_PATH_BYTES];  /* NAME of the run: the trace of its first image */
  _Atomic uint32_t image_count;  /* images with a trace: this one, and its ancestors by fork */
  _Atomic uint32_t thread_count; /* IDs assigned to threads */
  _Atomic uint32_t stream_count; /* IDs assigned to streams */
  _Atomic uint64_t lost, truncated, unfinished, audited, differences, node_limit_hits;
  _Atomic uint64_t last_rss_ns;
};
static_assert(offsetof(struct hwi_session, writer) <= HWI_SESSION_LINE_BYTES, "a cache line");
extern struct hwi_session hwi_session;

/* Makes sure that this address space has its trace. Returns false if the event is not recorded: the phase is OFF, or
 * this thread is making the trace, or another thread is making it and does not finish (the event is then counted as
 * lost). Slow; called if `live` is 0. */
bool hwi_session_start(void);

/* Stops the recording because nothing more can be recorded: the trace states it, and events become no-ops. */
void hwi_session_stop(enum hw_trace_state why);

/* Counts one more event that could not be recorded. */
void hwi_session_lose(enum hw_loss why);

/* Adds one to a counter and shows it in the header. */
void hwi_session_count(_Atomic uint64_t *counter, uint64_t *shown);

/* Called when the dynamic loader is working: if it loads or unloads something, a new epoch begins. */
void hwi_session_loader_calls(void);

/* Called when the loader's dlclose has returned. */
void hwi_session_loader_returned(void);

/* Returns the current time on the event clock, in its units. */
uint64_t hwi_session_clock(void);

/* For a session with an odd clock. The first function returns the current time, in the clock's units, or 0 for a sealed
 * thread. The second one returns the current tick, or for a sealed thread the latest tick of all threads. The third one
 * returns the same in parts of a tick (HW_TICK_PART_BITS). */
uint64_t hwi_session_odd_clock(void);
uint64_t hwi_session_odd_tick(void);
uint64_t hwi_session_odd_tick_parts(void);

/* The program is about to forbid the TSC: from now on the same clock is continued with the kernel's clock, for all
 * threads. */
void hwi_session_leave_tsc(void);

/* To be called before the calling thread is sealed (hwi_os_seal). */
void hwi_session_expect_seal(void);

/* Writes the pair of clocks and the peak RSS to the header. */
void hwi_session_note_time(void);

/* From units of the clock to ticks: most gaps between events fit in four bits. */
enum { HWI_TICK_SHIFT_TSC = HWI_ARCH_TICK_SHIFT, HWI_TICK_SHIFT_NS = 6 };

#endif
