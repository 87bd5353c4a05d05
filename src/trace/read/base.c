/* base.c - what a trace states about events that were dropped; any of its bytes may be forged */
#include "trace/read/base.h"

#include <stdlib.h>
#include <string.h>

/* Copies a list out of the section, since there it has any alignment. Does nothing after a failure. */
static void take_list(const struct hwi_unpacked *loaded, size_t *at, const void **list, size_t bytes, int *status)
{
  if (*status < 0)
    return;
  if (bytes > loaded->count - *at) {
    *status = HW_ERR_DAMAGED;
    return;
  }
  void *made = malloc(bytes + 1);
  if (!made) {
    *status = HW_ERR_MEMORY;
    return;
  }
  memcpy(made, loaded->bytes + *at, bytes);
  *at += bytes;
  *list = made;
}

static bool is_plausible(const struct hw_base *about)
{
  return about->cell_count <= HW_BASE_CELLS_MAX && about->slice_count <= HW_BASE_SLICES_MAX &&
         about->thread_count <= HWI_UNPACK_MAX_BYTES && (about->slice_ticks || !about->slice_count) &&
         about->slice_ticks <= HWI_LATEST_TICK / HW_BASE_SLICES_MAX / 2 &&
         about->first_slice_tick <= HWI_LATEST_TICK / 2;
}

static int read_base(struct hwi_base *base, const struct hwi_unpacked *loaded)
{
  size_t at = sizeof base->about;
  if (loaded->count < at)
    return HW_ERR_DAMAGED;
  memcpy(&base->about, loaded->bytes, at);
  const struct hw_base *about = &base->about;
  int status = is_plausible(about) ? 0 : HW_ERR_DAMAGED;
  take_list(loaded, &at, (const void **)&base->cells, about->cell_count * sizeof *base->cells, &status);
  take_list(loaded, &at, (const void **)&base->threads, about->thread_count * sizeof *base->threads, &status);
  take_list(loaded, &at, (const void **)&base->slices, about->slice_count * sizeof *base->slices, &status);
  return status;
}

int hwi_base_load(struct hwi_base *base, int fd, const struct hw_trace_header *header, const struct hwi_index *index)
{
  struct hwi_unpacked loaded;
  *base = (struct hwi_base){.from_tick = index->from_tick};
  int status = hwi_piece_load(&loaded, fd, header, &index->base.piece);
  if (status == 0)
    status = loaded.bytes ? read_base(base, &loaded) : HW_ERR_DAMAGED;
  hwi_unpacked_release(&loaded);
  if (status < 0)
    hwi_base_release(base);
  return status;
}

void hwi_base_release(struct hwi_base *base)
{
  free((void *)base->cells);
  free((void *)base->threads);
  free((void *)base->slices);
  *base = (struct hwi_base){0};
}
