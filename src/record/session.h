/* session.h - the recording of one program image: when it begins, stops, and begins anew in a forked child
 *
 * phase      NEW until the first event, ON while events are kept, OFF for ever after: not wanted, or nothing more can be
 *            kept. It is private memory, so a forked child inherits it.
 * liveness   lies on a page that the kernel zeroes in every new address space. `live` is not 0 only where phase is ON *and*
 *            this address space has its own trace: the one word that an event must read first. It then is module_epoch, so that
 *            an event sees by the same look whether modules came or went.
 */
#ifndef HWI_RECORD_SESSION_H
#define HWI_RECORD_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/options.h"
#include "trace/format.h"
#include "trace/writer.h"

enum hwi_phase { HWI_PHASE_NEW, HWI_PHASE_ON, HWI_PHASE_OFF };

struct hwi_address_space {
  _Atomic uint32_t live;    /* see above */
  _Atomic uint32_t starter; /* the thread that is making the trace, or 0 */
  _Atomic uint32_t stopped; /* recording stopped in this address space, or before it was made, which the trace says */
  _Atomic uint32_t counted; /* the process of it that children_unseen counts, or 0 */
  _Atomic uint64_t lost;    /* events of threads that gave up waiting for it, which the trace does not show yet */
};

/* A range of code: [start, start + bytes). */
struct hwi_callers {
  uintptr_t start, bytes;
};

static inline bool hwi_callers_have(const struct hwi_callers *callers, uintptr_t pc)
{
  return pc - callers->start < callers->bytes;
}

struct hwi_session {
  struct hwi_address_space *liveness; /* never NULL */
  struct hwi_writer writer;
  struct hw_trace_header *header; /* the window's; written, never read, but for `control` */
  _Atomic uint32_t phase;
  _Atomic uint32_t module_epoch; /* changes with each load and unload */
  _Atomic uint32_t unload_epoch; /* rows and kept stacks from an earlier one are void */
  _Atomic uint64_t unload_count; /* the loader's, when it was last asked */
  struct hwi_callers loader;
  uint8_t clock;      /* enum hw_clock */
  bool has_odd_clock; /* it is not the TSC, or not every thread may read that */
  uint32_t pid;       /* of this address space; a child of vfork has another */
  /* Whose calls are not usual events (see event.h): the loader's, or all where more than its bytes is asked of each event. */
  struct hwi_callers alloc_detour, free_detour;
  const char *is_single_threaded; /* never NULL; see os_inline.h */
  uint8_t fields;                 /* HW_FIELD_*: what events carry */
  uint32_t clock_cost;            /* see the trace's header */
  bool is_next_expected;          /* what the process executes begins a trace in this run, where it can */
  bool are_children_expected;     /* so does what its children execute */
  bool has_launcher; /* it was there when the image began: names, policies and the resident set are its business */
  struct hwi_options options;
  uint8_t image_id[HW_ID_BYTES];
  char name[HWI_OS_PATH_BYTES];  /* NAME of the run: the trace of its first image */
  _Atomic uint32_t thread_count; /* numbers given to threads */
  _Atomic uint32_t stream_count; /* numbers given to streams */
  _Atomic uint64_t lost, truncated, unfinished, audited, differences, node_limit_hits;
  _Atomic uint64_t last_rss_ns;
};
extern struct hwi_session hwi_session;

/* Makes sure that this address space has its trace. False: the event is not kept (the phase is OFF, or this very thread is in
 * the middle of making it, or another one is and does not come to an end: then the event is counted as lost). Slow; called
 * where `live` is 0. */
bool hwi_session_start(void);

/* Nothing more can be kept: the trace says so, and events become no-ops. */
void hwi_session_stop(enum hw_trace_state why);

/* One more event that could not be kept. */
void hwi_session_lose(enum hw_loss why);

/* Adds one to a counter and shows it in the header. */
void hwi_session_count(_Atomic uint64_t *counter, uint64_t *shown);

/* Called where the dynamic loader is at work: if it loads or unloads something, a new epoch begins. */
void hwi_session_loader_calls(void);

/* The loader's dlclose returned to the program. */
void hwi_session_loader_returned(void);

/* This moment on the event clock, in its units. */
uint64_t hwi_session_clock(void);

/* The same, where the session has an odd clock; 0 for a thread that is sealed. And in ticks: for such a thread the latest of all. */
uint64_t hwi_session_odd_clock(void);
uint64_t hwi_session_odd_tick(void);

/* The program is about to forbid the TSC: from now on the same clock goes on by the kernel's, for all threads. */
void hwi_session_leave_tsc(void);

/* The calling thread is about to be sealed: hwi_os_seal. */
void hwi_session_expect_seal(void);

/* Writes the pair of clocks and the peak RSS to the header. */
void hwi_session_note_time(void);

enum { HWI_TICK_SHIFT_TSC = 8, HWI_TICK_SHIFT_NS = 6 }; /* some 0.1 us: most gaps between events fit four bits */

#endif
