/* operator_plan.h - which operators new and delete are our own loop over malloc, and which are another library's
 *
 * Every operator has a mode, chosen when the real functions are found:
 *
 *   own      the standard's own loop over the real malloc, reported under the operator's entry. The usual case.
 *   foreign  a library behind us, which is neither the C++ runtime nor the one that malloc comes from, defines the operator.
 *            It is called and reported; the one malloc or free that it makes for this block is held back.
 *   aside    the next library's operator is called and nothing is reported: it leads to an operator that is.
 *
 * aside serves two cases. The program itself replaces an operator ahead of us: the standard lets it replace one and have
 * the others call that one, which only the C++ runtime's do. And in a family with a foreign operator those that the
 * foreign library does not define: the runtime's call ours for the one that it does.
 */
#ifndef HWI_RECORD_OPERATOR_PLAN_H
#define HWI_RECORD_OPERATOR_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "record/real.h"

enum hwi_operator_mode { HWI_OPERATOR_OWN = 0, HWI_OPERATOR_FOREIGN, HWI_OPERATOR_ASIDE };

extern __attribute__((visibility("hidden"))) uint8_t hwi_operator_modes[HW_ENTRY_COUNT];

/* Some operator is foreign: mallocs and frees have to be asked for with hwi_operator_holds_*. */
extern __attribute__((visibility("hidden"))) bool hwi_operators_hold;

/* Chooses the modes. `next` are the real functions, before they are published. */
void hwi_operators_plan(hwi_function *const next[]);

#endif
