/* features.h - what glibc's elf.h needs of it */
#ifndef HWI_PLATFORM_WINDOWS_POSIX_INCLUDE_FEATURES_H
#define HWI_PLATFORM_WINDOWS_POSIX_INCLUDE_FEATURES_H

#define __BEGIN_DECLS
#define __END_DECLS

#endif
