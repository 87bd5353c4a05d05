/* stepping.h - single steps through a piece of code, by the trap flag: a SIGTRAP is raised after each instruction
 *
 * For programs without a red zone: this would overwrite a part of it.
 */
#ifndef TESTS_RECORD_STEPPING_H
#define TESTS_RECORD_STEPPING_H

#include <stdbool.h>

enum { TRAP_FLAG = 0x100 };

static volatile bool is_stepping;

static void begin_stepping(void)
{
  is_stepping = true;
  __asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" : : "i"(TRAP_FLAG) : "cc", "memory");
}

static void end_stepping(void)
{
  __asm__ volatile("pushfq\n\tandq %0, (%%rsp)\n\tpopfq" : : "i"(~TRAP_FLAG) : "cc", "memory");
  is_stepping = false;
}

#endif
