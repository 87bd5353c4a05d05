/* demangle.h - the names that compilers make, as their users wrote them */
#ifndef HWI_SYMBOLS_DEMANGLE_H
#define HWI_SYMBOLS_DEMANGLE_H

/* The C++, Rust or D name behind a symbol, without the return type of a template, without Rust's hash and without what the
 * compiler appends to a clone (.cold, .part.0, .constprop.0); a symbol version (@GLIBC_2.2.5) goes too. A name that is not
 * mangled is copied. The caller frees it. NULL: no memory. Thread-safe. */
char *hwi_demangle(const char *name);

#endif
