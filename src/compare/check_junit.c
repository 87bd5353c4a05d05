/* check_junit.c - verdicts as JUnit XML, which Jenkins, GitLab and others show with the tests
 *
 * The format has no standard. Readers expect a suite with its counts, cases with classname and name (which GitLab uses
 * as their ID), <failure> with a message and a body, and <error> for an unknown verdict. Some show only the message,
 * some only the body, so both have the figures.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/command_name.h"
#include "compare/check.h"
#include "report/content/evidence.h"
#include "report/words/line.h"
#include "report/words/style.h"

/* Writes text for an attribute or an element. Bytes that XML cannot contain (most control characters, invalid UTF-8)
 * are replaced. */
static void put_text(FILE *out, const char *text)
{
  struct hwi_line valid = {0};
  hwi_line_replace_invalid(&valid, text);
  for (const char *at = hwi_line_text(&valid); *at != '\0'; at++) {
    switch (*at) {
    case '<':
      fputs("&lt;", out);
      break;
    case '>':
      fputs("&gt;", out);
      break;
    case '&':
      fputs("&amp;", out);
      break;
    case '"':
      fputs("&quot;", out);
      break;
    case '\n':
      fputs("&#10;", out);
      break;
    default:
      fputc((unsigned char)*at < ' ' ? '?' : *at, out);
    }
  }
  hwi_line_release(&valid);
}

/* Returns the text output for one rule, which the caller frees, or NULL if there is no memory. */
static char *text_about(struct hwi_check *check, size_t number, struct hwi_error *error)
{
  char *text = NULL;
  size_t bytes = 0;
  struct hwi_style style = {.out = open_memstream(&text, &bytes), .columns = HWI_COLUMNS_DEFAULT, .utf8 = true};
  if (!style.out)
    return NULL;
  struct hwi_budgets one = {.items = check->budgets->items + number, .count = 1};
  struct hwi_check narrowed = *check;
  narrowed.budgets = &one;
  narrowed.verdicts = check->verdicts + number;
  int status = hwi_check_text(&narrowed, &style, error);
  check->frames = narrowed.frames; /* its buffers may have grown */
  if (fclose(style.out) == 0 && status == HW_OK)
    return text;
  free(text);
  return NULL;
}

static int write_case(struct hwi_check *check, size_t number, const char *class_name, FILE *out,
                      struct hwi_error *error)
{
  static const char *const elements[] = {"system-out", "failure", "error"};
  const struct hwi_verdict *verdict = &check->verdicts[number];
  char *about = text_about(check, number, error);
  if (!about)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the verdict of a rule");
  fputs("    <testcase classname=\"heapwright.", out);
  put_text(out, class_name);
  fputs("\" name=\"", out);
  put_text(out, verdict->budget->text);
  fprintf(out, "\" time=\"0\">\n      <%s", elements[verdict->state]);
  if (verdict->state != HWI_VERDICT_OK) {
    struct hwi_line message = {0};
    hwi_verdict_add_figures(&message, verdict);
    if (verdict->why)
      hwi_line_printf(&message, "; %s", verdict->why);
    fprintf(out, " type=\"%s\" message=\"", verdict->state == HWI_VERDICT_FAILED ? "budget" : "unknown");
    put_text(out, hwi_line_text(&message));
    fputs("\"", out);
    hwi_line_release(&message);
  }
  fputs(">", out);
  put_text(out, about);
  fprintf(out, "</%s>\n    </testcase>\n", elements[verdict->state]);
  free(about);
  return HW_OK;
}

int hwi_check_junit(struct hwi_check *check, FILE *out, struct hwi_error *error)
{
  const struct hwi_image *image = hwi_largest_image(check->report.profile, NULL);
  struct hwi_command_name class_name = hwi_command_name(image ? image->info->command : "");
  size_t counts[HWI_VERDICT_UNKNOWN + 1] = {0};
  for (size_t i = 0; i < check->budgets->count; i++)
    counts[check->verdicts[i].state]++;
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"heapwright check\"", out);
  fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\" time=\"0\">\n", check->budgets->count,
          counts[HWI_VERDICT_FAILED], counts[HWI_VERDICT_UNKNOWN]);
  int status = HW_OK;
  for (size_t i = 0; i < check->budgets->count && status == HW_OK; i++)
    status = write_case(check, i, class_name.text, out, error);
  fputs("  </testsuite>\n</testsuites>\n", out);
  return status;
}
