/* cmd_run.c - heapwright run: runs a command on another allocator */
#include "cli/own_variables.h"
#include "cli/start_options.h"
#include "launch/start/exec_command.h"

struct values {
  const char *allocator;
  bool children, stats;
  uint64_t pool_bytes;
  struct hwi_texts variables;
};

static const struct values defaults = {.allocator = "tlsf", .pool_bytes = HWI_EXEC_POOL_DEFAULT};

static const struct hwi_option options[] = {
    HWI_START_OPTIONS(allocator, variables, "run the command on this allocator (default: tlsf)"),
    {.name = "pool-size",
     .letter = 'S',
     HWI_VALUE(SIZE, pool_bytes),
     .value = "SIZE",
     .help = "of the pool of tlsf at the start (default: 100 MB)"},
    {.name = "stats",
     HWI_VALUE(ON, stats),
     .help = "tlsf and heap print their figures on stderr when the command ends"},
    {.name = "children", HWI_VALUE(ON, children), .help = "use it also for programs that the command starts"},
    {.name = NULL},
};

static int run(const void *given, int word_count, char **words)
{
  const struct values *values = given;
  if (!hwi_variables_are_right(&values->variables))
    return hwi_fail(HWI_EXIT_LAUNCHER, "%s", HWI_VARIABLES_WRONG);
  if (word_count == 0)
    return hwi_fail(HWI_EXIT_LAUNCHER, "which command? heapwright run [options] [--] COMMAND [ARG...]");
  hwi_own_variables_check(&values->variables);
  struct hwi_exec_options wanted = {
      .allocator = values->allocator,
      .children = values->children,
      .pool_bytes = values->pool_bytes,
      .stats = values->stats,
      .variables = values->variables.items,
      .variable_count = values->variables.count,
      .warn = hwi_warn,
  };
  struct hwi_error error = {0};
  int status = hwi_exec_command(&wanted, words, &error);
  return hwi_fail(status, "%s", error.text);
}

const struct hwi_command hwi_command_run = {
    .name = "run",
    .summary = "run a program on another allocator",
    .usage = "[options] [--] COMMAND [ARG...]",
    .details =
        "COMMAND takes heapwright's place, and so exits as it does by itself; 125 when the allocator cannot be used,\n"
        "126 when COMMAND cannot be executed, 127 when there is none. What COMMAND executes in its own place, and\n"
        "the programs that it starts, have their usual malloc again, unless --children is given; but what env executes has\n"
        "the allocator (scripts that begin with #!/usr/bin/env).\n"
        "\n"
        "examples:\n"
        "  heapwright run -S 200M --stats -- ./app      on a real-time pool\n"
        "  heapwright run -a heap --env HEAPWRIGHT_HEAP_THREADS=central -- ./app\n"
        "  heapwright run -a ./libmine.so -- ./app -v   on an allocator of your own\n"
        "  heapwright run -a jemalloc --children make   the whole build\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .words_end_options = true,
    .usage_status = HWI_EXIT_LAUNCHER,
    .run = run,
};
