/* operator_plan.h - which operators new and delete use our own loop over malloc, and which are another library's
 *
 * Every operator has a mode, chosen when the real functions are found:
 *
 *   own      the standard's own loop over the real malloc, reported under the operator's entry. The usual case.
 *   foreign  a library after us, which is neither the C++ runtime nor the one that malloc comes from, defines the
 *            operator. It is called and reported; the one malloc or free that it calls for this block is not reported.
 *   aside    the next library's operator is called and nothing is reported: it leads to an operator that is.
 *
 * aside is for two cases. First, the program itself replaces an operator: the standard lets it replace one operator,
 * and the others then call that one, but only the C++ runtime's operators do so. Second, in a family with a foreign
 * operator, the operators that the foreign library does not define: the runtime's definitions call our entry point of
 * the foreign operator.
 */
#ifndef HWI_RECORD_RUNTIME_OPERATOR_PLAN_H
#define HWI_RECORD_RUNTIME_OPERATOR_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "record/runtime/real.h"

enum hwi_operator_mode { HWI_OPERATOR_OWN = 0, HWI_OPERATOR_FOREIGN, HWI_OPERATOR_ASIDE };

extern __attribute__((visibility("hidden"))) uint8_t hwi_operator_modes[HW_ENTRY_COUNT];

/* Some operator is foreign: each malloc and free must be checked with hwi_operator_holds_*. */
extern __attribute__((visibility("hidden"))) bool hwi_operators_hold;

/* Chooses the modes. `next` are the real functions, before they are published. */
void hwi_operators_plan(hwi_function *const next[]);

#endif
