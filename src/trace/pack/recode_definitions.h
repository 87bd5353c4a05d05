/* recode_definitions.h - converts the definitions of a section to columns: the packer's side */
#ifndef HWI_TRACE_PACK_RECODE_DEFINITIONS_H
#define HWI_TRACE_PACK_RECODE_DEFINITIONS_H

#include "trace/decode.h"
#include "trace/pack/recode_columns.h"
#include "trace/pack/recode_common.h"
#include "trace/pack/recode_table.h"

/* All zero: nothing is allocated yet. */
struct hwi_definitions_out {
  struct hwi_columns_out *out;
  bool failed;          /* no memory */
  uint32_t last_number; /* of a definition */
  struct hwi_pc *pcs;   /* [HWI_PC_FIRST, pc_count) */
  size_t pc_count, pc_room;
  struct hwi_recode_table of_pc;
  uint32_t last_pc;
};

/* Begins a section. Returns false if there is no memory. */
bool hwi_definitions_out_begin(struct hwi_definitions_out *definitions, struct hwi_columns_out *out);
void hwi_definitions_out_release(struct hwi_definitions_out *definitions);

/* Returns a sink that takes definitions as they are decoded; `definitions` must outlive it. */
struct hwi_definition_sink hwi_definitions_out_sink(struct hwi_definitions_out *definitions);

#endif
