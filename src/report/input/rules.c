/* rules.c - lists of rules in LeakSanitizer's suppression syntax: matching, and the built-in lists */
#include "report/input/rules.h"

#include <string.h>

/* --- matching --- */

/* Whether `text` begins with the pattern; if `tied`, both must end together. The classic algorithm for '*': after a
 * mismatch, the last star matches one more character. */
static bool matches_here(const char *pattern, const char *end, bool tied, const char *text)
{
  const char *star = NULL, *star_text = NULL;
  for (;;) {
    if (pattern == end && (!tied || *text == '\0'))
      return true;
    if (pattern < end && *pattern == '*') {
      star = ++pattern;
      star_text = text;
    } else if (pattern < end && *text != '\0' && *pattern == *text) {
      pattern++;
      text++;
    } else if (star && *star_text != '\0') {
      pattern = star;
      text = ++star_text;
    } else {
      return false;
    }
  }
}

bool hwi_pattern_matches(const char *pattern, size_t pattern_bytes, const char *text)
{
  const char *end = pattern + pattern_bytes;
  bool from_start = pattern < end && *pattern == '^';
  pattern += from_start;
  bool to_end = pattern < end && end[-1] == '$';
  end -= to_end;
  if (from_start)
    return matches_here(pattern, end, to_end, text);
  for (;; text++) { /* also at the text's end, since a star can match nothing */
    if (matches_here(pattern, end, to_end, text))
      return true;
    if (*text == '\0')
      return false;
  }
}

const char *hwi_pattern_of_rule(const char *rule, size_t rule_bytes, size_t *pattern_bytes)
{
  static const char kind[] = "leak:";
  enum { KIND_BYTES = sizeof kind - 1 };
  if (rule_bytes <= KIND_BYTES || memcmp(rule, kind, KIND_BYTES) != 0)
    return NULL;
  *pattern_bytes = rule_bytes - KIND_BYTES;
  return rule + KIND_BYTES;
}

bool hwi_patterns_match(const char *rules, const char *text)
{
  while (*rules != '\0') {
    size_t bytes = strcspn(rules, "\n"), pattern_bytes;
    const char *pattern = hwi_pattern_of_rule(rules, bytes, &pattern_bytes);
    if (pattern && hwi_pattern_matches(pattern, pattern_bytes, text))
      return true;
    rules += bytes + (rules[bytes] == '\n');
  }
  return false;
}

/* --- the built-in lists --- */

/* The standard library of C++: for a stack in a few words, its caller is more useful than the template that
 * requested the memory. */
const char hwi_rules_libraries[] = "leak:^std::\n"
                                   "leak:^void std::\n"
                                   "leak:^__gnu_cxx::\n";

const char hwi_rules_library_modules[] = "leak:/libstdc++.so.\n"
                                         "leak:/libc++.so.\n";

/* Compared with the innermost frames, one after the other, until one does not match: that frame requested the
 * memory. */
const char hwi_rules_wrappers[] =
    /* C++: allocators, and the containers' private helpers between them and the operation that the user wrote */
    "leak:^hw_custom_heap_alloc\n"
    "leak:^operator new\n"
    "leak:^std::allocator<\n"
    "leak:^std::allocator_traits<\n"
    "leak:^std::__new_allocator<\n"
    "leak:^__gnu_cxx::new_allocator<\n"
    "leak:^__gnu_cxx::__alloc_traits<\n"
    "leak:^__gnu_cxx::malloc_allocator<\n"
    "leak:^std::pmr::polymorphic_allocator<\n"
    "leak:^std::pmr::memory_resource::allocate\n"
    "leak:^std::__allocate_guarded\n"
    "leak:^std::__detail::_Hashtable_alloc<\n"
    "leak:^std::_Vector_base<\n"
    "leak:^std::_Deque_base<\n"
    "leak:^std::_Rb_tree<\n"
    "leak:^std::_Hashtable<\n"
    "leak:^std::__shared_count<\n"
    "leak:^std::__shared_ptr<\n"
    "leak:^std::shared_ptr<*>::shared_ptr\n"
    "leak:^std::_Function_base\n"
    "leak:^std::__cxx11::_List_base<*>::_M_get_node\n"
    "leak:^std::__cxx11::list<*>::_M_create_node\n"
    "leak:^std::__cxx11::basic_string<*>::_M_create\n"
    "leak:^std::__cxx11::basic_string<*>::_S_allocate\n"
    "leak:^std::__cxx11::basic_string<*>::_M_construct\n"
    "leak:^std::vector<*>::_M_allocate\n"
    "leak:^std::vector<*>::_M_realloc_insert\n"
    "leak:^std::vector<*>::_M_realloc_append\n"
    "leak:^std::__1::__libcpp_allocate\n"
    "leak:^std::__1::allocator<\n"
    "leak:^std::__1::allocator_traits<\n"
    "leak:^std::__1::__allocate_at_least\n"
    "leak:^QArrayData::allocate\n"
    "leak:^QArrayData::reallocate\n"
    /* C: GLib's functions, and wrappers that abort on failure or count */
    "leak:^g_malloc*$\n"
    "leak:^g_try_malloc*$\n"
    "leak:^g_realloc*$\n"
    "leak:^g_try_realloc*$\n"
    "leak:^g_slice_alloc*$\n"
    "leak:^g_strdup*$\n"
    "leak:^g_strndup$\n"
    "leak:^g_memdup*$\n"
    "leak:^strdup$\n"
    "leak:^__strdup$\n"
    "leak:^strndup$\n"
    "leak:^__strndup$\n"
    "leak:^xstrdup$\n"
    "leak:^xstrndup$\n"
    "leak:^xmemdup*$\n"
    "leak:^_obstack_newchunk$\n"
    "leak:^_obstack_begin*$\n"
    "leak:^ggc_internal_alloc*\n"
    "leak:^ggc_internal_cleared_alloc*\n"
    "leak:^xmalloc$\n"
    "leak:^xcalloc$\n"
    "leak:^xzalloc$\n"
    "leak:^xrealloc$\n"
    "leak:^x2realloc$\n"
    "leak:^x2nrealloc$\n"
    "leak:^xnmalloc$\n"
    "leak:^xnrealloc$\n"
    "leak:^xreallocarray$\n"
    "leak:^xmallocarray$\n"
    "leak:^xcharalloc$\n"
    "leak:^ximalloc$\n"
    "leak:^xirealloc$\n"
    "leak:^sh_xmalloc$\n"
    "leak:^sh_xrealloc$\n"
    "leak:^do_xmalloc$\n"
    "leak:^do_xmallocz$\n"
    "leak:^xmallocz$\n"
    "leak:^Perl_safesysmalloc$\n"
    "leak:^Perl_safesyscalloc$\n"
    "leak:^Perl_safesysrealloc$\n"
    "leak:^CRYPTO_memdup$\n"
    "leak:^CRYPTO_strdup$\n"
    "leak:^CRYPTO_strndup$\n"
    "leak:^safe_malloc$\n"
    "leak:^safe_realloc$\n"
    "leak:^emalloc$\n"
    "leak:^erealloc$\n"
    "leak:^av_malloc*$\n"
    "leak:^av_calloc$\n"
    "leak:^av_realloc*$\n"
    "leak:^av_mallocz*$\n"
    "leak:^CRYPTO_malloc$\n"
    "leak:^CRYPTO_zalloc$\n"
    "leak:^CRYPTO_realloc$\n"
    "leak:^CRYPTO_clear_realloc$\n"
    "leak:^zmalloc*$\n"
    "leak:^zcalloc*$\n"
    "leak:^zrealloc*$\n"
    "leak:^sqlite3MemMalloc$\n"
    "leak:^sqlite3MemRealloc$\n"
    "leak:^mallocWithAlarm$\n"
    "leak:^sqlite3Malloc*$\n"
    "leak:^sqlite3Realloc*$\n"
    "leak:^sqlite3DbMalloc*$\n"
    "leak:^sqlite3DbRealloc*$\n"
    "leak:^dbMallocRawFinish$\n"
    "leak:^dbReallocFinish$\n"
    "leak:^_PyMem_Raw*$\n"
    "leak:^PyMem_Malloc$\n"
    "leak:^PyMem_Calloc$\n"
    "leak:^PyMem_Realloc$\n"
    "leak:^PyMem_Raw*$\n"
    "leak:^PyObject_Malloc$\n"
    "leak:^PyObject_Calloc$\n"
    "leak:^PyObject_Realloc$\n"
    "leak:^_PyObject_Malloc$\n"
    "leak:^_PyObject_Realloc$\n"
    "leak:^_PyMem_Debug*$\n"
    "leak:^_PyObject_Calloc$\n"
    "leak:^_PyObject_GC_New\n"
    "leak:^_PyObject_New\n"
    "leak:^gc_alloc$\n"
    "leak:^pymalloc_alloc$\n"
    "leak:^pymalloc_realloc$\n"
    "leak:^allocate_from_new_pool$\n"
    "leak:^new_arena$\n"
    "leak:^arena_map_\n"
    /* Rust and D */
    "leak:^alloc::alloc::\n"
    "leak:^<alloc::alloc::Global\n"
    "leak:^alloc::raw_vec::\n"
    "leak:^<alloc::raw_vec::\n"
    "leak:^<alloc::vec::Vec<*>>::with_capacity\n"
    "leak:^alloc::vec::Vec<*>::push_mut\n"
    "leak:^hashbrown::raw::\n"
    "leak:^<hashbrown::raw::\n"
    "leak:^__rustc*::__r*alloc\n"
    "leak:^__rust_alloc\n"
    "leak:^__rust_realloc\n"
    "leak:^__rdl_alloc\n"
    "leak:^__rdl_realloc\n"
    "leak:^std::sys::alloc::\n"
    "leak:^<std::alloc::System as\n"
    "leak:^core::alloc::\n";

/* Compared with the outermost frames, one after the other, until one does not match. */
const char hwi_rules_starts[] = "leak:^_start$\n"
                                "leak:^__libc_start_main\n"
                                "leak:^__libc_start_call_main$\n"
                                "leak:^__libc_init_first$\n"
                                "leak:^libc_start_main_stage2$\n" /* of musl */
                                "leak:^_dl_start_user$\n"
                                "leak:^_dl_start$\n"
                                "leak:^clone$\n"
                                "leak:^clone3$\n"
                                "leak:^__clone*$\n"
                                "leak:^start_thread$\n"
                                "leak:^thread_start$\n"
                                "leak:^execute_native_thread_routine$\n"
                                "leak:^std::execute_native_thread_routine\n"
                                "leak:^std::thread::_Invoker<\n"
                                "leak:^std::thread::_State_impl<\n"
                                /* Rust and D: between libc, and the program's own main or a thread's closure */
                                "leak:^std::rt::lang_start\n"
                                "leak:^std::panic::catch_unwind\n"
                                "leak:^std::panicking::\n"
                                "leak:core::ops::function::FnOnce*::call_once\n"
                                "leak:^std::sys*::backtrace::__rust_begin_short_backtrace\n"
                                "leak:^std::thread::*spawn_unchecked\n"
                                "leak:^<std::thread::*spawn_unchecked\n"
                                "leak:^std::sys::*::thread_start\n"
                                "leak:^<std::sys::*::thread_start\n"
                                "leak:^_d_run_main\n"
                                "leak:^rt.dmain2.\n";

const char hwi_rules_start_modules[] = "leak:/libc.so.\n"
                                       "leak:/libc-2.\n"
                                       "leak:/libpthread\n"
                                       "leak:/ld-linux\n"
                                       "leak:/ld-2.\n"
                                       "leak:/ld-musl-\n" /* libc and loader; Debian's file has the next name */
                                       "leak:-linux-musl/libc.so\n";

/* Compared only with the frame that allocated, and with its module. LeakSanitizer compares every frame. Here that
 * would be wrong: a global constructor is called by the loader, and its blocks are the program's. */
const char hwi_rules_runtime[] =
    /* the loader: link maps, TLS blocks, search paths */
    "leak:/ld-linux\n"
    "leak:/ld-2.\n"
    "leak:^_dl_\n"
    "leak:^dl_open_worker\n"
    "leak:^allocate_dtv\n"
    "leak:^tls_get_addr_tail\n"
    /* libc: blocks that it allocates once and keeps */
    "leak:^_IO_file_doallocate$\n"
    "leak:^_IO_wfile_doallocbuf$\n"
    "leak:^__new_exitfn$\n"
    "leak:^__cxa_thread_atexit\n"
    "leak:^tzset_internal$\n"
    "leak:^__tzfile_\n"
    "leak:^__gconv_\n"
    "leak:^_nl_\n"
    "leak:^__nss_\n"
    "leak:^nss_\n"
    "leak:^_dlerror_run$\n"
    "leak:^setlocale$\n"
    "leak:^new_composite_name$\n"
    /* libstdc++: the pool for exceptions when memory is short (72,704 bytes), whose constructor may be inlined into that of its
     * file, and each thread's exception state */
    "leak:(anonymous namespace)::pool::pool\n"
    "leak:^_GLOBAL__sub_I_eh_alloc.cc$\n"
    "leak:^__cxa_get_globals\n";

/* Start-up of the runtime itself: its frames often have no names, so that only their modules identify them. */
const char hwi_rules_runtime_modules[] = "leak:/ld-linux\n"
                                         "leak:/ld-2.\n"
                                         "leak:/libc.so.\n"
                                         "leak:/libc-2.\n"
                                         "leak:/libstdc++.so\n"
                                         "leak:/libc++.so\n"
                                         "leak:/libc++abi.so\n"
                                         "leak:/libgcc_s.so\n"
                                         "leak:/libm.so.\n"
                                         "leak:/libdl.so.\n"
                                         "leak:/libpthread.so.\n"
                                         "leak:/libheapwright-\n";
