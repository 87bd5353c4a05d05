/* handovers.c - the matrix below the ranking by thread: which threads free whose blocks, in blocks */
#include <inttypes.h>

#include "report/content/handover_matrix.h"
#include "report/text/text.h"

enum { MARGIN_CELLS = 3, NAME_CELLS = 24, COLUMN_CELLS = 13, TOTAL_CELLS = 2 * HWI_AMOUNT_CELLS };

static void add_name(struct hwi_line *line, const struct hwi_text *text, uint32_t index, size_t cells)
{
  const struct hwi_profile_thread *thread = &text->profile->threads[index];
  struct hwi_line clean = {0};
  hwi_line_clean(&clean, thread->name[0] != '\0' ? thread->name : "?");
  hwi_line_shorten(line, hwi_line_text(&clean), cells, hwi_style_ellipsis(text->style));
  hwi_line_release_part(line, &clean);
}

/* "worker (4711)", on the left. */
static void add_owner(struct hwi_text *text, uint32_t index)
{
  struct hwi_line label = {0}, number = {0};
  hwi_line_printf(&number, " (%" PRIu32 ")", text->profile->threads[index].tid);
  add_name(&label, text, index, NAME_CELLS - number.bytes);
  hwi_line_puts(&label, hwi_line_text(&number));
  hwi_line_left(&text->line, hwi_line_text(&label), NAME_CELLS);
  hwi_line_release_part(&text->line, &label);
  hwi_line_release_part(&text->line, &number);
}

static void add_rest(struct hwi_text *text, uint32_t threads, bool right)
{
  struct hwi_line label = {0};
  hwi_line_printf(&label, "%s others", hwi_count_text(threads).text);
  if (right)
    hwi_line_right(&text->line, hwi_line_text(&label), COLUMN_CELLS);
  else
    hwi_line_left(&text->line, hwi_line_text(&label), NAME_CELLS);
  hwi_line_release_part(&text->line, &label);
}

/* Prints the names above the columns, and the thread IDs below them, since the threads of a pool have the same name. */
static void print_titles(struct hwi_text *text, const struct hwi_handover_matrix *matrix)
{
  hwi_line_pad(&text->line, MARGIN_CELLS);
  hwi_line_left(&text->line, "allocated by", NAME_CELLS);
  for (uint32_t i = 0; i < matrix->freer_count; i++) {
    struct hwi_line name = {0};
    add_name(&name, text, matrix->freers[i], COLUMN_CELLS - 1);
    hwi_line_right(&text->line, hwi_line_text(&name), COLUMN_CELLS);
    hwi_line_release_part(&text->line, &name);
  }
  if (matrix->all_freers > matrix->freer_count)
    add_rest(text, matrix->all_freers - matrix->freer_count, true);
  hwi_line_right(&text->line, "in all", HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, "bytes", HWI_AMOUNT_CELLS);
  hwi_text_end(text, HWI_DIM);
  hwi_line_pad(&text->line, MARGIN_CELLS + NAME_CELLS);
  for (uint32_t i = 0; i < matrix->freer_count; i++) {
    struct hwi_line id = {0};
    hwi_line_printf(&id, "(%" PRIu32 ")", text->profile->threads[matrix->freers[i]].tid);
    hwi_line_right(&text->line, hwi_line_text(&id), COLUMN_CELLS);
    hwi_line_release_part(&text->line, &id);
  }
  hwi_text_end(text, HWI_DIM);
}

static void add_blocks(struct hwi_text *text, uint64_t blocks)
{
  hwi_line_right(&text->line, blocks > 0 ? hwi_count_text(blocks).text : "", COLUMN_CELLS);
}

static void print_row(struct hwi_text *text, const struct hwi_handover_matrix *matrix, uint32_t row)
{
  hwi_line_pad(&text->line, MARGIN_CELLS);
  if (row < matrix->owner_count)
    add_owner(text, matrix->owners[row]);
  else
    add_rest(text, matrix->all_owners - matrix->owner_count, false);
  for (uint32_t column = 0; column < matrix->freer_count; column++)
    add_blocks(text, matrix->cells[row][column].blocks);
  if (matrix->all_freers > matrix->freer_count)
    add_blocks(text, matrix->cells[row][matrix->freer_count].blocks);
  hwi_line_right(&text->line, hwi_count_text(matrix->of_owner[row].blocks).text, HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(matrix->of_owner[row].bytes).text, HWI_AMOUNT_CELLS);
  hwi_text_end(text, HWI_PLAIN);
}

void hwi_text_handovers(struct hwi_text *text)
{
  size_t used = MARGIN_CELLS + NAME_CELLS + TOTAL_CELLS + COLUMN_CELLS; /* with a column for the rest */
  size_t columns = text->style->columns > used ? (text->style->columns - used) / COLUMN_CELLS : 0;
  struct hwi_handover_matrix matrix;
  if (!hwi_handover_matrix_init(&matrix, text->profile, columns > 0 ? (uint32_t)columns : 1)) {
    text->line.failed = true;
    return;
  }
  if (matrix.all_owners <= 1 && matrix.all_freers <= 1) /* then the table above shows it */
    return;
  hwi_text_blank(text);
  hwi_line_puts(&text->line, "Blocks that another thread freed: who allocated (rows), who freed (columns)");
  hwi_text_end_wrapped(text, 2, HWI_BOLD);
  print_titles(text, &matrix);
  for (uint32_t row = 0; row < matrix.owner_count + (matrix.all_owners > matrix.owner_count); row++)
    print_row(text, &matrix, row);
}
