/* dirent.h - folders (platform/windows/posix/files.c) */
#ifndef HWI_PLATFORM_WINDOWS_POSIX_INCLUDE_DIRENT_H
#define HWI_PLATFORM_WINDOWS_POSIX_INCLUDE_DIRENT_H

#define DIR struct hwi_windows_folder
#define dirent hwi_windows_entry
#define opendir hwi_windows_opendir
#define readdir hwi_windows_readdir
#define closedir hwi_windows_closedir

#endif
