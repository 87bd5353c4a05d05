/* synthetic.c - makes a packed trace from another recorder's data */
#include "export/synthetic.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"
#include "base/varint.h"
#include "trace/decode.h"

enum {
  PLAIN_BYTES = HWI_SECTION_BYTES + HWI_SYNTHETIC_CHUNK_BYTES,
  RECORD_HEAD_BYTES = 1 + HWI_VARINT_MAX_BYTES + 1 + HWI_VARINT_MAX_BYTES,
  THREAD = 1,
  PAGE_BYTES = 4096,
  PATH_BYTES_MAX = 4096,
  MODULE_HEAD_BYTES = 4 * HWI_VARINT_MAX_BYTES + 1 + UINT8_MAX, /* four numbers and the build-id with its length */
  NOTE_BYTES_MAX = 512,
  ALIGNMENT = 16, /* addresses that differ by a multiple of this have the shorter form */
};
static const uint64_t START_NS = 1000000000; /* an arbitrary moment */

static void fail(struct hwi_synthetic *trace, int status)
{
  if (trace->status == 0)
    trace->status = status;
}

/* --- chunks --- */

static uint8_t *open_chunk(const struct hwi_synthetic *trace)
{
  return trace->plain + trace->plain_bytes;
}

static void begin_chunk(struct hwi_synthetic *trace)
{
  trace->chunk.base_tick = trace->event_tick;
  trace->chunk.base_address = trace->address;
  trace->node = 0;
  trace->node_address = 0;
  trace->at = open_chunk(trace) + sizeof trace->chunk;
}

static void pack(struct hwi_synthetic *trace)
{
  if (trace->status == 0 && trace->plain_bytes > 0)
    fail(trace, hwi_section_pack(&trace->file, trace->plain, trace->plain_bytes));
  trace->plain_bytes = 0;
}

static void end_chunk(struct hwi_synthetic *trace)
{
  uint8_t *start = open_chunk(trace);
  trace->chunk.valid_bytes = (uint32_t)(trace->at - start - (ptrdiff_t)sizeof trace->chunk);
  if (trace->chunk.valid_bytes == 0)
    return;
  memcpy(start, &trace->chunk, sizeof trace->chunk);
  trace->plain_bytes = (size_t)(trace->at - trace->plain);
  trace->chunk.sequence++;
  if (trace->plain_bytes >= HWI_SECTION_BYTES)
    pack(trace);
}

/* Makes space for an event of `bytes`, in the open chunk or in a new one. Returns false after an error, when nothing is
 * written any more. */
static bool make_room(struct hwi_synthetic *trace, size_t bytes)
{
  if (trace->status != 0)
    return false;
  if (bytes > HWI_SYNTHETIC_CHUNK_BYTES - sizeof trace->chunk) {
    fail(trace, HW_ERR_LIMIT);
    return false;
  }
  if ((size_t)(trace->at - open_chunk(trace)) + bytes > HWI_SYNTHETIC_CHUNK_BYTES) {
    end_chunk(trace);
    begin_chunk(trace);
  }
  return trace->status == 0;
}

/* --- events --- */

static void begin_event(struct hwi_synthetic *trace, enum hw_op op)
{
  uint64_t dt = trace->tick - trace->event_tick;
  *trace->at++ = (uint8_t)(op | (dt < HW_DT_LONG ? dt : HW_DT_LONG) << HW_OP_BITS);
  if (dt >= HW_DT_LONG)
    trace->at = hwi_put_varint(trace->at, dt);
  trace->event_tick = trace->tick;
}

static void put_number(struct hwi_synthetic *trace, uint64_t number)
{
  trace->at = hwi_put_varint(trace->at, number);
}

static void put_address(struct hwi_synthetic *trace, uint64_t address)
{
  int64_t delta = (int64_t)(address - trace->address);
  bool aligned = delta % ALIGNMENT == 0;
  put_number(trace, aligned ? hwi_zigzag(delta / ALIGNMENT) << 1 : hwi_zigzag(delta) << 1 | 1);
  trace->address = address;
}

void hwi_synthetic_time(struct hwi_synthetic *trace, uint64_t ns)
{
  if (START_NS + ns > trace->tick)
    trace->tick = START_NS + ns;
}

void hwi_synthetic_took(struct hwi_synthetic *trace, uint64_t ns)
{
  trace->took = ns ? ns + 1 : 0;
}

static void end_call(struct hwi_synthetic *trace)
{
  if (trace->chunk.fields & HW_FIELD_DURATION)
    put_number(trace, trace->took);
}

void hwi_synthetic_record(struct hwi_synthetic *trace, enum hw_record_type type, const void *payload, size_t bytes)
{
  if (!make_room(trace, RECORD_HEAD_BYTES + bytes))
    return;
  begin_event(trace, HW_OP_RECORD);
  *trace->at++ = (uint8_t)type;
  put_number(trace, bytes);
  memcpy(trace->at, payload, bytes);
  trace->at += bytes;
}

void hwi_synthetic_note(struct hwi_synthetic *trace, enum hw_note note, const char *text)
{
  uint8_t payload[NOTE_BYTES_MAX];
  size_t bytes = strnlen(text, sizeof payload - 1);
  payload[0] = (uint8_t)note;
  memcpy(payload + 1, text, bytes);
  hwi_synthetic_record(trace, HW_RECORD_NOTE, payload, bytes + 1);
}

void hwi_synthetic_module(struct hwi_synthetic *trace, uint32_t number, const struct hwi_synthetic_module *module)
{
  uint8_t payload[PATH_BYTES_MAX + MODULE_HEAD_BYTES];
  size_t path_bytes = strnlen(module->path, PATH_BYTES_MAX);
  uint8_t *at = hwi_put_varint(payload, number);
  at = hwi_put_varint(at, module->start);
  at = hwi_put_varint(at, module->end - module->start);
  at = hwi_put_varint(at, module->bias);
  *at++ = module->build_id_bytes;
  if (module->build_id_bytes > 0)
    memcpy(at, module->build_id, module->build_id_bytes);
  at += module->build_id_bytes;
  memcpy(at, module->path, path_bytes);
  hwi_synthetic_record(trace, HW_RECORD_MODULE, payload, (size_t)(at - payload) + path_bytes);
}

void hwi_synthetic_node(struct hwi_synthetic *trace, uint32_t number, const struct hwi_node *node)
{
  const uint8_t entry = node->cut ? HW_NODE_CUT : node->entry;
  if (!make_room(trace, HW_EVENT_MAX_BYTES))
    return;
  begin_event(trace, HW_OP_NODE);
  put_number(trace, hwi_zigzag((int64_t)number - ((int64_t)trace->node + 1)));
  put_number(trace, hwi_zigzag((int64_t)number - (int64_t)node->parent));
  put_number(trace, (uint64_t)node->module << 1 | (entry != HW_ENTRY_NONE));
  if (entry != HW_ENTRY_NONE)
    *trace->at++ = entry;
  put_number(trace, hwi_zigzag((int64_t)(node->address - trace->node_address)));
  trace->node = number;
  trace->node_address = node->address;
}

void hwi_synthetic_entry(struct hwi_synthetic *trace, uint32_t number, enum hw_entry entry)
{
  hwi_synthetic_node(trace, number, &(struct hwi_node){.entry = (uint8_t)entry});
}

void hwi_synthetic_alloc(struct hwi_synthetic *trace, uint32_t node, uint64_t size, uint64_t address)
{
  if (address == 0 || !make_room(trace, HW_EVENT_MAX_BYTES))
    return;
  begin_event(trace, HW_OP_ALLOC);
  put_number(trace, node);
  put_number(trace, size);
  put_address(trace, address);
  end_call(trace);
}

void hwi_synthetic_aligned(struct hwi_synthetic *trace, uint32_t node, uint8_t alignment_log2, uint64_t size,
                           uint64_t address)
{
  if (address == 0 || !make_room(trace, HW_EVENT_MAX_BYTES))
    return;
  begin_event(trace, HW_OP_ALLOC_ALIGNED);
  *trace->at++ = alignment_log2;
  put_number(trace, node);
  put_number(trace, size);
  put_address(trace, address);
  end_call(trace);
}

void hwi_synthetic_free(struct hwi_synthetic *trace, uint64_t address)
{
  if (address == 0 || !make_room(trace, HW_EVENT_MAX_BYTES))
    return;
  begin_event(trace, HW_OP_FREE);
  put_address(trace, address);
  end_call(trace);
}

void hwi_synthetic_realloc(struct hwi_synthetic *trace, uint32_t node, uint64_t old_address, uint64_t size,
                           uint64_t address)
{
  if (old_address == 0) {
    hwi_synthetic_alloc(trace, node, size, address);
    return;
  }
  if (address == 0 || !make_room(trace, HW_EVENT_MAX_BYTES))
    return;
  begin_event(trace, HW_OP_REALLOC);
  put_number(trace, node);
  put_number(trace, 0);
  put_address(trace, old_address);
  put_number(trace, size);
  put_address(trace, address);
  end_call(trace);
}

/* --- the file --- */

static bool fill_header(struct hw_trace_header *header)
{
  *header = (struct hw_trace_header){
      .version = HW_TRACE_VERSION,
      .kind = HW_TRACE_PACKED,
      .header_bytes = HW_TRACE_HEADER_BYTES,
      .machine = EM_X86_64,
      .pointer_bytes = sizeof(void *),
      .clock = HW_CLOCK_MONOTONIC_NS,
      .page_bytes = PAGE_BYTES,
      .window_bytes = HW_TRACE_HEADER_BYTES,
      .start = {START_NS, START_NS},
      .state = HW_STATE_EXITED,
  };
  memcpy(header->magic, HW_TRACE_MAGIC, HW_TRACE_MAGIC_BYTES);
  return getrandom(header->run_id, sizeof header->run_id, 0) == (ssize_t)sizeof header->run_id &&
         getrandom(header->image_id, sizeof header->image_id, 0) == (ssize_t)sizeof header->image_id;
}

void hwi_synthetic_begin(struct hwi_synthetic *trace, int fd, bool is_timed)
{
  *trace = (struct hwi_synthetic){.file = {.fd = fd, .off = HW_TRACE_HEADER_BYTES}, .tick = START_NS};
  trace->event_tick = START_NS;
  trace->file.packer = hwi_packer_create();
  trace->plain = calloc(1, PLAIN_BYTES + HWI_DECODE_PADDING);
  if (!trace->file.packer || !trace->plain)
    fail(trace, HW_ERR_MEMORY);
  else if (!fill_header(&trace->header))
    fail(trace, HW_ERR_IO);
  if (trace->status != 0)
    return;
  trace->header.fields = is_timed ? HW_FIELD_DURATION : 0;
  trace->chunk = (struct hw_chunk_header){.magic = HW_CHUNK_MAGIC,
                                          .bytes = HWI_SYNTHETIC_CHUNK_BYTES,
                                          .thread = THREAD,
                                          .fields = trace->header.fields,
                                          .state = HW_CHUNK_RETIRED};
  memcpy(&trace->chunk.image_tag, trace->header.image_id, sizeof trace->chunk.image_tag);
  begin_chunk(trace);
}

static int write_end(struct hwi_synthetic *trace)
{
  uint8_t page[HW_TRACE_HEADER_BYTES] = {0};
  struct hw_section_header end = {.magic = HW_SECTION_MAGIC, .type = HW_SECTION_END};
  trace->header.last = (struct hw_anchor){trace->tick, trace->tick};
  memcpy(page, &trace->header, sizeof trace->header);
  int status = hwi_section_write(&trace->file, &end, NULL);
  if (status == 0 && pwrite(trace->file.fd, page, sizeof page, 0) != (ssize_t)sizeof page)
    status = HW_ERR_IO;
  return status;
}

int hwi_synthetic_end(struct hwi_synthetic *trace)
{
  if (trace->status == 0) {
    end_chunk(trace);
    pack(trace);
  }
  if (trace->status == 0)
    fail(trace, write_end(trace));
  int os_error = errno;
  hwi_packer_destroy(trace->file.packer);
  free(trace->plain);
  trace->plain = NULL;
  errno = os_error;
  return trace->status;
}
