/* quick.cc - the same as C++ */
#include "quick.c"
