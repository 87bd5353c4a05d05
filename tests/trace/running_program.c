/* running_program.c - for the tests: a program that writes its raw trace, step by step, as the recorder would
 *
 * Several threads allocate and free blocks at random, often at the same tick, and the blocks of each other. Include this
 * file after cmocka.h.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "encoder.c"

enum { STREAMS = 4, SLOT_BYTES = 16 << 10, FULL_BYTES = 3000, ADDRESSES = 60, START = 1000000, HELD_STREAM = 2 };

static struct enc enc;
static char path[64];
static int fd;
static int chunk_of[STREAMS]; /* the open chunk of each stream; -1: none yet */
static uint32_t held_bytes;   /* of the open chunk of HELD_STREAM, if `holds`: what follows is not written yet */
static bool holds, skips;     /* skips: one chunk is never written */
static bool is_given_back[ENC_MAX_CHUNKS]; /* by a tool that packed the chunk */
static bool is_live[ADDRESSES];
static uint64_t now;
static uint64_t random_state;

static uint32_t below(uint32_t limit)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % limit;
}

static uint64_t off_of(int chunk)
{
  return HW_CHUNKS_OFF + (uint64_t)chunk * SLOT_BYTES;
}

/* Returns whether the program still writes the chunk. */
static bool is_open(int chunk)
{
  for (int s = 0; s < STREAMS; s++)
    if (chunk_of[s] == chunk)
      return true;
  return false;
}

static bool is_skipped(int chunk)
{
  return skips && chunk == STREAMS + 1;
}

/* Brings the file up to date, as the program would do. */
static void publish(void)
{
  for (int i = 0; i < enc.chunk_count; i++) {
    struct enc_chunk *chunk = &enc.chunks[i];
    bool is_held = holds && chunk_of[HELD_STREAM] == i;
    struct hw_chunk_header header = chunk->header;
    header.off = off_of(i);
    header.bytes = SLOT_BYTES;
    header.valid_bytes = is_held ? held_bytes : (uint32_t)chunk->count;
    header.state = is_open(i) ? HW_CHUNK_OPEN : HW_CHUNK_RETIRED;
    memcpy(&header.image_tag, enc.header.image_id, sizeof header.image_tag);
    if (is_skipped(i) || is_given_back[i])
      continue;
    assert_int_equal(pwrite(fd, chunk->bytes, chunk->count, (off_t)(off_of(i) + sizeof header)), chunk->count);
    assert_int_equal(pwrite(fd, &header, sizeof header, (off_t)off_of(i)), sizeof header);
  }
}

static void open_chunk(int stream)
{
  int before = chunk_of[stream];
  uint32_t sequence = before < 0 ? 0 : enc.chunks[before].header.sequence + 1;
  chunk_of[stream] = enc_chunk(&enc, (uint32_t)stream, sequence, (uint32_t)stream, now);
}

/* One event of a random stream. It frees or reuses blocks of any stream, often at the same tick as other events. */
static void step(int streams)
{
  int stream = (int)below((uint32_t)streams);
  uint32_t slot = below(ADDRESSES);
  uint64_t address = 0x10000 + slot * UINT64_C(0x1000);
  if (holds && stream == HELD_STREAM)
    return;
  if (chunk_of[stream] < 0 || enc.chunks[chunk_of[stream]].count > FULL_BYTES)
    open_chunk(stream);
  now += below(3);
  if (streams == 1 && below(20) == 0) { /* the free of a block whose earlier free was missed, or of a freed block */
    if (is_live[slot])
      enc_alloc(&enc, chunk_of[stream], now, 0, below(1000), address);
    else
      enc_free(&enc, chunk_of[stream], now, address);
    return;
  }
  if (is_live[slot] && below(5) == 0) {
    enc_realloc(&enc, chunk_of[stream], now, 0, 0, address, below(2000), address);
    return;
  }
  if (is_live[slot])
    enc_free(&enc, chunk_of[stream], now, address);
  else
    enc_alloc(&enc, chunk_of[stream], now, 0, below(1000), address);
  is_live[slot] = !is_live[slot];
}

static void program_begin(void)
{
  enc_init(&enc, 1);
  snprintf(path, sizeof path, "/tmp/heapwright-test-running-%d.hwt", (int)getpid());
  fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  enc.header.window_bytes = enc.header.used_bytes = off_of(ENC_MAX_CHUNKS);
  for (int s = 0; s < STREAMS; s++)
    chunk_of[s] = -1;
  memset(is_live, 0, sizeof is_live);
  memset(is_given_back, 0, sizeof is_given_back);
  holds = skips = false;
  now = START;
  assert_int_equal(pwrite(fd, &enc.header, sizeof enc.header, 0), sizeof enc.header);
  assert_int_equal(ftruncate(fd, (off_t)enc.header.window_bytes), 0);
}

static void program_end(void)
{
  enc_release(&enc);
  close(fd);
  unlink(path);
}
