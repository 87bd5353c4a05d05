/* number.h - numbers as a report prints them: with commas between thousands, and decimal units (MB = 10^6) */
#ifndef HWI_REPORT_WORDS_NUMBER_H
#define HWI_REPORT_WORDS_NUMBER_H

#include <stdint.h>

/* Room for any number as text. It is a struct so that the functions can be used in an argument list. */
struct hwi_number {
  char text[32];
};

struct hwi_number hwi_count_text(uint64_t count);                  /* 12,481,903 */
struct hwi_number hwi_bytes_text(uint64_t bytes);                  /* 0, 9,999 B, 10.0 kB, 412.6 MB */
struct hwi_number hwi_binary_bytes_text(uint64_t bytes);           /* 512 KiB, 1 MiB; if it is no such size, 9,999 B */
struct hwi_number hwi_signed_bytes_text(int64_t bytes);            /* +0, -9,999 B */
struct hwi_number hwi_rate_text(uint64_t count, uint64_t ns);      /* 20,720/s; "" if the time is 0 */
struct hwi_number hwi_byte_rate_text(uint64_t bytes, uint64_t ns); /* 69.4 MB/s */
struct hwi_number hwi_share_text(uint64_t part, uint64_t whole);   /* 36.1 %, <0.1 %; "" if the whole is 0 */
struct hwi_number hwi_time_text(uint64_t ns);                      /* 12.3 ms, 602.4 s, 3 h 12 min */
struct hwi_number hwi_short_time_text(uint64_t ns); /* 84 ns, 1.25 us, 12.5 us, 125 us, 2.06 ms: 7 cells */

#endif
