/* linux_commands.c - the commands that need Linux, in the tool for Windows: they say so */
#include "cli/command.h"

#define ON_LINUX " on Linux and copy the trace"

#define LINUX_COMMAND(command, what, why) \
  const struct hwi_command hwi_command_##command = {.name = #command, .summary = what " (on Linux)", .missing = why}

LINUX_COMMAND(record, "record a program", "recording is not possible on Windows; record" ON_LINUX);
LINUX_COMMAND(import, "make a trace of another tool's recording",
              "importing is not possible on Windows; run 'heapwright import'" ON_LINUX);
LINUX_COMMAND(control, "switch a recording while it runs",
              "there are no recordings to control on Windows; run this on Linux, where the program runs");
LINUX_COMMAND(
    live, "watch the heap of a running program",
    "the live view is not possible on Windows; run it on Linux, where the program runs, and open its page here");
LINUX_COMMAND(push, "send a profile to a server", "pushing is not possible on Windows; run this on Linux");
LINUX_COMMAND(core, "the heap of a core dump or a process",
              "core dumps cannot be read on Windows; run 'heapwright core PROGRAM CORE -o NAME.hwt'" ON_LINUX);
LINUX_COMMAND(leaks, "what nothing points to any more",
              "looking for leaks in a process is not possible on Windows; run this on Linux, where the program runs");
LINUX_COMMAND(run, "run a program on another allocator",
              "running Linux programs is not possible on Windows; run this on Linux");
LINUX_COMMAND(test, "does this malloc replacement keep malloc's contract?",
              "testing a malloc replacement is not possible on Windows; run this on Linux");
