/* config.h - the fields of a general heap's config as a table: for the checks, the variables, config files, and what
 * is printed
 *
 * field   a member of struct hw_heap_config that text can set. It has one name in C, in errors and in a config file;
 * the variable is HEAPWRIGHT_HEAP_ and this name in upper case.
 */
#ifndef HWI_ALLOCATORS_HEAP_CONFIG_H
#define HWI_ALLOCATORS_HEAP_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "heapwright/heap.h"

enum hwi_heap_field_kind {
  HWI_FIELD_LIST,   /* of numbers */
  HWI_FIELD_NUMBER, /* size_t */
  HWI_FIELD_WORD,   /* an enum */
  HWI_FIELD_FLAG,   /* bool */
};

struct hwi_heap_field {
  const char *name;
  const char *variable;
  enum hwi_heap_field_kind kind;
  size_t offset;            /* in struct hw_heap_config */
  const char *count_name;   /* of a list: the member that has its length, */
  size_t count_offset;      /* and where it is */
  const char *text_rule;    /* what its text must be; NULL: as `rule` */
  const char *default_text; /* another word for `default`; NULL: none */
  size_t least, most;   /* of each number in a list, and of a number that is not the default. Least 0: 0 is a value */
  size_t step;          /* it must be a multiple of this, */
  bool is_power_of_two; /* and perhaps a power of two */
  size_t bias;          /* the number in C is that in text and this */
  const char *const *words; /* in text, from the one of value 0 on, ended by NULL */
  const char *rule;         /* what a value must be */
};

enum { HWI_HEAP_FIELDS = 16, HWI_HEAP_LISTS = 3 }; /* the lists come first */

extern const struct hwi_heap_field hwi_heap_fields[HWI_HEAP_FIELDS]
    __attribute__((visibility("hidden"))); /* fields.c */

/* What the text of a field must be. */
static inline const char *hwi_heap_field_text_rule(const struct hwi_heap_field *field)
{
  return field->text_rule ? field->text_rule : field->rule;
}

/* What the names of the heap's variables begin with; only that of check_all_frees does not. */
#define HWI_HEAP_PREFIX "HEAPWRIGHT_HEAP_"

/* The variables that no field has. */
#define HWI_HEAP_CONFIG_VARIABLE "HEAPWRIGHT_HEAP_CONFIG"
#define HWI_HEAP_LIBC_VARIABLE "HEAPWRIGHT_HEAP_LIBC"

/* Returns whether NAME=VALUE looks like a variable of the heap, by its name, but is none. */
bool hwi_heap_variable_is_unknown(const char *variable);

/* Returns the variable that is meant if an unknown one is that of another prefix, such as HEAPWRIGHT_HEAP_CHECK; or
 * NULL. */
const char *hwi_heap_variable_meant(const char *variable);

/* Returns what a config has in a field: of a list, its numbers, or NULL, and how many there are; of others, the
 * value. */
const size_t *hwi_heap_field_list(const struct hw_heap_config *config, const struct hwi_heap_field *field);
size_t hwi_heap_field_count(const struct hw_heap_config *config, const struct hwi_heap_field *field);
size_t hwi_heap_field_value(const struct hw_heap_config *config, const struct hwi_heap_field *field);

/* Returns the field of this name, or of this variable, or NULL. */
const struct hwi_heap_field *hwi_heap_field_find(const char *name);

/* Returns false if a field is wrong, or does not go with another, and fills *error unless it is NULL. */
bool hwi_heap_config_check(const struct hw_heap_config *config, struct hw_heap_error *error);

/* Replaces the defaults of a config that is right by what they are for it. Its lists are copied to these, which have
 * HW_HEAP_MOST_CLASSES elements each, and then have one for each class. What is still 0 after that: the default of
 * keep_free_bytes, any node, and a time that has no effect. */
void hwi_heap_config_complete(struct hw_heap_config *config, size_t *class_bytes, size_t *page_bytes,
                              size_t *thread_pages);

/* --- config_text.c --- */

/* A config that was read from text. */
struct hwi_heap_settings {
  struct hw_heap_config config;
  size_t lists[HWI_HEAP_LISTS][HW_HEAP_MOST_CLASSES]; /* to which its lists point */
};

/* Sets a field from text: numbers with or without a suffix (64K), in lists with commas or blanks between them; a
 * word; or "default". Returns false if it is no such text, and changes nothing. Whether the value is allowed is
 * checked later. Calls nothing but functions of strings. */
bool hwi_heap_field_read(struct hwi_heap_settings *settings, const struct hwi_heap_field *field, const char *text);

/* Gives a field its default. */
void hwi_heap_field_clear(struct hwi_heap_settings *settings, const struct hwi_heap_field *field);

/* Adds the value of a field, in the form that hwi_heap_field_read takes. */
struct hwi_message;
void hwi_heap_field_print(struct hwi_message *line, const struct hw_heap_config *config,
                          const struct hwi_heap_field *field);

#endif
