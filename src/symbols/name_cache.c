/* name_cache.c - a cache of the names that earlier reports looked up, in a file next to the recording
 *
 * To find one name in a large program, its debug information must be unpacked and a large part of it read; the next
 * report mostly needs the same names. The file is a header and a zstd frame with four arrays: modules, answers (for
 * each module, sorted by address), frames (answer by answer), texts. The arrays are searched in place: a name that is
 * not needed only costs its unpacking and one pass over the texts. Each array has ascending indices into the next one,
 * which is checked once; so a forged file cannot have more frames than bytes. A frame has the offset of a text, and
 * each text is copied to the store once, however many frames use it. docs/summary-format.md describes the bytes.
 */
#include "symbols/name_cache.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/version.h"
#include "symbols/symbol_files.h"
#include "trace/cache_file.h"
#include "trace/grow.h"
#include "trace/pack/pack.h"

static const uint8_t MAGIC[HWI_CACHE_MAGIC_BYTES] = {0x89, 'H', 'W', 'N', '\r', '\n', 0x1a, '\n'};
enum {
  VERSION = 2, /* also to be raised if the same program version shows names in another way */
  PROGRAM_BYTES = 24,
  LEVEL = 1,
  MOST_PLAIN_BYTES = 1 << 27,
  MOST_FRAMES = 1 << 10, /* of an answer; hwi_lines_find returns no more frames than there are nested DIEs */
};

struct header {
  uint8_t magic[HWI_CACHE_MAGIC_BYTES];
  uint32_t version;
  uint32_t module_count; /* the arrays of modules and answers have one more entry, after the last one */
  char program[PROGRAM_BYTES];
  uint32_t answer_count;
  uint32_t frame_count;
  uint64_t text_bytes;
};
_Static_assert(sizeof(struct header) == HWI_NAMES_HEADER_BYTES &&
                   offsetof(struct header, module_count) == HWI_NAMES_MODULE_COUNT_OFF &&
                   offsetof(struct header, answer_count) == HWI_NAMES_ANSWER_COUNT_OFF &&
                   offsetof(struct header, frame_count) == HWI_NAMES_FRAME_COUNT_OFF &&
                   offsetof(struct header, text_bytes) == HWI_NAMES_TEXT_BYTES_OFF,
               "without a gap");

struct hwi_cached_module {
  uint64_t name, mark;
  uint64_t first_answer;
};

struct hwi_cached_answer {
  uint64_t address;
  uint64_t first_frame;
};

struct hwi_cached_frame {
  uint64_t start;
  uint32_t function, file; /* offsets in the texts; 0: none */
  uint32_t line;
  uint8_t inlined, reason;
  uint16_t unused;
};
_Static_assert(sizeof(struct hwi_cached_module) == HWI_NAMES_MODULE_BYTES &&
                   sizeof(struct hwi_cached_answer) == HWI_NAMES_ANSWER_BYTES &&
                   sizeof(struct hwi_cached_frame) == HWI_NAMES_FRAME_BYTES,
               "without gaps");

static uint64_t plain_bytes_of(const struct header *header)
{
  const uint64_t texts = header->text_bytes < MOST_PLAIN_BYTES ? header->text_bytes : MOST_PLAIN_BYTES;
  return ((uint64_t)header->module_count + 1) * sizeof(struct hwi_cached_module) +
         ((uint64_t)header->answer_count + 1) * sizeof(struct hwi_cached_answer) +
         (uint64_t)header->frame_count * sizeof(struct hwi_cached_frame) + texts;
}

static struct header header_of(void)
{
  struct header header = {.version = VERSION, .program = HWI_VERSION};
  memcpy(header.magic, MAGIC, sizeof MAGIC);
  return header;
}

/* --- reading --- */

/* Reads the header, and returns the unpacked contents of the file after it. Returns NULL if the file is invalid. */
static void *read_plain(int fd, struct header *header)
{
  struct stat about;
  struct header expected = header_of();
  if (read(fd, header, sizeof *header) != (ssize_t)sizeof *header || fstat(fd, &about) < 0)
    return NULL;
  expected.module_count = header->module_count;
  expected.answer_count = header->answer_count;
  expected.frame_count = header->frame_count;
  expected.text_bytes = header->text_bytes;
  const size_t packed_bytes = (size_t)about.st_size - sizeof *header;
  if (memcmp(header, &expected, sizeof expected) != 0 || packed_bytes > MOST_PLAIN_BYTES || header->text_bytes == 0 ||
      plain_bytes_of(header) > MOST_PLAIN_BYTES)
    return NULL;
  const size_t plain_bytes = plain_bytes_of(header);
  void *packed = malloc(packed_bytes + 1), *plain = malloc(plain_bytes);
  bool done = packed && plain && read(fd, packed, packed_bytes) == (ssize_t)packed_bytes &&
              hwi_unzstd(plain, plain_bytes, packed, packed_bytes) == 0;
  free(packed);
  if (done)
    return plain;
  free(plain);
  return NULL;
}

/* Returns whether each array has ascending indices into the next one, from its start to its end, and the texts are
 * terminated. */
static bool is_sound(const struct hwi_name_cache *names, const struct header *header)
{
  const struct hwi_cached_module *modules = names->modules;
  const struct hwi_cached_answer *answers = names->answers;
  bool sound = modules[0].first_answer == 0 && modules[header->module_count].first_answer == header->answer_count &&
               answers[0].first_frame == 0 && answers[header->answer_count].first_frame == header->frame_count &&
               names->text[0] == '\0' && names->text[header->text_bytes - 1] == '\0';
  for (size_t i = 0; i < header->module_count; i++)
    sound &= modules[i].first_answer <= modules[i + 1].first_answer;
  for (size_t i = 0; i < header->answer_count; i++)
    sound &= answers[i].first_frame < answers[i + 1].first_frame &&
             answers[i + 1].first_frame - answers[i].first_frame <= MOST_FRAMES;
  return sound;
}

/* Returns false if there are more texts than the frames can use, or there is no memory. */
static bool list_texts(struct hwi_name_cache *names, const struct header *header)
{
  const size_t most = 2 * (size_t)header->frame_count, end = header->text_bytes;
  names->texts = malloc((most + 1) * sizeof *names->texts);
  if (!names->texts)
    return false;
  for (size_t off = 1; off < end; off += strlen(names->text + off) + 1) {
    if (names->text_count == most)
      return false;
    names->texts[names->text_count++] = (struct hwi_cached_text){.off = (uint32_t)off};
  }
  return true;
}

void hwi_name_cache_load(struct hwi_name_cache *names, const char *path, struct hwi_store *store)
{
  struct header header;
  *names = (struct hwi_name_cache){.store = store};
  int fd = hwi_cache_file_open(path);
  if (fd < 0)
    return;
  names->plain = read_plain(fd, &header);
  close(fd);
  if (!names->plain)
    return;
  names->modules = names->plain;
  names->answers = (const void *)(names->modules + header.module_count + 1);
  names->frames = (const void *)(names->answers + header.answer_count + 1);
  names->text = (const void *)(names->frames + header.frame_count);
  names->module_count = header.module_count;
  if (!is_sound(names, &header) || !list_texts(names, &header))
    hwi_name_cache_release(names);
}

void hwi_name_cache_release(struct hwi_name_cache *names)
{
  free(names->texts);
  free(names->plain);
  *names = (struct hwi_name_cache){0};
}

const struct hwi_cached_module *hwi_name_cache_module(const struct hwi_name_cache *names, struct hwi_names_key key)
{
  for (size_t i = 0; i < names->module_count; i++)
    if (names->modules[i].name == key.name && names->modules[i].mark == key.mark)
      return &names->modules[i];
  return NULL;
}

const struct hwi_cached_module *hwi_name_cache_at(const struct hwi_name_cache *names, size_t at,
                                                  struct hwi_names_key *key)
{
  if (at >= names->module_count)
    return NULL;
  *key = (struct hwi_names_key){names->modules[at].name, names->modules[at].mark};
  return &names->modules[at];
}

static int by_off(const void *left, const void *right)
{
  const uint32_t a = ((const struct hwi_cached_text *)left)->off, b = ((const struct hwi_cached_text *)right)->off;
  return a < b ? -1 : a > b;
}

/* Sets *text, to NULL for offset 0. Returns 0, HW_ERR_DAMAGED if no text begins at `off`, or HW_ERR_MEMORY. */
static int text_at(const struct hwi_name_cache *names, uint32_t off, const char **text)
{
  const struct hwi_cached_text key = {.off = off};
  *text = NULL;
  if (off == 0)
    return 0;
  struct hwi_cached_text *found = bsearch(&key, names->texts, names->text_count, sizeof key, by_off);
  if (!found)
    return HW_ERR_DAMAGED;
  if (!found->stored)
    found->stored = hwi_store_string(names->store, names->text + off);
  *text = found->stored;
  return *text ? 0 : HW_ERR_MEMORY;
}

static int read_frame(const struct hwi_name_cache *names, const struct hwi_cached_frame *frame,
                      struct hwi_symbol *symbol)
{
  *symbol = (struct hwi_symbol){
      .start = frame->start, .line = frame->line, .inlined = frame->inlined == 1, .reason = frame->reason};
  if (frame->inlined > 1 || frame->reason >= HWI_SYMBOL_NO_MEMORY)
    return HW_ERR_DAMAGED;
  int status = text_at(names, frame->function, &symbol->function);
  return status < 0 ? status : text_at(names, frame->file, &symbol->file);
}

static size_t frame_count_of(const struct hwi_cached_answer *answer)
{
  return (size_t)(answer[1].first_frame - answer->first_frame);
}

/* Returns 0, HW_ERR_DAMAGED if the file is forged, or HW_ERR_MEMORY. */
static int read_frames(const struct hwi_name_cache *names, const struct hwi_cached_answer *answer,
                       struct hwi_symbol *symbols)
{
  int status = 0;
  for (size_t i = 0; i < frame_count_of(answer) && status == 0; i++)
    status = read_frame(names, &names->frames[answer->first_frame + i], &symbols[i]);
  return status;
}

bool hwi_name_cache_find(const struct hwi_name_cache *names, const struct hwi_cached_module *module, uint64_t address,
                         struct hwi_frame_list *frames)
{
  size_t low = (size_t)module->first_answer, high = (size_t)module[1].first_answer;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (names->answers[middle].address < address)
      low = middle + 1;
    else
      high = middle;
  }
  const struct hwi_cached_answer *answer = &names->answers[low];
  if (low == module[1].first_answer || answer->address != address ||
      !hwi_grow((void **)&frames->list, &frames->capacity, frame_count_of(answer), sizeof *frames->list) ||
      read_frames(names, answer, frames->list) < 0)
    return false;
  frames->count = frame_count_of(answer);
  return true;
}

bool hwi_name_cache_add_to(const struct hwi_name_cache *names, const struct hwi_cached_module *module,
                           struct hwi_names_answers *answers)
{
  for (uint64_t i = module->first_answer; i < module[1].first_answer; i++) {
    const struct hwi_cached_answer *answer = &names->answers[i];
    const size_t count = frame_count_of(answer);
    struct hwi_symbol *kept = hwi_store_take(names->store, count * sizeof *kept);
    int status = kept ? read_frames(names, answer, kept) : HW_ERR_MEMORY;
    if (status == HW_ERR_DAMAGED)
      continue;
    if (status < 0 || !hwi_grow((void **)&answers->list, &answers->capacity, answers->count + 1, sizeof *answers->list))
      return false;
    answers->list[answers->count++] =
        (struct hwi_names_answer){{module->name, module->mark}, answer->address, kept, (uint32_t)count};
  }
  return true;
}

/* --- writing --- */

/* A text in the store, and its offset in the file's texts. */
struct place {
  const char *text;
  uint64_t off;
};

/* The contents of the file before packing. */
struct image {
  struct header header;
  uint8_t *plain;
  struct hwi_cached_module *modules;
  struct hwi_cached_answer *answers;
  struct hwi_cached_frame *frames;
  char *texts;
  struct place *places; /* by address of the text */
  size_t place_count;
};

static int by_module_and_address(const void *left, const void *right)
{
  const struct hwi_names_answer *a = left, *b = right;
  if (a->key.name != b->key.name)
    return a->key.name < b->key.name ? -1 : 1;
  if (a->key.mark != b->key.mark)
    return a->key.mark < b->key.mark ? -1 : 1;
  return a->address < b->address ? -1 : a->address > b->address;
}

static int by_text(const void *left, const void *right)
{
  const uintptr_t a = (uintptr_t)((const struct place *)left)->text, b = (uintptr_t)((const struct place *)right)->text;
  return a < b ? -1 : a > b;
}

static bool begins_module(const struct hwi_names_answers *answers, size_t i)
{
  const struct hwi_names_answer *list = answers->list;
  return i == 0 || list[i].key.name != list[i - 1].key.name || list[i].key.mark != list[i - 1].key.mark;
}

/* Gives each text its offset. Returns false if there is no memory. */
static bool place_texts(struct image *image, const struct hwi_names_answers *answers, size_t frame_count)
{
  size_t count = 0, kept = 0;
  image->places = calloc(2 * frame_count + 1, sizeof *image->places);
  if (!image->places)
    return false;
  for (size_t i = 0; i < answers->count; i++)
    for (uint32_t k = 0; k < answers->list[i].count; k++) {
      const struct hwi_symbol *frame = &answers->list[i].frames[k];
      image->places[count].text = frame->function;
      count += frame->function != NULL;
      image->places[count].text = frame->file;
      count += frame->file != NULL;
    }
  qsort(image->places, count, sizeof *image->places, by_text);
  image->header.text_bytes = 1; /* offset 0 means no text */
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && image->places[i].text == image->places[kept - 1].text)
      continue;
    image->places[kept++] = (struct place){image->places[i].text, image->header.text_bytes};
    image->header.text_bytes += strlen(image->places[kept - 1].text) + 1;
  }
  image->place_count = kept;
  return true;
}

static uint32_t place_of(const struct image *image, const char *text)
{
  const struct place key = {text, 0}, *found;
  found = text ? bsearch(&key, image->places, image->place_count, sizeof key, by_text) : NULL;
  return found ? (uint32_t)found->off : 0;
}

static bool make_room(struct image *image, const struct hwi_names_answers *answers)
{
  size_t frame_count = 0;
  struct header *header = &image->header;
  *header = header_of();
  header->answer_count = (uint32_t)answers->count;
  for (size_t i = 0; i < answers->count; i++) {
    header->module_count += begins_module(answers, i);
    frame_count += answers->list[i].count;
  }
  if (frame_count > MOST_PLAIN_BYTES || answers->count > MOST_PLAIN_BYTES || !place_texts(image, answers, frame_count))
    return false;
  header->frame_count = (uint32_t)frame_count;
  if (header->text_bytes > MOST_PLAIN_BYTES || plain_bytes_of(header) > MOST_PLAIN_BYTES)
    return false;
  image->plain = calloc(plain_bytes_of(header), 1);
  image->modules = (void *)image->plain;
  image->answers = (void *)(image->modules + header->module_count + 1);
  image->frames = (void *)(image->answers + header->answer_count + 1);
  image->texts = (void *)(image->frames + header->frame_count);
  return image->plain;
}

static void fill(struct image *image, const struct hwi_names_answers *answers)
{
  struct hwi_cached_module *module = image->modules;
  struct hwi_cached_frame *frame = image->frames;
  for (size_t i = 0; i < answers->count; i++) {
    const struct hwi_names_answer *answer = &answers->list[i];
    if (begins_module(answers, i))
      *module++ = (struct hwi_cached_module){answer->key.name, answer->key.mark, i};
    image->answers[i] = (struct hwi_cached_answer){answer->address, (uint64_t)(frame - image->frames)};
    for (uint32_t k = 0; k < answer->count; k++) {
      const struct hwi_symbol *from = &answer->frames[k];
      *frame++ = (struct hwi_cached_frame){.start = from->start,
                                           .function = place_of(image, from->function),
                                           .file = place_of(image, from->file),
                                           .line = from->line,
                                           .inlined = from->inlined,
                                           .reason = (uint8_t)from->reason};
    }
  }
  module->first_answer = answers->count;
  image->answers[answers->count].first_frame = image->header.frame_count;
  for (size_t i = 0; i < image->place_count; i++)
    memcpy(image->texts + image->places[i].off, image->places[i].text, strlen(image->places[i].text) + 1);
}

/* Returns the bytes of the file, header included. The caller frees them. Returns NULL if there is no memory. */
static uint8_t *pack(const struct image *image, size_t *bytes)
{
  const size_t plain_bytes = plain_bytes_of(&image->header), bound = ZSTD_compressBound(plain_bytes);
  uint8_t *packed = malloc(sizeof image->header + bound);
  ZSTD_CCtx *compressor = ZSTD_createCCtx();
  bool done = packed && compressor &&
              !ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel, LEVEL)) &&
              !ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_checksumFlag, 1));
  size_t count = done ? ZSTD_compress2(compressor, packed + sizeof image->header, bound, image->plain, plain_bytes) : 0;
  ZSTD_freeCCtx(compressor);
  if (done && !ZSTD_isError(count)) {
    memcpy(packed, &image->header, sizeof image->header);
    *bytes = sizeof image->header + count;
    return packed;
  }
  free(packed);
  return NULL;
}

static bool write_file(const char *path, const uint8_t *bytes, size_t count)
{
  struct hwi_cache_file file;
  if (!hwi_cache_file_begin(&file, path, MAGIC))
    return false;
  ssize_t written = 0;
  for (size_t done = 0; done < count && written >= 0; done += (size_t)written)
    written = write(file.fd, bytes + done, count - done);
  if (written >= 0)
    return hwi_cache_file_commit(&file, path);
  hwi_cache_file_discard(&file);
  return false;
}

bool hwi_name_cache_write(const char *path, struct hwi_names_answers *answers)
{
  struct image image = {0};
  size_t bytes;
  if (answers->count == 0)
    return true;
  qsort(answers->list, answers->count, sizeof *answers->list, by_module_and_address);
  bool made = make_room(&image, answers);
  if (made)
    fill(&image, answers);
  uint8_t *packed = made ? pack(&image, &bytes) : NULL;
  bool written = packed && write_file(path, packed, bytes);
  free(packed);
  free(image.plain);
  free(image.places);
  return written;
}

/* --- the file --- */

char *hwi_name_cache_path(const char *path)
{
  return hwi_path_next_to_recording(path, ".names");
}

void hwi_name_cache_remove(const char *path)
{
  char *names = hwi_name_cache_path(path);
  if (names)
    hwi_cache_file_remove(names, MAGIC);
  free(names);
}
