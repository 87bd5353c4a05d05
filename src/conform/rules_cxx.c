/* rules_cxx.c - the operators new and delete, called by their symbols
 *
 * In C, so that building it needs no C++ compiler. An exception that is not caught ends in the terminate handler, which
 * checks its type; so each call that throws runs in its own child process.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conform/conform.h"

typedef void handler_fn(void);

#define SYMBOL(name) __asm__(name) __attribute__((weak))

void *new_plain(size_t size) SYMBOL("_Znwm");
void *new_array(size_t size) SYMBOL("_Znam");
void *new_nothrow(size_t size, const void *tag) SYMBOL("_ZnwmRKSt9nothrow_t");
void *new_array_nothrow(size_t size, const void *tag) SYMBOL("_ZnamRKSt9nothrow_t");
void *new_aligned(size_t size, size_t align) SYMBOL("_ZnwmSt11align_val_t");
void *new_array_aligned(size_t size, size_t align) SYMBOL("_ZnamSt11align_val_t");
void *new_aligned_nothrow(size_t size, size_t align, const void *tag) SYMBOL("_ZnwmSt11align_val_tRKSt9nothrow_t");
void *new_array_aligned_nothrow(size_t size, size_t align, const void *tag)
    SYMBOL("_ZnamSt11align_val_tRKSt9nothrow_t");
void delete_plain(void *block) SYMBOL("_ZdlPv");
void delete_array(void *block) SYMBOL("_ZdaPv");
void delete_nothrow(void *block, const void *tag) SYMBOL("_ZdlPvRKSt9nothrow_t");
void delete_array_nothrow(void *block, const void *tag) SYMBOL("_ZdaPvRKSt9nothrow_t");
void delete_sized(void *block, size_t size) SYMBOL("_ZdlPvm");
void delete_array_sized(void *block, size_t size) SYMBOL("_ZdaPvm");
void delete_aligned(void *block, size_t align) SYMBOL("_ZdlPvSt11align_val_t");
void delete_array_aligned(void *block, size_t align) SYMBOL("_ZdaPvSt11align_val_t");
void delete_sized_aligned(void *block, size_t size, size_t align) SYMBOL("_ZdlPvmSt11align_val_t");
handler_fn *set_new_handler(handler_fn *handler) SYMBOL("_ZSt15set_new_handlerPFvvE");
handler_fn *set_terminate(handler_fn *handler) SYMBOL("_ZSt13set_terminatePFvvE");
void *current_exception_type(void) SYMBOL("__cxa_current_exception_type");
void throw_bad_alloc(void) SYMBOL("_ZSt17__throw_bad_allocv");
extern const char nothrow SYMBOL("_ZSt7nothrow");

static void need_runtime(void)
{
  if (!new_plain || !new_aligned || !set_new_handler || !set_terminate || !throw_bad_alloc)
    hwi_conform_untried("there is no C++ runtime (libstdc++.so.6) here");
}

static void *filled(void *block, size_t size)
{
  EXPECT(seen(block), "an operator new of %zu bytes gave NULL", size);
  hwi_pattern_fill(block, size, 6);
  EXPECT(malloc_usable_size(block) >= size, "malloc_usable_size of a block of operator new is %zu, below %zu",
         malloc_usable_size(block), size);
  return block;
}

void hwi_rule_new_delete(void)
{
  need_runtime();
  hwi_conform_now("in an operator new or delete");
  for (size_t size = 0; size < 200000; size = size * 3 + 1) {
    delete_plain(filled(new_plain(size), size));
    delete_sized(filled(new_plain(size), size), size);
    delete_array(filled(new_array(size), size));
    delete_array_sized(filled(new_array(size), size), size);
    delete_nothrow(filled(new_nothrow(size, &nothrow), size), &nothrow);
    delete_array_nothrow(filled(new_array_nothrow(size, &nothrow), size), &nothrow);
    delete_aligned(filled(new_aligned(size, 64), size), 64);
    delete_sized_aligned(filled(new_aligned(size, 64), size), size, 64);
    delete_array_aligned(filled(new_array_aligned(size, 64), size), 64);
    free(filled(new_plain(size), size));
  }
  void *first = new_plain(0), *second = new_plain(0);
  EXPECT(first != second, "two live objects of 0 bytes have one address");
  delete_plain(NULL);
  delete_array(NULL);
  delete_aligned(NULL, 64);
}

void hwi_rule_new_align(void)
{
  need_runtime();
  for (size_t align = 1; align <= 1 << 20; align *= 2)
    for (size_t size = 1; size < 100000; size = size * 5 + 1) {
      void *blocks[] = {new_aligned(size, align), new_array_aligned(size, align),
                        new_aligned_nothrow(size, align, &nothrow), new_array_aligned_nothrow(size, align, &nothrow)};
      for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        EXPECT(is_aligned(filled(blocks[i], size), align), "operator new of %zu bytes aligned to %zu gave %p", size,
               align, blocks[i]);
      for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        delete_aligned(blocks[i], align);
    }
  EXPECT(is_aligned(filled(new_plain(16), 16), 16), "operator new of 16 bytes is not aligned to 16");
}

/* --- failing --- */

static volatile size_t huge = PTRDIFF_MAX - 4096;

static void look_at_exception(void)
{
  void **type = current_exception_type();
  const char *name = type ? type[1] : "nothing";
  EXPECT(!strcmp(name, "St9bad_alloc"), "operator new threw %s", name);
  _exit(HWI_RULE_KEPT);
}

static void *by_new(size_t size)
{
  return new_plain(size);
}

static void *by_new_array(size_t size)
{
  return new_array(size);
}

static void *by_new_aligned(size_t size)
{
  return new_aligned(size, 64);
}

static void *by_new_array_aligned(size_t size)
{
  return new_array_aligned(size, 64);
}

static void try_throwing(void *(*get)(size_t size), const char *name)
{
  pid_t child = fork();
  if (child == 0) {
    set_terminate(look_at_exception);
    hwi_conform_broken("%s of 2^63 bytes returned %p", name, seen(get(huge)));
  }
  hwi_conform_wait(child, name);
}

void hwi_rule_new_bad_alloc(void)
{
  need_runtime();
  hwi_conform_now("in an operator new that fails");
  try_throwing(by_new, "operator new");
  try_throwing(by_new_array, "operator new[]");
  try_throwing(by_new_aligned, "operator new(align)");
  try_throwing(by_new_array_aligned, "operator new[](align)");
  EXPECT(!seen(new_nothrow(huge, &nothrow)), "operator new(nothrow) of 2^63 bytes gave a block");
  EXPECT(!seen(new_array_nothrow(huge, &nothrow)), "operator new[](nothrow) of 2^63 bytes gave a block");
  EXPECT(!seen(new_aligned_nothrow(huge, 64, &nothrow)), "operator new(align, nothrow) of 2^63 bytes gave a block");
  EXPECT(!seen(new_array_aligned_nothrow(huge, 64, &nothrow)),
         "operator new[](align, nothrow) of 2^63 bytes gave a block");
  delete_plain(filled(new_plain(100), 100));
}

static int handled;
static jmp_buf out_of_handler;

static void count_to_three(void)
{
  if (++handled == 3)
    set_new_handler(NULL);
}

static void leave(void)
{
  handled++;
  longjmp(out_of_handler, 1);
}

static void throw_from_handler(void)
{
  handled++;
  throw_bad_alloc();
}

void hwi_rule_new_handler(void)
{
  need_runtime();
  hwi_conform_now("with a new_handler");
  set_new_handler(count_to_three);
  EXPECT(!seen(new_nothrow(huge, &nothrow)), "operator new(nothrow) of 2^63 bytes gave a block");
  EXPECT(handled == 3, "operator new(nothrow) asked the handler %d times, not 3", handled);
  set_new_handler(throw_from_handler);
  EXPECT(!seen(new_nothrow(huge, &nothrow)), "operator new(nothrow) gave a block though the handler threw");
  EXPECT(handled == 4, "it did not ask the handler that throws");
  set_new_handler(leave);
  if (!setjmp(out_of_handler))
    hwi_conform_broken("operator new of 2^63 bytes returned %p", seen(new_plain(huge)));
  EXPECT(handled == 5, "operator new did not ask the handler");
}
