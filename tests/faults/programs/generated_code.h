/* generated_code.h - functions without unwind tables, to copy into pages: each calls its first argument with its second */
#if defined __x86_64__
static const unsigned char
    /* push rbp; mov rbp, rsp; mov rax, rdi; mov rdi, rsi; call rax; pop rbp; ret */
    code_with_pointer[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3},
    /* sub rsp, 8; mov rax, rdi; mov rdi, rsi; call rax; add rsp, 8; ret */
    code_without[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x89, 0xf8, 0x48, 0x89,
                      0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3},
    /* the third argument in place of the frame pointer: push rbp; mov rbp, rdx; mov rax, rdi; mov rdi, rsi; call rax; pop rbp; ret */
    code_of_pointer[] = {0x55, 0x48, 0x89, 0xd5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
#elif defined __aarch64__
static const unsigned
    /* stp x29, x30, [sp, -16]!; mov x29, sp; mov x3, x0; mov x0, x1; blr x3; ldp x29, x30, [sp], 16; ret */
    code_with_pointer[] = {0xa9bf7bfd, 0x910003fd, 0xaa0003e3, 0xaa0103e0, 0xd63f0060, 0xa8c17bfd, 0xd65f03c0},
    /* str x30, [sp, -16]!; mov x3, x0; mov x0, x1; blr x3; ldr x30, [sp], 16; ret */
    code_without[] = {0xf81f0ffe, 0xaa0003e3, 0xaa0103e0, 0xd63f0060, 0xf84107fe, 0xd65f03c0},
    /* the first, with mov x29, x2 */
    code_of_pointer[] = {0xa9bf7bfd, 0xaa0203fd, 0xaa0003e3, 0xaa0103e0, 0xd63f0060, 0xa8c17bfd, 0xd65f03c0};
#endif

#include <string.h>

static inline void copy_code(void *to, const void *code, size_t bytes)
{
  memcpy(to, code, bytes);
  __builtin___clear_cache((char *)to, (char *)to + bytes);
}
