/* rules.h - the built-in lists: frames of no interest, and the runtime's own blocks; see pattern.h for the syntax */
#ifndef HWI_REPORT_INPUT_RULES_H
#define HWI_REPORT_INPUT_RULES_H

extern const char hwi_rules_wrappers[];        /* functions that only pass an allocation on */
extern const char hwi_rules_libraries[];       /* functions of libraries, which work for the program's own functions */
extern const char hwi_rules_library_modules[]; /* modules whose unnamed functions belong to libraries */
extern const char hwi_rules_starts[];          /* callers of main and of a thread's own function */
extern const char hwi_rules_start_modules[];   /* modules whose unnamed outermost frames are such callers */
extern const char hwi_rules_runtime[];         /* functions and modules whose own blocks are the runtime's */
extern const char hwi_rules_runtime_modules[]; /* a stack that never leaves these modules is the runtime's */

#endif
