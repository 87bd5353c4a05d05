/* unseen_programs.c - programs that processes of a run executed, but that have no trace in the run
 *
 * Before an exec, a process notes the program in its header, and a child without a trace notes it in its parent's
 * header. A program that is recorded begins a new image of that process. So a noted program without a later image was
 * not recorded.
 */
#include "trace/read/unseen_programs.h"

#include <stdlib.h>

struct begun {
  uint32_t pid;
  uint64_t ns;
};

static int compare(const void *left, const void *right)
{
  const struct begun *a = left, *b = right;
  if (a->pid != b->pid)
    return a->pid < b->pid ? -1 : 1;
  return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static uint32_t pid_of(const struct hw_exec *exec)
{
  return exec->pid & ~HW_EXEC_IS_COUNTED;
}

/* Returns when the last image of a process with this pid began, or 0 if there is none. */
static uint64_t last_begun(const struct begun *begun, size_t count, uint32_t pid)
{
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (begun[middle].pid <= pid)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && begun[low - 1].pid == pid ? begun[low - 1].ns : 0;
}

static struct hwi_missing_execs missing_of(const struct hw_trace_header *header, const struct begun *begun,
                                           size_t count)
{
  struct hwi_missing_execs missing = {0};
  uint64_t own_ns = header->start.monotonic_ns;
  missing.own = header->exec.pid && last_begun(begun, count, header->pid) <= own_ns;
  for (unsigned i = 0; i < HW_CHILD_EXECS; i++) {
    uint32_t pid = pid_of(&header->child_execs[i]);
    if (pid && last_begun(begun, count, pid) < own_ns)
      missing.children |= UINT64_C(1) << i;
  }
  return missing;
}

int hwi_unseen_programs_find(struct hwi_run *run)
{
  struct begun *begun = calloc(run->count + 1, sizeof *begun);
  if (!begun)
    return HW_ERR_MEMORY;
  for (size_t i = 0; i < run->count; i++)
    begun[i] = (struct begun){run->images[i].header.pid, run->images[i].header.start.monotonic_ns};
  qsort(begun, run->count, sizeof *begun, compare);
  for (size_t i = 0; i < run->count; i++)
    run->images[i].missing = missing_of(&run->images[i].header, begun, run->count);
  free(begun);
  return 0;
}

static struct hwi_unseen_exec unseen(const struct hw_exec *exec, bool is_child)
{
  return (struct hwi_unseen_exec){exec, pid_of(exec), is_child, exec->pid & HW_EXEC_IS_COUNTED};
}

void hwi_unseen_programs_each(const struct hw_trace_header *header, const struct hwi_missing_execs *missing,
                              void (*each)(void *context, const struct hwi_unseen_exec *unseen), void *context)
{
  if (missing->own) {
    struct hwi_unseen_exec own = unseen(&header->exec, false);
    each(context, &own);
  }
  for (unsigned i = 0; i < HW_CHILD_EXECS; i++) {
    struct hwi_unseen_exec child = unseen(&header->child_execs[i], true);
    if (missing->children >> i & 1)
      each(context, &child);
  }
}
