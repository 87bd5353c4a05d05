"""words_32.py - how programs with words of 32 bits are compiled"""

# <asm/...> is found there. Debian's gcc-multilib has a link to it, but excludes all compilers for other processors.
FLAGS = ("-m32", "-idirafter", "/usr/include/x86_64-linux-gnu")
