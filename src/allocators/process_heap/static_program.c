/* static_program.c - gnu_get_libc_version, by which the heap knows glibc, is a weak reference, so that the heap loads
 * with each libc: in a static program, the linker must take it from the archive of libc
 *
 * In heapwright-heap.h all is one object, in which every reference to it is weak. So this is a reference to another
 * function, which libc's archive has in the same object.
 */
extern const char *libc_release(void) __asm__("gnu_get_libc_release");

/* Never called. */
static __attribute__((used)) const char *need_libc_release(void)
{
  return libc_release();
}
