/* open_scopes.c - the scopes that threads are in while events are taken in order, and what was done in each */
#include "export/open_scopes.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"

/* Returns NULL if there is no memory. */
static struct hwi_open_thread *thread_of(struct hwi_open_scopes *scopes, uint32_t number)
{
  if (!hwi_grow((void **)&scopes->threads, &scopes->thread_capacity, (size_t)number + 1, sizeof *scopes->threads))
    return NULL;
  while (scopes->thread_count <= number)
    scopes->threads[scopes->thread_count++] = (struct hwi_open_thread){0};
  return &scopes->threads[number];
}

bool hwi_open_scopes_begin(struct hwi_open_scopes *scopes, const struct hwi_scope_event *event, bool keep_text)
{
  struct hwi_open_thread *thread = thread_of(scopes, event->thread);
  if (!thread || !hwi_grow((void **)&thread->items, &thread->capacity, thread->count + 1, sizeof *thread->items))
    return false;
  keep_text = keep_text && event->text;
  struct hwi_open_scope *begun = &thread->items[thread->count++];
  *begun = (struct hwi_open_scope){
      .value = event->value, .text = keep_text ? strdup(event->text) : NULL, .path = event->path, .op = event->op};
  return begun->text || !keep_text;
}

bool hwi_open_scopes_end(struct hwi_open_scopes *scopes, uint32_t number, struct hwi_open_scope *ended)
{
  struct hwi_open_thread *thread = number < scopes->thread_count ? &scopes->threads[number] : NULL;
  if (!thread || thread->count == 0)
    return false;
  *ended = thread->items[--thread->count];
  if (thread->count > 0)
    thread->items[thread->count - 1].inside_bytes += ended->self_bytes + ended->inside_bytes;
  return true;
}

void hwi_open_scope_release(struct hwi_open_scope *scope)
{
  hwi_size_counts_release(&scope->sizes);
  free(scope->text);
}

bool hwi_open_scopes_count(struct hwi_open_scopes *scopes, const struct hwi_block_event *event)
{
  const struct hwi_open_thread *thread = event->thread < scopes->thread_count ? &scopes->threads[event->thread] : NULL;
  const int64_t weight = event->weight;
  const int64_t change = event->kind == HWI_BLOCK_ALLOC ? weight : event->kind == HWI_BLOCK_FREE ? -weight : 0;
  if (!thread || thread->count == 0 || change == 0)
    return true;
  struct hwi_open_scope *innermost = &thread->items[thread->count - 1];
  innermost->self_bytes += change * (int64_t)event->size;
  return hwi_size_counts_add(&innermost->sizes, event->size, change);
}

void hwi_open_scopes_restart(struct hwi_open_scopes *scopes)
{
  for (size_t i = 0; i < scopes->thread_count; i++) {
    for (size_t k = 0; k < scopes->threads[i].count; k++) {
      struct hwi_open_scope *scope = &scopes->threads[i].items[k];
      hwi_size_counts_release(&scope->sizes);
      scope->self_bytes = scope->inside_bytes = 0;
    }
  }
}

void hwi_open_scopes_release(struct hwi_open_scopes *scopes)
{
  for (size_t i = 0; i < scopes->thread_count; i++) {
    for (size_t k = 0; k < scopes->threads[i].count; k++)
      hwi_open_scope_release(&scopes->threads[i].items[k]);
    free(scopes->threads[i].items);
  }
  free(scopes->threads);
  *scopes = (struct hwi_open_scopes){0};
}
