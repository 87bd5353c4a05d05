/* demangle.h - demangles the symbol names of compilers */
#ifndef HWI_SYMBOLS_DEMANGLE_H
#define HWI_SYMBOLS_DEMANGLE_H

/* Returns the C++, Rust or D name of a symbol, without the return type of a template, without Rust's hash, without the
 * suffix of a clone (.cold, .part.0, .constprop.0) and without a symbol version (@GLIBC_2.2.5). A name that is not
 * mangled is copied. The caller frees the result. Returns NULL if there is no memory. Thread-safe. */
char *hwi_demangle(const char *name);

#endif
