/* core_around.c - what is around an address in a core dump, as text */
#include "report/content/core_around.h"

#include <inttypes.h>
#include <string.h>

#include "report/words/number.h"

/* What is printed, and where. */
struct printing {
  const struct hwi_core_question *question;
  const struct hwi_core_around *around;
  const struct hwi_style *style;
  struct hwi_line line;
};

static void end(struct printing *printing)
{
  fprintf(printing->style->out, "%s\n", hwi_line_text(&printing->line));
  hwi_line_clear(&printing->line);
}

static const struct hwi_core_block *block_at(const struct printing *printing, uint32_t block)
{
  return &printing->question->graph->heap->blocks[block];
}

/* --- the address --- */

static void print_place(struct printing *printing)
{
  const struct hwi_core_around *around = printing->around;
  const struct hwi_core_place *place = &around->place;
  struct hwi_line *line = &printing->line;
  if (place->block != HWI_NO_BLOCK) {
    hwi_line_printf(line, "%#" PRIx64 " is at +%#" PRIx64 " of the block %#" PRIx64 ": ", place->address, place->off,
                    place->address - place->off);
    hwi_core_block_add(line, printing->question, place->block);
  } else if (around->behind != HWI_NO_BLOCK) {
    const struct hwi_core_block *block = block_at(printing, around->behind);
    hwi_line_printf(line, "%#" PRIx64 " is %" PRIu64 " bytes behind the end of the block %#" PRIx64 ": ",
                    place->address, place->address - hwi_core_block_end(block), block->address);
    hwi_core_block_add(line, printing->question, around->behind);
  } else {
    hwi_line_printf(line, "0x%" PRIx64 " is in no block: ", place->address);
    hwi_core_question_add_place(line, printing->question, place);
  }
  end(printing);
}

/* What the thread did that got the signal, and where the address comes from. */
static void print_crash(struct printing *printing)
{
  const struct hwi_core_around *around = printing->around;
  const struct hwi_core_names *names = &printing->question->names;
  const struct hwi_memory *memory = printing->question->graph->memory;
  const struct hwi_symbol *function = hwi_core_crash_function(&around->crash, names);
  struct hwi_line *line = &printing->line;
  if (!around->is_fault && !printing->question->is_about_crash)
    return;
  hwi_line_printf(line, "Thread %" PRIu32 " ", memory->threads[0].tid);
  hwi_core_crash_add_cause(line, &around->crash, memory);
  if (function) {
    hwi_line_puts(line, "; it was in ");
    hwi_core_function_add(line, function);
  }
  hwi_line_puts(line, ".");
  end(printing);
  if (!around->is_found)
    return;
  hwi_line_puts(line, "The address is in ");
  hwi_core_question_add_place(line, printing->question, &around->from);
  hwi_line_puts(line, ".");
  end(printing);
}

static void print_verdict(struct printing *printing)
{
  const struct hwi_core_around *around = printing->around;
  const bool is_free = around->place.kind == HWI_CORE_PLACE_FREED;
  struct hwi_line *line = &printing->line;
  if (around->is_poison) {
    hwi_line_puts(line, "It is made of the poison of freed blocks: a use after free.");
  } else if (is_free) {
    hwi_line_puts(line, "The block is free");
    if (around->list)
      hwi_line_printf(line, ", in %s", around->list);
    if (hwi_core_around_is_use_after_free(around))
      hwi_line_puts(line, ": an access to it is a use after free");
    else if (!around->is_freed)
      hwi_line_puts(line, ": an access to it is a use after free, or beyond the end of a block");
    hwi_line_puts(line, ".");
  } else if (around->is_from_freed && around->crash.cause != HWI_CRASH_OVERFLOW &&
             around->crash.cause != HWI_CRASH_NULL) {
    hwi_line_puts(line, "A register refers to a freed block (see below): it may be a use after free.");
  } else {
    return;
  }
  end(printing);
}

/* --- damage --- */

static void print_suspect(struct printing *printing, uint32_t suspect)
{
  const struct hwi_core_block *block = block_at(printing, suspect);
  const struct hwi_memory *memory = printing->question->graph->memory;
  const uint64_t block_end = hwi_core_block_end(block);
  const uint64_t shown =
      hwi_core_block_bytes(block) < HWI_AROUND_BYTES ? hwi_core_block_bytes(block) : HWI_AROUND_BYTES;
  struct hwi_line *line = &printing->line;
  hwi_line_printf(line, "    probably by the owner of the block before it, %#" PRIx64 ": ", block->address);
  hwi_core_block_add(line, printing->question, suspect);
  end(printing);
  hwi_line_puts(line, "    its last bytes, and those after its end: ");
  hwi_core_around_add_bytes(line, memory, block_end - shown, shown);
  hwi_line_puts(line, " | ");
  hwi_core_around_add_bytes(line, memory, block_end, HWI_AROUND_BYTES);
  end(printing);
}

static void print_damages(struct printing *printing)
{
  const struct hwi_core_around *around = printing->around;
  if (around->damage_count)
    fputs("\nDamage near it:\n", printing->style->out);
  for (size_t i = 0; i < around->damage_count; i++) {
    const struct hwi_around_damage *damage = &around->damages[i];
    hwi_line_printf(&printing->line, "  at %#" PRIx64 ": %s", damage->damage->address, damage->damage->text);
    end(printing);
    if (damage->suspect != HWI_NO_BLOCK && (i + 1 == around->damage_count || damage[1].suspect != damage->suspect))
      print_suspect(printing, damage->suspect);
  }
}

/* --- blocks --- */

/* Prints what is between two blocks: damage, and the address. */
static void print_gap(struct printing *printing, uint64_t begin, uint64_t block_end)
{
  const struct hwi_core_around *around = printing->around;
  const struct hwi_core_place *place = &around->place;
  for (size_t i = 0; i < around->damage_count; i++) {
    const uint64_t address = around->damages[i].damage->address;
    if (address > begin && address < block_end && (i == 0 || address != around->damages[i - 1].damage->address)) {
      hwi_line_printf(&printing->line, "! %#" PRIx64 "  damage", address);
      end(printing);
    }
  }
  if (place->block == HWI_NO_BLOCK && place->address > begin && place->address < block_end) {
    hwi_line_printf(&printing->line, "> %#" PRIx64 "  (in no block)", place->address);
    end(printing);
  }
}

static void print_block(struct printing *printing, uint32_t block)
{
  const struct hwi_core_block *of = block_at(printing, block);
  const uint64_t bytes = hwi_core_block_bytes(of);
  const bool is_asked = block == printing->around->place.block;
  hwi_line_printf(&printing->line, "%s %#" PRIx64 "  ", is_asked ? ">" : " ", of->address);
  hwi_core_block_add(&printing->line, printing->question, block);
  hwi_line_puts(&printing->line, ": ");
  hwi_core_around_add_bytes(&printing->line, printing->question->graph->memory, of->address,
                            bytes < HWI_AROUND_BYTES ? bytes : HWI_AROUND_BYTES);
  end(printing);
}

static void print_blocks(struct printing *printing)
{
  const struct hwi_core_around *around = printing->around;
  uint64_t printed = 0;
  if (around->first == around->end)
    return;
  fputs("\nBlocks around it, with their first bytes:\n", printing->style->out);
  for (uint32_t block = around->first; block < around->end; block++) {
    print_gap(printing, printed, block_at(printing, block)->address);
    print_block(printing, block);
    printed = block_at(printing, block)->address;
  }
  print_gap(printing, printed, UINT64_MAX);
}

/* --- registers --- */

static void print_register(struct printing *printing, const struct hwi_around_register *found)
{
  const struct hwi_memory *memory = printing->question->graph->memory;
  const char *name = hwi_core_register_name(&memory->threads[0], found->reg);
  struct hwi_line *line = &printing->line;
  hwi_line_printf(line, "  %-8s %#" PRIx64 ": ", name ? name : "?", found->value);
  if (found->kind == HWI_AROUND_POISON) {
    hwi_line_puts(line, "the poison of freed blocks: a use after free");
  } else if (found->kind == HWI_AROUND_TEXT) {
    hwi_line_printf(line, "text, no address: \"%.8s\"", (const char *)&found->value);
  } else {
    const struct hwi_core_block *block = block_at(printing, found->block);
    const bool is_in = found->kind == HWI_AROUND_IN_BLOCK;
    const uint64_t off = found->value - (is_in ? block->address : hwi_core_block_end(block));
    hwi_line_printf(line, is_in ? "at +%#" PRIx64 " of %#" PRIx64 ": " : "%" PRIu64 " bytes behind %#" PRIx64 ": ", off,
                    block->address);
    hwi_core_block_add(line, printing->question, found->block);
    if (found->list)
      hwi_line_printf(line, ", in %s", found->list);
  }
  end(printing);
}

static void print_registers(struct printing *printing)
{
  const struct hwi_core_around *around = printing->around;
  const struct hwi_memory *memory = printing->question->graph->memory;
  if (!around->register_count)
    return;
  fprintf(printing->style->out, "\nRegisters of thread %" PRIu32 " that refer to blocks", memory->threads[0].tid);
  if (memory->signal && sigabbrev_np(memory->signal))
    fprintf(printing->style->out, " (it got SIG%s)", sigabbrev_np(memory->signal));
  fputs(":\n", printing->style->out);
  for (size_t i = 0; i < around->register_count; i++)
    print_register(printing, &around->registers[i]);
}

int hwi_core_around_text(const struct hwi_core_question *question, uint64_t address, const struct hwi_style *style,
                         struct hwi_error *error)
{
  struct hwi_core_around around;
  struct printing printing = {question, &around, style, {0}};
  hwi_core_around_find(&around, question, address);
  print_place(&printing);
  print_crash(&printing);
  print_verdict(&printing);
  print_damages(&printing);
  print_blocks(&printing);
  print_registers(&printing);
  const bool failed = printing.line.failed;
  hwi_line_release(&printing.line);
  return failed ? hwi_error_set(error, HW_ERR_MEMORY, "no memory: the answer is not complete") : 0;
}
