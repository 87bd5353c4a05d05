/* load_word.h - a word that another thread may be writing
 *
 * A plain load is enough, and the compiler can make it part of another instruction; only the thread sanitizer, which gcc
 * and clang announce in different ways, must not take it for a race.
 */
#ifndef HWI_BASE_LOAD_WORD_H
#define HWI_BASE_LOAD_WORD_H

#ifdef __SANITIZE_THREAD__
#define HWI_WITH_THREAD_SANITIZER /* of gcc */
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define HWI_WITH_THREAD_SANITIZER /* of clang */
#endif
#endif

#ifdef HWI_WITH_THREAD_SANITIZER
#define HWI_LOAD_WORD(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#else
#define HWI_LOAD_WORD(word) (word)
#endif

#endif
