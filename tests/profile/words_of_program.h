/* words_of_program.h - what a program may note besides its calls: scopes, tasks, breaches, marks, counters, heaps */
#ifndef HWI_TESTS_PROFILE_WORDS_OF_PROGRAM_H
#define HWI_TESTS_PROFILE_WORDS_OF_PROGRAM_H

#include "../trace/encoder.h"

/* Adds some of each to the chunk, from the tick on, in at most 400 ticks, with allocations from node 2. */
void enc_words(struct enc *enc, int chunk, uint64_t tick);

#endif
