/* static_program.c - functions of libc that the heap finds by weak references, so that it loads with each libc: in
 * libheapwright-heap.a, the linker must take them from the archive of libc
 */
extern const char *libc_version(void) __asm__("gnu_get_libc_version");
extern int register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
                           void *library) __asm__("__register_atfork");

void (*const hwi_needed_of_libc[])(void) __attribute__((visibility("hidden"), used)) = {
    (void (*)(void))libc_version,
    (void (*)(void))register_atfork,
};
