/* heaphook.c - heaphook's heap logs, in the current and the earlier format
 *
 * Current: "alloc, SIZE, ALIGN, PTR, NS", "alloc_zeroed, SIZE, PTR, NS", "dealloc, PTR, NS", "realloc, OLD, SIZE, NEW,
 * NS", "get_block_size, PTR, SIZE, NS". NS is the duration of a call, 0: unknown. The trace's time is the sum of these,
 * since the log has no other time. Earlier: "HOOK ADDRESS SIZE NEW_ADDRESS", the addresses in hexadecimal, with no
 * times at all.
 */
#include <stdlib.h>
#include <string.h>

#include "export/import/foreign.h"

enum { FIELDS_MAX = 6, DECIMAL = 10, HEXADECIMAL = 16 };
static const uint64_t RUN_NS_MAX = UINT64_C(1) << 60; /* 36 years; a trace cannot hold much more */

struct log {
  uint64_t ns;                          /* in calls, so far */
  uint32_t entry_nodes[HW_ENTRY_COUNT]; /* 0: none yet */
  uint32_t node_count;
};

static void *create_log(void)
{
  return calloc(1, sizeof(struct log));
}

static bool number(const char *text, int base, uint64_t *value)
{
  char *end;
  *value = strtoull(text, &end, base);
  return text[0] != '\0' && text[0] != '-' && *end == '\0';
}

/* Splits at any of `separators`. Returns the number of fields, also if there are more than `fields` can hold. */
static int split(char *line, const char *separators, char **fields)
{
  int count = 0;
  char *rest = line;
  for (char *field; (field = strtok_r(rest, separators, &rest)); count++)
    if (count < FIELDS_MAX)
      fields[count] = field;
  return count;
}

static uint8_t log2_of(uint64_t value)
{
  return value > 1 ? (uint8_t)(63 - __builtin_clzll(value)) : 0;
}

/* Returns the node for a call, which only has the called function. */
static uint32_t call_of(struct log *log, struct hwi_synthetic *trace, enum hw_entry entry)
{
  uint32_t *node = &log->entry_nodes[entry];
  if (!*node)
    hwi_synthetic_entry(trace, *node = ++log->node_count, entry);
  return *node;
}

static bool take_call(struct log *log, struct hwi_synthetic *trace, char **fields, int count)
{
  const char *call = fields[0];
  uint64_t size, address, other;
  if (strcmp(call, "alloc") == 0 && count == 5) {
    if (!number(fields[1], DECIMAL, &size) || !number(fields[2], DECIMAL, &other) ||
        !number(fields[3], HEXADECIMAL, &address))
      return false;
    if (address != 0 && other > 1)
      hwi_synthetic_aligned(trace, call_of(log, trace, HW_ENTRY_ALIGNED_ALLOC), log2_of(other), size, address);
    else if (address != 0)
      hwi_synthetic_alloc(trace, call_of(log, trace, HW_ENTRY_MALLOC), size, address);
  } else if (strcmp(call, "alloc_zeroed") == 0 && count == 4) {
    if (!number(fields[1], DECIMAL, &size) || !number(fields[2], HEXADECIMAL, &address))
      return false;
    if (address != 0)
      hwi_synthetic_alloc(trace, call_of(log, trace, HW_ENTRY_CALLOC), size, address);
  } else if (strcmp(call, "dealloc") == 0 && count == 3) {
    if (!number(fields[1], HEXADECIMAL, &address))
      return false;
    hwi_synthetic_free(trace, address);
  } else if (strcmp(call, "realloc") == 0 && count == 5) {
    if (!number(fields[1], HEXADECIMAL, &other) || !number(fields[2], DECIMAL, &size) ||
        !number(fields[3], HEXADECIMAL, &address))
      return false;
    if (address != 0)
      hwi_synthetic_realloc(trace, call_of(log, trace, HW_ENTRY_REALLOC), other, size, address);
  } else {
    return strcmp(call, "get_block_size") == 0 && count == 4; /* changes nothing */
  }
  return true;
}

static bool take_line(void *reader, struct hwi_synthetic *trace, char *line)
{
  struct log *log = reader;
  char *fields[FIELDS_MAX];
  uint64_t ns;
  int count = split(line, ", \r", fields);
  if (count < 3 || count > FIELDS_MAX - 1 || !number(fields[count - 1], DECIMAL, &ns))
    return false;
  if (ns > RUN_NS_MAX - log->ns)
    return false;
  hwi_synthetic_took(trace, ns);
  if (!take_call(log, trace, fields, count))
    return false;
  log->ns += ns;
  hwi_synthetic_time(trace, log->ns);
  return true;
}

static bool recognizes(const char *line, const char *kinds)
{
  (void)kinds;
  static const char *const calls[] = {"alloc, ", "alloc_zeroed, ", "dealloc, ", "realloc, ", "get_block_size, "};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    if (strncmp(line, calls[i], strlen(calls[i])) == 0)
      return true;
  }
  return false;
}

const struct hwi_foreign_format hwi_foreign_heaphook = {
    .tool = "heaphook",
    .missing = "stacks, threads, and times other than those spent in calls",
    .is_timed = true,
    .recognizes = recognizes,
    .create = create_log,
    .destroy = free,
    .take = take_line,
};

/* --- the earlier format --- */

static const char *const old_allocations[] = {"malloc",        "calloc", "posix_memalign", "memalign",
                                              "aligned_alloc", "valloc", "pvalloc"};

static bool is_old_allocation(const char *hook)
{
  for (size_t i = 0; i < sizeof old_allocations / sizeof *old_allocations; i++) {
    if (strcmp(hook, old_allocations[i]) == 0)
      return true;
  }
  return false;
}

static bool take_old_line(void *reader, struct hwi_synthetic *trace, char *line)
{
  (void)reader;
  char *fields[FIELDS_MAX];
  uint64_t address, size, made;
  if (split(line, " \t\r", fields) != 4 || !number(fields[1], HEXADECIMAL, &address) ||
      !number(fields[2], DECIMAL, &size) || !number(fields[3], HEXADECIMAL, &made))
    return false;
  if (is_old_allocation(fields[0]) || (strcmp(fields[0], "realloc") == 0 && address == 0)) {
    if (made != 0)
      hwi_synthetic_alloc(trace, 0, size, made);
  } else if (strcmp(fields[0], "free") == 0 || (strcmp(fields[0], "realloc") == 0 && made == 0 && size == 0)) {
    if (address != 0)
      hwi_synthetic_free(trace, address);
  } else if (strcmp(fields[0], "realloc") == 0) {
    if (made != 0)
      hwi_synthetic_realloc(trace, 0, address, size, made);
  } else {
    return strcmp(fields[0], "malloc_usable_size") == 0; /* changes nothing */
  }
  return true;
}

static bool recognizes_old(const char *line, const char *kinds)
{
  (void)kinds;
  char hook[32] = "";
  size_t bytes = strcspn(line, " ");
  if (line[bytes] != ' ' || bytes >= sizeof hook)
    return false;
  memcpy(hook, line, bytes);
  return is_old_allocation(hook) || strcmp(hook, "free") == 0 || strcmp(hook, "realloc") == 0 ||
         strcmp(hook, "malloc_usable_size") == 0;
}

const struct hwi_foreign_format hwi_foreign_heaphook_old = {
    .tool = "heaphook",
    .missing = "stacks, threads and times",
    .recognizes = recognizes_old,
    .create = create_log,
    .destroy = free,
    .take = take_old_line,
};
