/* cmd_test.c - heapwright test: does a malloc replacement keep malloc's contract? */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/answer.h"
#include "cli/command.h"
#include "launch/start/allocator.h"
#include "launch/start/conform.h"
#include "report/json/json.h"

#define SCHEMA "heapwright-test/1"

struct values {
  struct hwi_answer answer;
  struct hwi_texts rules;
  bool list;
  uint64_t timeout_ns;
};

enum { TIMEOUT_SECONDS = 20 };
static const uint64_t SECOND_NS = 1000000000;

static const struct values defaults = {.answer = HWI_ANSWER_DEFAULTS};

static const struct hwi_option options[] = {
    {.name = "rule",
     HWI_VALUE(TEXTS, rules),
     .value = "PATTERN",
     .help = "only rules with such a name (with * and ?); may be given again"},
    {.name = "list", HWI_VALUE(ON, list), .help = "list the rules without testing"},
    {.name = "timeout",
     HWI_VALUE(DURATION, timeout_ns),
     .value = "T",
     .help = "how long a rule may take, or six times that while it computes (default: 20s)"},
    HWI_ANSWER_OPTIONS(answer),
    {.name = NULL},
};

/* The list being printed, and how many rules had each result. */
struct listing {
  FILE *out;
  struct hwi_json json;
  bool is_json;
  unsigned counts[HWI_CONFORM_UNTRIED + 1];
};

static const char *const words[] = {[HWI_CONFORM_KEPT] = "ok",
                                    [HWI_CONFORM_DIFFERS] = "differs",
                                    [HWI_CONFORM_BROKEN] = "FAILED",
                                    [HWI_CONFORM_UNTRIED] = "untried"};
static const char *const json_words[] = {[HWI_CONFORM_KEPT] = "kept",
                                         [HWI_CONFORM_DIFFERS] = "differs",
                                         [HWI_CONFORM_BROKEN] = "broken",
                                         [HWI_CONFORM_UNTRIED] = "untried"};

static bool is_chosen(const struct values *values, const struct hwi_conform_rule *rule)
{
  for (size_t i = 0; i < values->rules.count; i++)
    if (fnmatch(values->rules.items[i], rule->name, 0) == 0)
      return true;
  return values->rules.count == 0;
}

/* --- printing --- */

static void print_rule(struct listing *listing, const struct hwi_conform_rule *rule,
                       const struct hwi_conform_outcome *outcome)
{
  if (!listing->is_json) {
    fprintf(listing->out, "%-8s %-22s %s\n", words[outcome->result], rule->name, rule->promise);
    if (*outcome->text)
      fprintf(listing->out, "%-8s %-22s %s\n", "", "", outcome->text);
    fflush(listing->out);
    return;
  }
  hwi_json_begin_object(&listing->json, NULL);
  hwi_json_text(&listing->json, "rule", rule->name);
  hwi_json_text(&listing->json, "promise", rule->promise);
  hwi_json_bool(&listing->json, "practice", rule->is_practice);
  hwi_json_text(&listing->json, "result", json_words[outcome->result]);
  hwi_json_text(&listing->json, "text", *outcome->text ? outcome->text : NULL);
  hwi_json_number(&listing->json, "duration_ns", outcome->duration_ns);
  hwi_json_end_object(&listing->json);
}

static void begin_listing(struct listing *listing, const char *library)
{
  const char *name = library ? library : "(no program starts with it)";
  if (!listing->is_json) {
    fprintf(listing->out, "malloc of %s\n\n", name);
    return;
  }
  listing->json = (struct hwi_json){.out = listing->out, .first = true};
  hwi_json_begin_object(&listing->json, NULL);
  hwi_json_text(&listing->json, "schema", SCHEMA);
  hwi_json_text(&listing->json, "library", library);
  hwi_json_begin_array(&listing->json, "rules");
}

static void end_listing(struct listing *listing)
{
  if (!listing->is_json) {
    fprintf(listing->out, "\n%u kept, %u broken", listing->counts[HWI_CONFORM_KEPT],
            listing->counts[HWI_CONFORM_BROKEN]);
    if (listing->counts[HWI_CONFORM_DIFFERS])
      fprintf(listing->out, ", %u otherwise than glibc", listing->counts[HWI_CONFORM_DIFFERS]);
    if (listing->counts[HWI_CONFORM_UNTRIED])
      fprintf(listing->out, ", %u could not be tried", listing->counts[HWI_CONFORM_UNTRIED]);
    fputc('\n', listing->out);
    return;
  }
  hwi_json_end_array(&listing->json);
  for (int result = HWI_CONFORM_KEPT; result <= HWI_CONFORM_UNTRIED; result++)
    hwi_json_number(&listing->json, json_words[result], listing->counts[result]);
  hwi_json_end_object(&listing->json);
  fputc('\n', listing->out);
}

/* --- the command --- */

static int try_rules(const struct values *values, const char *preload, struct listing *listing)
{
  uint64_t timeout_ns = values->timeout_ns;
  unsigned seconds = timeout_ns ? (unsigned)((timeout_ns + SECOND_NS - 1) / SECOND_NS) : TIMEOUT_SECONDS;
  for (size_t i = 0; i < hwi_conform_rule_count; i++) {
    struct hwi_conform_outcome outcome;
    struct hwi_error error = {0};
    if (!is_chosen(values, &hwi_conform_rules[i]))
      continue;
    if (hwi_conform_try(&hwi_conform_rules[i], preload, seconds, &outcome, &error) < 0)
      return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
    listing->counts[outcome.result]++;
    print_rule(listing, &hwi_conform_rules[i], &outcome);
  }
  return listing->counts[HWI_CONFORM_BROKEN] ? HWI_EXIT_NO : HWI_EXIT_OK;
}

static int test(const struct values *values, const char *preload, const char *library)
{
  struct hwi_answer_file file;
  int status = hwi_answer_open(&file, values->answer.path);
  if (status != 0)
    return status;
  struct listing listing = {.out = file.out, .is_json = values->answer.format == HWI_FORMAT_JSON};
  begin_listing(&listing, library);
  status = try_rules(values, preload, &listing);
  if (status != HWI_EXIT_TROUBLE)
    end_listing(&listing);
  int written = hwi_answer_close(&file, status == HWI_EXIT_NO ? HWI_EXIT_OK : status);
  return written != HWI_EXIT_OK ? written : status;
}

static int list_rules(const struct values *values)
{
  for (size_t i = 0; i < hwi_conform_rule_count; i++)
    if (is_chosen(values, &hwi_conform_rules[i]))
      printf("%-22s %s%s\n", hwi_conform_rules[i].name, hwi_conform_rules[i].promise,
             hwi_conform_rules[i].is_practice ? " (glibc's practice)" : "");
  return HWI_EXIT_OK;
}

static bool some_rule_is_chosen(const struct values *values)
{
  for (size_t i = 0; i < hwi_conform_rule_count; i++)
    if (is_chosen(values, &hwi_conform_rules[i]))
      return true;
  return false;
}

static int run(const void *given, int word_count, char **names)
{
  struct values values = *(const struct values *)given;
  struct hwi_error error = {0};
  char *preload = NULL, *library = NULL, *printed = NULL;
  int status = hwi_answer_check(&values.answer);
  if (status != 0)
    return status;
  if (word_count > 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "test takes one LIBRARY, or none for the malloc of libc; '%s' is one too many",
                    names[1]);
  if (!some_rule_is_chosen(&values))
    return hwi_fail(HWI_EXIT_TROUBLE, "no rule is called '%s'; 'heapwright test --list' lists them",
                    values.rules.items[0]);
  if (values.list)
    return list_rules(&values);
  if ((word_count == 1 && hwi_allocator_find(&preload, names[0], &error) < 0) ||
      hwi_allocator_provider(&library, &printed, preload, &error) < 0)
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  else if (preload && !hwi_allocator_is_loaded(preload, &error))
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s: %s", names[0], *error.text ? error.text : "the loader does not take it");
  else {
    if (printed && *printed) /* perhaps that a setting is wrong, and another one is tested than was meant */
      hwi_warn("with %s, a program that does nothing prints on stderr: %s", library, printed);
    status = test(&values, preload, library);
  }
  free(preload);
  free(library);
  free(printed);
  return status;
}

const struct hwi_command hwi_command_test = {
    .name = "test",
    .summary = "does a malloc replacement keep malloc's contract?",
    .usage = "[options] [LIBRARY]",
    .details =
        "LIBRARY is a file, a name that the dynamic loader finds, or tlsf, heap, jemalloc, tcmalloc, mimalloc or tbb;\n"
        "without one the malloc of libc is tried. Each rule runs in a process of its own: a crash or a hang has a name.\n"
        "Where a rule is only glibc's practice, another behaviour is reported, but is no failure.\n"
        "Exits with 1 when a rule is broken.\n"
        "\n"
        "examples:\n"
        "  heapwright test ./libmine.so\n"
        "  heapwright test --rule 'fork*' --timeout 60s jemalloc\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
