/* nvtx_abi.h - the binary interface between NVTX, which is compiled into a program or library, and a collector
 *
 * Source: the facts of NVIDIA's published headers (NVTX 3), for 64-bit Linux. Only what the collector uses is named.
 */
#ifndef HWI_RECORD_COLLECTORS_NVTX_ABI_H
#define HWI_RECORD_COLLECTORS_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { HWI_NVTX_TABLE_OF_CALLBACKS = 1, HWI_NVTX_MODULE_CORE = 1, HWI_NVTX_MODULE_CORE2 = 5 };

typedef void hwi_nvtx_function(void);

/* Points to what the program calls; NULL: there is no such function. */
typedef hwi_nvtx_function **hwi_nvtx_entry;

struct hwi_nvtx_callbacks {
  size_t bytes;
  int (*find_module)(int module, hwi_nvtx_entry **entries, unsigned int *count);
};

typedef const void *hwi_nvtx_find_table_fn(uint32_t table);

/* Indices of the tables' entries. */
enum hwi_nvtx_core {
  HWI_NVTX_MARK_EX = 1,
  HWI_NVTX_MARK_A,
  HWI_NVTX_MARK_W,
  HWI_NVTX_RANGE_START_EX,
  HWI_NVTX_RANGE_START_A,
  HWI_NVTX_RANGE_START_W,
  HWI_NVTX_RANGE_END,
  HWI_NVTX_RANGE_PUSH_EX,
  HWI_NVTX_RANGE_PUSH_A,
  HWI_NVTX_RANGE_PUSH_W,
  HWI_NVTX_RANGE_POP,
  HWI_NVTX_NAME_OS_THREAD_A = 14,
  HWI_NVTX_NAME_OS_THREAD_W,
};
enum hwi_nvtx_core2 {
  HWI_NVTX_DOMAIN_MARK_EX = 1,
  HWI_NVTX_DOMAIN_RANGE_START_EX,
  HWI_NVTX_DOMAIN_RANGE_END,
  HWI_NVTX_DOMAIN_RANGE_PUSH_EX,
  HWI_NVTX_DOMAIN_RANGE_POP,
  HWI_NVTX_DOMAIN_REGISTER_STRING_A = 10,
  HWI_NVTX_DOMAIN_REGISTER_STRING_W,
  HWI_NVTX_DOMAIN_CREATE_A,
  HWI_NVTX_DOMAIN_CREATE_W,
};

enum hwi_nvtx_payload_type {
  HWI_NVTX_PAYLOAD_U64 = 1,
  HWI_NVTX_PAYLOAD_I64,
  HWI_NVTX_PAYLOAD_DOUBLE,
  HWI_NVTX_PAYLOAD_U32,
  HWI_NVTX_PAYLOAD_I32,
  HWI_NVTX_PAYLOAD_FLOAT,
};

enum hwi_nvtx_message_type { HWI_NVTX_MESSAGE_ASCII = 1, HWI_NVTX_MESSAGE_WIDE, HWI_NVTX_MESSAGE_REGISTERED };

/* What the functions ending in Ex take. */
struct hwi_nvtx_event {
  uint16_t version, bytes;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  union {
    uint64_t u64;
    int64_t i64;
    double whole;
    uint32_t u32;
    int32_t i32;
    float single;
  } payload;
  int32_t message_type;
  union {
    const char *ascii;
    const wchar_t *wide;
    uintptr_t registered; /* a handle of the collector's */
  } message;
};
_Static_assert(offsetof(struct hwi_nvtx_event, payload_type) == 16, "the interface's layout");
_Static_assert(offsetof(struct hwi_nvtx_event, payload) == 24, "the interface's layout");
_Static_assert(offsetof(struct hwi_nvtx_event, message_type) == 32, "the interface's layout");
_Static_assert(offsetof(struct hwi_nvtx_event, message) == (sizeof(void *) == 8 ? 40 : 36), "the interface's layout");
_Static_assert(sizeof(struct hwi_nvtx_event) == (sizeof(void *) == 8 ? 48 : 40), "the interface's layout");

#endif
