/* core_answer.h - answers about the heap of a core dump or of a process: what is opened for them, and the report
 *
 * Errors are reported on stderr; functions that return an int return 0 or an exit status.
 */
#ifndef HWI_CLI_CORE_ANSWER_H
#define HWI_CLI_CORE_ANSWER_H

#include "cli/answer.h"
#include "cli/ranking_options.h"
#include "cli/read_recording.h"
#include "export/export.h"
#include "memory/graph/graph.h"
#include "memory/heaps/heap.h"
#include "memory/heaps/last_calls.h"
#include "memory/heaps/recorded.h"
#include "memory/image/abort_message.h"
#include "memory/image/modules.h"
#include "memory/image/process.h"
#include "memory/image/thread_frames.h"
#include "memory/image/thread_storage.h"
#include "memory/types/block_types.h"
#include "report/content/core_names.h"
#include "report/names/named_frames.h"

/* What is opened. The caller sets `reading` and `sysroot` (NULL: none), and reads `memory`. */
struct hwi_core_answer {
  const struct hwi_reading *reading;
  const char *sysroot; /* where programs, libraries and debug files are, too */
  struct hwi_memory memory;
  struct hwi_process_read read;
  struct hwi_core_heap heap;
  struct hwi_core_modules modules;
  char abort_message[HWI_ABORT_MESSAGE_BYTES];
  struct hwi_symbols *symbols;
  struct hwi_thread_frames threads;
  struct hwi_thread_storage storage;
  struct hwi_profile *recorded; /* NULL: there is no recording */
  struct hwi_recorded_blocks recorded_blocks;
  struct hwi_last_calls last_calls;
  struct hwi_graph graph;
  struct hwi_leaks leaks;
  struct hwi_block_types types; /* of blocks: once hwi_core_answer_find_types was called */
  bool has_types;
  struct hwi_core core;
  struct hwi_core_names names; /* of single blocks: what it borrows follows */
  struct hwi_named_frames frames;
};

/* Finds the blocks and modules in the memory, which the user calls `name`. hwi_core_answer_close must be called in any
 * case. */
int hwi_core_answer_open(struct hwi_core_answer *answer, const char *name);

/* The second part: reads the recording (NULL: none) and the names of the files that ran. */
int hwi_core_answer_read(struct hwi_core_answer *answer, const char *recording);
void hwi_core_answer_close(struct hwi_core_answer *answer);

/* Follows references, and finds the leaks. From hwi_core_answer_only_leaks on, the answer is about them alone. */
int hwi_core_answer_find_leaks(struct hwi_core_answer *answer);
void hwi_core_answer_only_leaks(struct hwi_core_answer *answer);

/* Leaks that the list matches, and what only they reach, are no leaks from then on. The list gets its counts. */
int hwi_core_answer_suppress(struct hwi_core_answer *answer, struct hwi_suppressions *suppressions);

/* Finds the types of blocks, once. Returns 0 or a negative status. */
int hwi_core_answer_find_types(void *answer, struct hwi_error *error);

/* Writes the trace of the moment. `answer` is a struct hwi_core_answer. Returns 0 or a negative status. */
int hwi_core_answer_write_moment(void *answer, int fd);

struct hwi_core_print {
  enum hwi_format format;
  const struct hwi_export_format *export; /* NULL: a report in the format */
  const struct hwi_ranking *ranking;
  struct hwi_suppressions *suppressions; /* that were applied; NULL: none */
};

int hwi_core_answer_print(struct hwi_core_answer *answer, const struct hwi_core_print *print,
                          const struct hwi_answer_file *to);

#endif
