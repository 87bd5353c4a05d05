/* name_part.h - reads a trace's name as users write it, in `record -o` and HEAPWRIGHT_OUTPUT, part by part
 *
 * %p is the process ID and %c the command without its directory. Any other byte after a '%' stands for itself, and so
 * does a '%' at the end.
 */
#ifndef HWI_BASE_NAME_PART_H
#define HWI_BASE_NAME_PART_H

enum hwi_name_part { HWI_NAME_END, HWI_NAME_BYTE, HWI_NAME_PROCESS, HWI_NAME_COMMAND };

/* Returns the part at *pattern, and moves *pattern past it. A BYTE is then the byte before *pattern. */
static inline enum hwi_name_part hwi_name_next(const char **pattern)
{
  if (!**pattern)
    return HWI_NAME_END;
  if (*(*pattern)++ != '%' || !**pattern)
    return HWI_NAME_BYTE;
  char letter = *(*pattern)++;
  return letter == 'p' ? HWI_NAME_PROCESS : letter == 'c' ? HWI_NAME_COMMAND : HWI_NAME_BYTE;
}

#endif
