/* version.h - the one place where the version is written; the build system reads it from here */
#ifndef HWI_BASE_VERSION_H
#define HWI_BASE_VERSION_H

#define HWI_VERSION "0.1.0"

#endif
