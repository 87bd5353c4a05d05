/* evidence.c - how complete a recording is */
#include "report/content/evidence.h"

#include <stdlib.h>
#include <string.h>

#include "report/input/moment.h"
#include "report/words/number.h"
#include "trace/read/unseen_programs.h"

/* --- programs that left no trace --- */

struct listing {
  const struct hwi_image *by;
  void (*take)(void *context, const struct hwi_unseen_program *program);
  void *context;
};

static void take_program(void *context, const struct hwi_unseen_exec *unseen)
{
  const struct listing *listing = context;
  struct hwi_unseen_program program = {
      .by = listing->by,
      .pid = unseen->pid,
      .is_child = unseen->is_child,
      .is_counted = unseen->is_counted,
  };
  memcpy(program.name, unseen->exec->name, HW_EXEC_NAME_BYTES);
  listing->take(listing->context, &program);
}

void hwi_evidence_unseen_programs(const struct hwi_profile *profile,
                                  void (*take)(void *context, const struct hwi_unseen_program *program), void *context)
{
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_trace_info *info = profile->images[i].info;
    struct listing listing = {&profile->images[i], take, context};
    if (!info)
      continue;
    struct hwi_missing_execs missing = info->missing;
    const bool goes_on = info->being_written || info->header.state == HW_STATE_SAVED;
    missing.own = missing.own && !goes_on; /* else the trace may still appear */
    hwi_unseen_programs_each(&info->header, &missing, take_program, &listing);
  }
}

static void count_program(void *context, const struct hwi_unseen_program *program)
{
  *(uint64_t *)context += !program->is_counted;
}

/* --- sums --- */

uint64_t hwi_dropped_until_ns(const struct hwi_profile *profile)
{
  uint64_t latest_ns = 0;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_image *image = &profile->images[i];
    if (!image->counted || !image->info->dropped_until_ns)
      continue;
    const uint64_t ns = hwi_image_offset_ns(profile, image) + image->info->dropped_until_ns;
    latest_ns = ns > latest_ns ? ns : latest_ns;
  }
  return latest_ns;
}

int hwi_need_all_events(const struct hwi_profile *profile, const char *what, struct hwi_error *error)
{
  const uint64_t ns = hwi_dropped_until_ns(profile);
  return !ns ? 0
             : hwi_error_set(error, HW_ERR_USAGE,
                             "%s needs every event, but those before %s were dropped (record --keep)", what,
                             hwi_time_text(ns).text);
}

struct hwi_evidence hwi_evidence_of(const struct hwi_profile *profile)
{
  const struct hwi_totals *totals = &profile->totals;
  struct hwi_evidence sum = {.events = totals->allocation_calls + totals->free_calls + totals->failed_calls,
                             .unreadable_images = profile->unreadable_images};
  hwi_evidence_unseen_programs(profile, count_program, &sum.children_unseen);
  uint32_t counted;
  hwi_head_image(profile, &counted);
  sum.dropped_until_ns = hwi_dropped_until_ns(profile);
  sum.peak_is_of_kept = sum.dropped_until_ns && counted > 1;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_trace_info *info = profile->images[i].info;
    if (!info) /* its trace could not be read */
      continue;
    sum.children_unseen += info->children_unseen; /* the launcher counts for the whole run, in its first trace */
    if (!profile->images[i].counted)
      continue;
    sum.lost_events += info->header.lost_events;
    for (int loss = 0; loss < HW_LOSSES; loss++)
      sum.lost_by_cause[loss] += info->header.lost_by_cause[loss];
    sum.audited_stacks += info->header.audited_stacks;
    sum.audit_differences += info->header.audit_differences;
    sum.truncated_stacks += info->header.truncated_stacks;
    sum.unfinished_stacks += info->header.unfinished_stacks;
    sum.node_limit_hits += info->header.node_limit_hits;
    sum.damaged_chunks += info->damaged_chunks;
    sum.missing_chunks += info->missing_chunks;
    for (uint32_t k = 0; k < info->note_count; k++)
      sum.boot_blocks += info->notes[k].kind == HW_NOTE_BOOT_BLOCKS ? strtoull(info->notes[k].text, NULL, 10) : 0;
  }
  return sum;
}

static const struct {
  const char *key, *text;
} losses[HW_LOSSES] = {
    [HW_LOSS_NESTED] = {"nested", "in signal handlers that interrupted another handler's call"},
    [HW_LOSS_STARTING] = {"starting", "while a thread of lower priority was beginning the trace"},
    [HW_LOSS_MEMORY] = {"memory", "for lack of memory"},
    [HW_LOSS_FULL] = {"full", "when the trace was full"},
    [HW_LOSS_STRICT] = {"strict_seccomp", "in threads in strict seccomp, for which the trace cannot grow"},
};

const char *hwi_loss_key(enum hw_loss loss)
{
  return losses[loss].key;
}

const char *hwi_loss_text(enum hw_loss loss)
{
  return losses[loss].text;
}

static const char *reason_of(uint32_t state)
{
  switch (state) {
  case HW_STATE_STOPPED_LIMIT:
    return "size limit of the trace reached";
  case HW_STATE_STOPPED_DISK:
    return "disk full";
  case HW_STATE_STOPPED_MEMORY:
    return "no memory for the recorder's tables";
  case HW_STATE_SAVED:
    return "saved while the program ran";
  default:
    return "recording stopped";
  }
}

uint32_t hwi_evidence_state_of(const char *why)
{
  static const uint32_t states[] = {HW_STATE_STOPPED_LIMIT, HW_STATE_STOPPED_DISK, HW_STATE_STOPPED_MEMORY,
                                    HW_STATE_SAVED, HW_STATE_EXITED};
  for (size_t i = 0; why && i < sizeof states / sizeof *states; i++) {
    if (strcmp(reason_of(states[i]), why) == 0)
      return states[i];
  }
  return 0;
}

void hwi_evidence_silences(const struct hwi_trace_info *info,
                           void (*take)(void *context, const struct hwi_silence *silence), void *context)
{
  struct hwi_silence pause = {.from_ns = info->header.started_paused ? 0 : UINT64_MAX, .why = "paused"};
  for (uint32_t i = 0; i < info->mark_count; i++) {
    const struct hwi_mark *mark = &info->marks[i];
    if (mark->type == HW_TOOL_PAUSED && pause.from_ns == UINT64_MAX) {
      pause.from_ns = mark->ns;
    } else if (mark->type == HW_TOOL_RESUMED && pause.from_ns != UINT64_MAX) {
      pause.to_ns = mark->ns;
      take(context, &pause);
      pause.from_ns = UINT64_MAX;
    }
  }
  if (pause.from_ns != UINT64_MAX) {
    pause.to_ns = UINT64_MAX;
    take(context, &pause);
  }
  if (info->silent_from_ns != UINT64_MAX) {
    struct hwi_silence stop = {info->silent_from_ns, UINT64_MAX, reason_of(info->header.state)};
    take(context, &stop);
  }
}

const struct hwi_image *hwi_largest_image(const struct hwi_profile *profile, uint32_t *counted)
{
  const struct hwi_image *largest = NULL;
  uint32_t count = 0;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_image *image = &profile->images[i];
    if (!image->counted)
      continue;
    count++;
    if (!largest || image->totals.allocated_bytes > largest->totals.allocated_bytes)
      largest = image;
  }
  if (counted)
    *counted = count;
  return largest;
}

const struct hwi_image *hwi_head_image(const struct hwi_profile *profile, uint32_t *counted)
{
  const struct hwi_image *head = NULL;
  uint32_t count = 0;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    if (profile->images[i].counted && count++ == 0)
      head = &profile->images[i]; /* they are in the order in which they began */
  }
  *counted = count;
  return head;
}

struct hwi_other_images hwi_other_images(const struct hwi_profile *profile)
{
  struct hwi_other_images others = {0};
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_image *image = &profile->images[i];
    others.all_bytes += image->totals.allocated_bytes;
    if (image->counted)
      continue;
    others.count++;
    others.bytes += image->totals.allocated_bytes;
  }
  return others;
}

/* --- what is not fully known --- */

struct doubt {
  uint64_t offset_ns, first_ns;
  const char *why;
  bool frees;
  bool stopped; /* recording stopped; the lost events are those after it */
};

static void note(struct doubt *doubt, uint64_t ns, const char *why, bool frees)
{
  doubt->frees = doubt->frees && frees;
  if (ns >= doubt->first_ns)
    return;
  doubt->first_ns = ns;
  doubt->why = why;
}

static void note_silence(void *context, const struct hwi_silence *silence)
{
  struct doubt *doubt = context;
  const uint32_t state = hwi_evidence_state_of(silence->why);
  const bool goes_on = state == 0 || state == HW_STATE_SAVED;
  doubt->stopped |= !goes_on;
  note(doubt, doubt->offset_ns + silence->from_ns, silence->why, goes_on);
}

uint64_t hwi_moment_of_doubt(const struct hwi_profile *profile, const char **why, bool *frees)
{
  struct doubt doubt = {.first_ns = UINT64_MAX, .why = "", .frees = true};
  struct hwi_evidence sum = hwi_evidence_of(profile);
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_image *image = &profile->images[i];
    if (!image->counted)
      continue;
    doubt.offset_ns = hwi_image_offset_ns(profile, image);
    hwi_evidence_silences(image->info, note_silence, &doubt);
    if (image->info->being_written)
      note(&doubt, profile->duration_ns, "still being written", true);
  }
  if (sum.damaged_chunks > 0)
    note(&doubt, 0, "the trace is damaged", false);
  if (sum.missing_chunks > 0)
    note(&doubt, 0, "parts of the trace are missing", false);
  if (sum.lost_events > 0 && !doubt.stopped)
    note(&doubt, 0, "events were lost", false);
  *why = doubt.why;
  *frees = doubt.frees;
  return doubt.first_ns;
}
