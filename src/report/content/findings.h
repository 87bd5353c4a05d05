/* findings.h - what stands out in a profile: facts that an engineer would point at, if there are any
 *
 * finding    a fact with its figures, and the stack or thread that it is about.
 * advice     a finding that names a change, with what it would save in this run.
 */
#ifndef HWI_REPORT_CONTENT_FINDINGS_H
#define HWI_REPORT_CONTENT_FINDINGS_H

#include "report/report.h"

enum hwi_finding_kind {
  HWI_FINDING_FORBIDDEN = 0, /* allocations and frees in a forbidden zone; the first: instance, time (ns) */
  HWI_FINDING_GROWTH,        /* bytes per hour, since when (ns), bytes never freed */
  HWI_FINDING_REAL_TIME,     /* allocations and frees of the thread after its first second */
  HWI_FINDING_WARM_UP,       /* instances of the scope: all, that allocate, before the first that does not, the last */
  HWI_FINDING_FAILED,        /* calls of the run */
  HWI_FINDING_GIANT,         /* bytes of the block */
  HWI_FINDING_RSS_GAP,       /* resident bytes: beyond the requested bytes, all, of the largest part; time (ns) */
  HWI_FINDING_SLACK, /* bytes of rounding at the peak; of the size with most rounding: size, usable size, blocks */
  HWI_FINDING_CHURN, /* temporary calls of the run, and of the stack */
  HWI_FINDING_FOREIGN_FREES, /* frees by the thread of other threads' blocks, all such frees in the run */
  HWI_FINDING_RESERVE,       /* advice: reallocs and copied bytes saved; final sizes: median, largest */
  HWI_FINDING_CONTAINER,     /* the same for containers; an estimate */
  HWI_FINDING_ARENA,         /* advice: allocations (as many frees) saved, blocks, generations, bytes of the largest */
  HWI_FINDING_INLINE_BUFFER, /* advice: calls saved, the largest block */
  HWI_FINDING_KINDS
};

enum { HWI_FINDING_FIGURES = 4, HWI_FINDINGS_MAX = 8 };

struct hwi_finding {
  enum hwi_finding_kind kind;
  uint32_t stack;  /* of the profile; 0: none */
  uint32_t thread; /* of the profile, if the kind is about one */
  uint32_t scope;  /* path of the profile; 0: none */
  uint64_t figures[HWI_FINDING_FIGURES];
  const char *part; /* of an RSS gap: the name of its largest part in JSON (free_bytes, ...); else NULL */
};

struct hwi_findings {
  struct hwi_finding items[HWI_FINDINGS_MAX]; /* by kind, then the largest first */
  uint32_t count;
};

/* Looks for all kinds of findings, HWI_FINDINGS_MAX at most. */
void hwi_findings_find(struct hwi_findings *findings, const struct hwi_profile *profile);

/* Returns "FIFO" or the like; NULL if the policy is not a real-time one. */
const char *hwi_real_time_policy(uint8_t policy);

#endif
