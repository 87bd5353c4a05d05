/* core_blocks.h - members of JSON objects about blocks and places of a core dump */
#ifndef HWI_REPORT_JSON_CORE_BLOCKS_H
#define HWI_REPORT_JSON_CORE_BLOCKS_H

#include "report/content/core_blocks.h"
#include "report/json/json.h"

/* Write into the object begun last: the address, size, state and names of a block; the name of a place. */
void hwi_json_core_block_members(struct hwi_json *json, const struct hwi_core_question *question, uint32_t block);
void hwi_json_core_place(struct hwi_json *json, const struct hwi_core_question *question,
                         const struct hwi_core_place *place);

/* Writes the object of a block. */
void hwi_json_core_block(struct hwi_json *json, const char *key, const struct hwi_core_question *question,
                         uint32_t block);

/* Ends the document. Returns `status`, or HW_ERR_MEMORY if it is not complete. */
int hwi_json_core_finish(struct hwi_json *json, int status, struct hwi_error *error);

#endif
