/* heap_view.h - the events of some heaps of the program's own, in the form of those of malloc
 *
 * With the option `heap`, a profile is about the heaps that have this name, instead of malloc: their allocations and
 * frees become usual events, and those of malloc are left out. A reset becomes a free of each block. So everything that
 * is known of malloc is known of such a heap, too.
 */
#ifndef HWI_PROFILE_REPLAY_HEAP_VIEW_H
#define HWI_PROFILE_REPLAY_HEAP_VIEW_H

#include "profile/blocks/heap_blocks.h"

struct hwi_heap_view; /* of one image */

/* `pattern`: see hwi_profile_options. Returns NULL if there is no memory. */
struct hwi_heap_view *hwi_heap_view_create(const char *pattern);
void hwi_heap_view_destroy(struct hwi_heap_view *view); /* NULL is fine */

/* As hwi_trace_next, for the image's trace. */
int hwi_heap_view_next(struct hwi_heap_view *view, struct hwi_trace *trace, struct hwi_event *events, int max,
                       struct hwi_error *error);

/* Calls `take` with the name of each heap seen so far, chosen or not. */
void hwi_heap_view_each_name(const struct hwi_heap_view *view, void (*take)(void *context, const char *name),
                             void *context);

#endif
