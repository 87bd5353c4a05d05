/* rules.h - the shipped lists: what frames say nothing, and what blocks are the runtime's own; see pattern.h for the syntax */
#ifndef HWI_REPORT_INPUT_RULES_H
#define HWI_REPORT_INPUT_RULES_H

extern const char hwi_rules_wrappers[];        /* functions that only pass an allocation on */
extern const char hwi_rules_libraries[];       /* functions that do what a caller wants, and are not his own */
extern const char hwi_rules_library_modules[]; /* modules whose unnamed functions are such */
extern const char hwi_rules_starts[];          /* functions below main and below a thread's own function */
extern const char hwi_rules_start_modules[];   /* modules whose unnamed outermost frames are such */
extern const char hwi_rules_runtime[];         /* functions and modules whose own blocks are the runtime's */
extern const char hwi_rules_runtime_modules[]; /* a stack that never leaves these modules is the runtime's */

#endif
