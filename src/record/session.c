/* session.c - the recording of one program image: its start, its end, and its restart in a forked child */
#include "record/session.h"

#include <string.h>

#include "base/wide.h"
#include "platform/arch.h"
#include "platform/os.h"
#include "platform/os_inline.h"
#include "record/events/stream.h"
#include "record/runtime/call_timer.h"
#include "record/runtime/operators.h"
#include "record/runtime/real.h"
#include "record/sampled_blocks.h"
#include "record/trace_path.h"
#include "record/unwind/modules.h"
#include "record/unwind/nodes.h"
#include "trace/anchor.h"

enum { MOST_WAITS = 100000 }; /* yields: several seconds, far more than a start takes */

static union {
  struct hwi_address_space liveness;
  uint8_t page[HWI_OS_PAGE_BYTES];
} wiped_page __attribute__((aligned(HWI_OS_PAGE_BYTES)));

static const char never; /* until the session reads libc's flag */

_Alignas(HWI_SESSION_LINE_BYTES) struct hwi_session hwi_session = {.liveness = &wiped_page.liveness,
                                                                   .is_single_threaded = &never};

/* --- the event clock --- */

/* Set when the TSC was abandoned: the clock continues from `left`, at the rate that it had since `began`. */
static struct {
  struct hw_anchor began, left;
  _Atomic bool is_left;
} tsc;

static struct hw_anchor tsc_anchor_now(void)
{
  struct hwi_moment moment = hwi_moment_of(hwi_arch_clock_after_loads, hwi_os_monotonic_ns);
  return (struct hw_anchor){.clock = moment.outer, .monotonic_ns = moment.inner};
}

/* Converts a time to the TSC's units. */
static uint64_t clock_at(uint64_t monotonic_ns)
{
  uint64_t units = tsc.left.clock - tsc.began.clock, ns = tsc.left.monotonic_ns - tsc.began.monotonic_ns;
  return tsc.left.clock + hwi_wide_share(monotonic_ns - tsc.left.monotonic_ns, units, 0, ns ? ns : 1);
}

uint64_t hwi_session_odd_clock(void)
{
  if (hwi_os_is_sealed())
    return 0;
  if (hwi_session.clock != HW_CLOCK_TSC)
    return hwi_os_monotonic_ns();
  return atomic_load(&tsc.is_left) ? clock_at(hwi_os_monotonic_ns()) : hwi_arch_clock_in_order();
}

uint64_t hwi_session_odd_tick_parts(void)
{
  if (hwi_os_is_sealed())
    return hwi_stream_latest_tick() << HW_TICK_PART_BITS;
  const int shift = hwi_session.clock == HW_CLOCK_TSC ? HWI_TICK_SHIFT_TSC : HWI_TICK_SHIFT_NS;
  return hwi_session_odd_clock() >> (shift - HW_TICK_PART_BITS);
}

uint64_t hwi_session_odd_tick(void)
{
  return hwi_session_odd_tick_parts() >> HW_TICK_PART_BITS;
}

uint64_t hwi_session_clock(void)
{
  return hwi_session.has_odd_clock ? hwi_session_odd_clock() : hwi_arch_clock();
}

static struct hw_anchor anchor_now(void)
{
  if (hwi_session.clock == HW_CLOCK_TSC && !atomic_load(&tsc.is_left))
    return tsc_anchor_now();
  uint64_t now = hwi_os_monotonic_ns();
  return (struct hw_anchor){.clock = hwi_session.clock == HW_CLOCK_TSC ? clock_at(now) : now, .monotonic_ns = now};
}

void hwi_session_leave_tsc(void)
{
  static const struct hwi_callers all = {0, UINTPTR_MAX};
  if (hwi_session.clock != HW_CLOCK_TSC || atomic_load(&tsc.is_left))
    return;
  tsc.left = tsc_anchor_now();
  hwi_os_leave_tsc();
  atomic_store(&tsc.is_left, true);
  hwi_session.has_odd_clock = true;
  hwi_session.slow_alloc_callers = hwi_session.slow_free_callers = all;
}

void hwi_session_expect_seal(void)
{
  hwi_session.has_odd_clock = true;
}

/* Returns the wall-clock time at that moment, which was just now. */
static uint64_t realtime_at(uint64_t monotonic_ns)
{
  struct hwi_moment now = hwi_moment_of(hwi_os_monotonic_ns, hwi_os_realtime_ns);
  return now.inner - (now.outer - monotonic_ns);
}

void hwi_session_note_time(void)
{
  if (!hwi_os_is_sealed())
    hwi_session.header->last = anchor_now();
}

/* --- beginning --- */

static bool is_launcher_alive(void)
{
  const struct hwi_options *options = &hwi_session.options;
  return options->launcher_pid && hwi_os_process_start(options->launcher_pid) == options->launcher_start;
}

/* Returns whether the launcher sees the process by its own pid. In a container the launcher may see other IDs of the
 * process and its threads, or they may have no /proc. */
static bool is_seen_by_its_numbers(const struct hw_trace_header *header)
{
  return header->process_start && hwi_os_process_start(header->pid) == header->process_start;
}

static struct hw_trace_header describe_process(void)
{
  struct hw_trace_header header = {
      .tick_shift = hwi_session.clock == HW_CLOCK_TSC ? HWI_TICK_SHIFT_TSC : HWI_TICK_SHIFT_NS,
      .clock = hwi_session.clock,
      .depth_limit = hwi_session.options.depth,
      .pid = hwi_os_pid(),
      .ppid = hwi_os_ppid(),
      .start = anchor_now(),
      .clock_hz_hint = hwi_session.clock == HW_CLOCK_TSC ? hwi_arch_clock_hz_hint() : 1000000000u,
      .fields = hwi_session.fields,
      .sample_bytes = hwi_session.options.sample_bytes,
      .clock_cost = hwi_session.clock_cost,
      .started_paused = hwi_session.options.paused,
      .control = hwi_session.options.paused ? HW_CONTROL_PAUSE : HW_CONTROL_RECORD,
  };
  hwi_session.pid = header.pid;
  header.start_realtime_ns = realtime_at(header.start.monotonic_ns);
  header.process_start = hwi_os_process_start(0);
  header.pid_namespace = hwi_os_pid_namespace(0);
  header.last = tsc.began = header.start;
  hwi_os_random(header.image_id, HW_ID_BYTES);
  return header;
}

static void adopt(const struct hw_trace_header *header)
{
  hwi_session.header = hwi_session.writer.header;
  atomic_fetch_add(&hwi_session.image_count, 1);
  memcpy(hwi_session.image_id, header->image_id, HW_ID_BYTES);
  hwi_session.has_launcher = is_launcher_alive() && is_seen_by_its_numbers(header);
  hwi_session.options.has_run_id = true;
  memcpy(hwi_session.options.run_id, header->run_id, HW_ID_BYTES);
}

static bool has_real_functions(void)
{
  return hwi_real_function[HW_ENTRY_MALLOC] || hwi_real_find(); /* malloc is stored last: then all are found */
}

static bool may_read_tsc(void)
{
  return hwi_session.clock == HW_CLOCK_TSC && !atomic_load(&tsc.is_left);
}

/* An event is usual only if it has the TSC's time and the usual fields, and if no operator may hold it back. A call that
 * is not an event of a sample has no time. */
static void choose_detours(void)
{
  const struct hwi_callers all = {0, UINTPTR_MAX};
  bool is_sample = hwi_session.options.sample_bytes;
  bool has_usual_frees = !hwi_operators_hold && (is_sample || may_read_tsc()) && !hwi_session.options.durations;
  bool has_usual_allocs = has_usual_frees && (is_sample || hwi_session.fields == HW_FIELD_USABLE);
  hwi_session.slow_free_callers = has_usual_frees ? hwi_session.loader : all;
  hwi_session.slow_alloc_callers = has_usual_allocs ? hwi_session.loader : all;
}

/* Counts this process, which has no trace, in its parent's header. */
static void count_unseen(struct hw_trace_header *header)
{
  atomic_store(&hwi_session.liveness->counted, hwi_os_pid());
  __atomic_fetch_add(&header->children_unseen, 1, __ATOMIC_RELAXED);
}

/* A static program that has the recorder is recorded when the same variables would record another one. */
static bool is_wanted(void)
{
  const bool is_chosen = !hwi_os_is_linked_in() || (hwi_os_is_static() && hwi_session.options.is_preloaded);
  return is_chosen && hwi_trace_path_is_wanted();
}

static bool start_image(void)
{
  uintptr_t end = 0;
  if (!hwi_os_has_known_libc() || !hwi_os_page_size_is_usual() || hwi_os_is_privileged() || !has_real_functions() ||
      hwi_real_is_left_alone)
    return false;
  hwi_options_read(&hwi_session.options);
  if (!is_wanted() || hwi_os_wipe_on_fork(wiped_page.page))
    return false;
  hwi_session.is_single_threaded = hwi_os_single_threaded_flag();
  hwi_session.clock = hwi_os_tsc_is_trusted() ? HW_CLOCK_TSC : HW_CLOCK_MONOTONIC_NS;
  hwi_session.has_odd_clock = hwi_session.clock != HW_CLOCK_TSC;
  hwi_session.fields = (hwi_session.options.usable ? HW_FIELD_USABLE : 0) |
                       (hwi_session.options.durations ? HW_FIELD_DURATION : 0) |
                       (hwi_session.options.sample_bytes ? HW_FIELD_SAMPLED : 0);
  hwi_session.clock_cost = hwi_session.options.durations ? hwi_call_timer_clock_cost() : 0;
  hwi_nodes_init();
  if (!hwi_modules_init() || (hwi_session.options.sample_bytes && !hwi_sampled_blocks_init()))
    return false;
  if (hwi_os_loader_range(&hwi_session.loader.start, &end))
    hwi_session.loader.bytes = end - hwi_session.loader.start;
  choose_detours();
  atomic_store(&hwi_session.module_epoch, 1);
  atomic_store(&hwi_session.unload_epoch, 1);
  struct hw_trace_header header = describe_process();
  if (!hwi_trace_path_open_first(&hwi_session.writer, &header))
    return false;
  adopt(&header);
  hwi_trace_path_followers(&hwi_session.is_next_expected, &hwi_session.are_children_expected);
  if (hwi_session.options.durations)
    hwi_call_timer_start();
  return true;
}

/* Starts in a new address space in which nothing was recorded yet: the window, the streams and their chunks are the
 * parent's. */
static bool start_child(void)
{
  bool interrupted = hwi_streams_after_fork();
  if (!hwi_session.options.children)
    return false;
  uint32_t parent = hwi_session.pid;
  if (atomic_load(&tsc.is_left)) /* its own trace can use the other clock from the start */
    hwi_session.clock = HW_CLOCK_MONOTONIC_NS;
  struct hw_trace_header header = describe_process();
  header.origin = HW_ORIGIN_FORK;
  header.inherited_nodes = hwi_nodes_count();
  header.inherited_modules = hwi_modules_count();
  memcpy(header.run_id, hwi_session.options.run_id, HW_ID_BYTES);
  memcpy(header.parent_image_id, hwi_session.image_id, HW_ID_BYTES);
  atomic_store(&hwi_session.thread_count, 0);
  atomic_store(&hwi_session.stream_count, 0);
  atomic_store(&hwi_session.lost, 0);
  atomic_store(&hwi_session.truncated, 0);
  atomic_store(&hwi_session.unfinished, 0);
  atomic_store(&hwi_session.audited, 0);
  atomic_store(&hwi_session.differences, 0);
  atomic_store(&hwi_session.node_limit_hits, 0);
  struct hw_trace_header *parents = hwi_session.header;
  hwi_session.header = NULL;
  if (!interrupted) /* else an event of the parent ends here, in place of the parent's chunk */
    hwi_writer_close_chunks(&hwi_session.writer);
  bool has_place = hwi_trace_path_open_child(&hwi_session.writer, &header);
  if (has_place)
    adopt(&header);
  else { /* an event that a handler's fork interrupted still ends here, and uses the header */
    count_unseen(parents);
    atomic_store(&hwi_session.liveness->stopped, 1); /* this child has been counted */
    hwi_session.header = parents;
    hwi_session.pid = parent;
  }
  if (!interrupted && has_place) /* otherwise it stays: this child is counted there, and need not be counted again */
    hwi_os_unmap(parents, HW_TRACE_HEADER_BYTES);
  return has_place;
}

/* If events are recorded, they see the latest epoch from now on. Meanwhile other threads may begin a later epoch, or
 * stop the recording. */
static void show_epoch(void)
{
  struct hwi_address_space *liveness = hwi_session.liveness;
  uint32_t shown = atomic_load(&liveness->live), epoch;
  while (shown && shown != (epoch = atomic_load(&hwi_session.module_epoch)))
    if (atomic_compare_exchange_strong(&liveness->live, &shown, epoch))
      shown = epoch;
}

/* Shows early losses in the trace once there is one. Both the start and a thread that lost an event call it, and the
 * later call shows them. */
static void show_early_losses(void)
{
  struct hwi_address_space *liveness = hwi_session.liveness;
  uint64_t early = atomic_load(&liveness->live) ? atomic_exchange(&liveness->lost, 0) : 0;
  if (!early)
    return;
  __atomic_fetch_add(&hwi_session.header->lost_by_cause[HW_LOSS_STARTING], early, __ATOMIC_RELAXED);
  __atomic_store_n(&hwi_session.header->lost_events, atomic_fetch_add(&hwi_session.lost, early) + early,
                   __ATOMIC_RELAXED);
}

/* Returns true if there is a trace now. A thread of a higher priority may keep the starter from running: its event is
 * then lost. */
static bool wait_for_starter(void)
{
  struct hwi_address_space *liveness = hwi_session.liveness;
  for (int i = 0; i < MOST_WAITS && atomic_load(&liveness->starter) && !atomic_load(&liveness->live); i++)
    hwi_os_yield();
  if (atomic_load(&liveness->live))
    return true;
  if (atomic_load(&hwi_session.phase) != HWI_PHASE_OFF) {
    atomic_fetch_add(&liveness->lost, 1);
    show_early_losses();
  }
  return false;
}

static bool start(void)
{
  struct hwi_address_space *liveness = hwi_session.liveness;
  uint32_t me = hwi_os_tid(), starter = 0;
  if (atomic_load(&hwi_session.phase) == HWI_PHASE_OFF)
    return false;
  if (atomic_compare_exchange_strong(&liveness->starter, &starter, me)) {
    uint32_t phase = atomic_load(&hwi_session.phase);
    if (!atomic_load(&liveness->live) && phase != HWI_PHASE_OFF) {
      bool ok = phase == HWI_PHASE_NEW ? start_image() : start_child();
      hwi_session.is_never_on = !ok && phase == HWI_PHASE_NEW;
      atomic_store(&hwi_session.phase, ok ? HWI_PHASE_ON : HWI_PHASE_OFF);
      atomic_store(&liveness->live, ok ? atomic_load(&hwi_session.module_epoch) : 0);
      show_epoch();
      show_early_losses();
    }
    atomic_store(&liveness->starter, 0);
    return atomic_load(&liveness->live);
  }
  if (starter == me) /* the start itself allocated: that does not happen, but it must not wait for itself */
    return false;
  return wait_for_starter();
}

/* The recording has ended. A child that was forked since then has no trace, and is counted in its parent's trace. */
static void note_late_child(void)
{
  struct hwi_address_space *liveness = hwi_session.liveness;
  if (atomic_load_explicit(&liveness->stopped, memory_order_relaxed) || !hwi_session.header ||
      !hwi_session.options.children || atomic_exchange(&liveness->stopped, 1))
    return;
  count_unseen(hwi_session.header);
}

/* Signals are blocked: if a handler left the start by longjmp, it would never be completed. */
bool hwi_session_start(void)
{
  if (atomic_load(&hwi_session.phase) == HWI_PHASE_OFF) {
    note_late_child();
    return false;
  }
  uint64_t held = hwi_os_hold_signals();
  bool has_begun = start();
  hwi_os_release_signals(held);
  return has_begun;
}

/* --- ending --- */

void hwi_session_stop(enum hw_trace_state why)
{
  uint32_t on = HWI_PHASE_ON;
  atomic_store(&hwi_session.liveness->stopped, 1); /* first, so that no thread takes this for a child's address space */
  if (!atomic_compare_exchange_strong(&hwi_session.phase, &on, HWI_PHASE_OFF))
    return;
  atomic_store(&hwi_session.liveness->live, 0);
  hwi_session_note_time();
  hwi_session.header->stop_clock = hwi_session.header->last.clock;
  __atomic_store_n(&hwi_session.header->state, why, __ATOMIC_RELEASE);
}

void hwi_session_count(_Atomic uint64_t *counter, uint64_t *shown)
{
  uint64_t count = atomic_fetch_add_explicit(counter, 1, memory_order_relaxed) + 1;
  __atomic_store_n(shown, count, __ATOMIC_RELAXED);
}

void hwi_session_lose(enum hw_loss why)
{
  if (!hwi_session.header)
    return;
  __atomic_fetch_add(&hwi_session.header->lost_by_cause[why], 1, __ATOMIC_RELAXED);
  hwi_session_count(&hwi_session.lost, &hwi_session.header->lost_events);
}

/* --- modules that come and go --- */

static void begin_epoch(bool is_unload)
{
  if (is_unload)
    atomic_fetch_add(&hwi_session.unload_epoch, 1);
  atomic_fetch_add(&hwi_session.module_epoch, 1);
  show_epoch();
}

void hwi_session_loader_calls(void)
{
  enum hwi_os_loader_work work = hwi_os_loader_work();
  if (work != HWI_OS_LOADER_IDLE)
    begin_epoch(work == HWI_OS_LOADER_UNLOADS);
}

void hwi_session_loader_returned(void)
{
  uint64_t count = hwi_os_unload_count();
  if (atomic_exchange(&hwi_session.unload_count, count) != count)
    begin_epoch(true);
}
