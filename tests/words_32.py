"""words_32.py - how programs with words of 32 bits are compiled, and whether the kernel runs them"""

import errno

# <asm/...> is found there. Debian's gcc-multilib has a link to it, but excludes all compilers for other processors.
FLAGS = ("-m32", "-idirafter", "/usr/include/x86_64-linux-gnu")

ELF_32 = b"\x7fELF\x01"


def are_refused(error):
    """Returns whether a program of 32 bits was not executed, because the kernel was built or started without them."""
    if not isinstance(error, OSError) or error.errno != errno.ENOEXEC:
        return False
    with open(error.filename, "rb") as program:
        return program.read(len(ELF_32)) == ELF_32
