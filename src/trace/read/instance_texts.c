/* instance_texts.c - the texts that a program gave to instances of scopes, of which there may be millions */
#include "trace/read/instance_texts.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"

/* Parts of the file in memory have at most 64 MB: see HWI_SECTIONS_IN_MEMORY. */
enum { WANTED_MAX_BYTES = 16 << 20, PASSING_MAX_BYTES = 128 << 20, TAKEN_MIN = 1024 };

struct hwi_instance_text {
  char *text; /* NULL: not read, or taken */
  size_t bytes;
  uint32_t number;
};

void hwi_instance_texts_release(struct hwi_instance_texts *texts)
{
  for (size_t i = 0; i < texts->count; i++)
    free(texts->items[i].text);
  free(texts->items);
  hwi_hash_table_release(&texts->indices);
  *texts = (struct hwi_instance_texts){0};
}

static struct hwi_instance_text *find(const struct hwi_instance_texts *texts, uint32_t number)
{
  const uint32_t index = hwi_hash_table_first(&texts->indices, number)->number;
  return index ? &texts->items[index - 1] : NULL;
}

static struct hwi_instance_text *new_item(struct hwi_instance_texts *texts, uint32_t number)
{
  if (!hwi_grow((void **)&texts->items, &texts->capacity, texts->count + 1, sizeof *texts->items) ||
      !hwi_hash_table_add(&texts->indices, number, (uint32_t)texts->count + 1))
    return NULL;
  struct hwi_instance_text *item = &texts->items[texts->count++];
  *item = (struct hwi_instance_text){.number = number};
  return item;
}

/* Removes the items whose text was taken, if they are most. The table, from which nothing can be removed, is made
 * again. */
static bool compact(struct hwi_instance_texts *texts)
{
  const size_t before = texts->count;
  bool done = true;
  if (before < 2 * texts->held + TAKEN_MIN)
    return true;
  texts->count = 0;
  hwi_hash_table_release(&texts->indices);
  for (size_t i = 0; i < before; i++) {
    const struct hwi_instance_text item = texts->items[i];
    if (!item.text)
      continue;
    texts->items[texts->count++] = item;
    done = done && hwi_hash_table_add(&texts->indices, item.number, (uint32_t)texts->count);
  }
  return done;
}

bool hwi_instance_texts_want(struct hwi_instance_texts *texts, uint32_t number)
{
  return find(texts, number) || new_item(texts, number);
}

bool hwi_instance_texts_add(struct hwi_instance_texts *texts, uint32_t number, const void *bytes, size_t count)
{
  const size_t most = texts->holds_all ? PASSING_MAX_BYTES : WANTED_MAX_BYTES;
  struct hwi_instance_text *item = find(texts, number);
  if (item ? item->text != NULL : !texts->holds_all)
    return true;
  if (count > most - texts->held_bytes)
    return true;
  if (!item && !(compact(texts) && (item = new_item(texts, number))))
    return false;
  item->text = malloc(count + 1);
  if (!item->text)
    return false;
  memcpy(item->text, bytes, count);
  item->text[count] = '\0';
  item->bytes = count;
  texts->held++;
  texts->held_bytes += count;
  return true;
}

const char *hwi_instance_texts_find(const struct hwi_instance_texts *texts, uint32_t number)
{
  const struct hwi_instance_text *item = find(texts, number);
  return item ? item->text : NULL;
}

char *hwi_instance_texts_take(struct hwi_instance_texts *texts, uint32_t number)
{
  struct hwi_instance_text *item = find(texts, number);
  char *text = item ? item->text : NULL;
  if (!text)
    return NULL;
  item->text = NULL;
  texts->held--;
  texts->held_bytes -= item->bytes;
  return text;
}
