/* packed_program.c - for the tests: a running program whose chunks are packed and given back meanwhile
 *
 * Include this file after cmocka.h.
 */
#include <stdlib.h>

#include "running_program.c"

#include "launch/pack/section_file.h"

static struct hwi_section_file sections;
static int packed_of[STREAMS]; /* chunks of each stream that are packed */

static void packed_program_begin(void)
{
  program_begin();
  for (int s = 0; s < STREAMS; s++)
    packed_of[s] = 0;
  sections = (struct hwi_section_file){.packer = hwi_packer_create(), .fd = fd, .off = enc.header.window_bytes};
  assert_non_null(sections.packer);
}

static void packed_program_end(void)
{
  hwi_packer_destroy(sections.packer);
  program_end();
}

/* Packs the next chunks of a stream that are full, and gives them back. */
static void pack(int stream, int most)
{
  uint8_t *plain = calloc((size_t)most + 1, SLOT_BYTES);
  size_t bytes = 0;
  const int first = packed_of[stream];
  assert_non_null(plain);
  for (int i = 0; i < enc.chunk_count && most > 0; i++) {
    const struct enc_chunk *chunk = &enc.chunks[i];
    struct hw_chunk_header header;
    if ((int)chunk->header.stream != stream || (int)chunk->header.sequence != packed_of[stream] || is_open(i))
      continue;
    assert_int_equal(pread(fd, &header, sizeof header, (off_t)off_of(i)), sizeof header);
    memcpy(plain + bytes, &header, sizeof header);
    memcpy(plain + bytes + sizeof header, chunk->bytes, header.valid_bytes);
    bytes += sizeof header + header.valid_bytes;
    packed_of[stream]++;
    most--;
  }
  if (packed_of[stream] > first)
    assert_int_equal(hwi_section_pack(&sections, plain, bytes), 0);
  for (int i = 0; i < enc.chunk_count; i++)
    if ((int)enc.chunks[i].header.stream == stream && (int)enc.chunks[i].header.sequence < packed_of[stream]) {
      static const uint8_t zeros[SLOT_BYTES];
      is_given_back[i] = true;
      assert_int_equal(pwrite(fd, zeros, sizeof zeros, (off_t)off_of(i)), sizeof zeros);
    }
  free(plain);
}
