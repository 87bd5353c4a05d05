/* x86_64.c - detours of functions of x86-64
 *
 * The patch is a jump of 5 bytes. An endbr64 stays in front of it, since indirect calls may need it. It is right if
 *
 * - each instruction that it replaces does the same elsewhere: it is one of a list, a displacement from its own address is
 *   adjusted, a jump is written again with 4 bytes of distance. A call pushes the address after the call in the function, and jumps:
 *   so its callee returns there, and the address of the copy, for which there is no unwind table, is never on the stack. A shadow
 *   stack (CET) does not allow that.
 * - nothing jumps into what it replaces, but to its first byte. The function's own code is decoded to its end, and that of its cold
 *   part; what the decoder does not know is refused. To the first byte the function may jump, since it is then as a call of it.
 * - it is all of the function's: a function that is shorter may be followed by padding, up to the next multiple of 16.
 */
#include "platform/code/x86_64.h"
#include "platform/code/plan.h"

#include <string.h>

enum {
  JUMP_BYTES = 5,
  ENDBR_BYTES = 4,
  ALIGNMENT = 16,
};

static const uint8_t endbr64[ENDBR_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa};

/* The instructions that are moved. */
struct moved {
  const uint8_t *end; /* after the last one */
  bool is_ended;      /* it does not continue with the next */
};

const char *hwi_code_obstacle(void)
{
  return NULL;
}

size_t hwi_code_near_bytes(void)
{
  return (size_t)1 << 30;
}

static int64_t load_signed(const uint8_t *at, size_t bytes)
{
  int32_t wide;
  if (bytes == 1)
    return (int8_t)*at;
  memcpy(&wide, at, sizeof wide);
  return wide;
}

static void put_byte(struct hwi_plan *plan, uint8_t byte)
{
  hwi_plan_put(plan, &byte, 1);
}

/* Writes the distance to `target` from the instruction that ends with it and `more` bytes. Returns false if it is too large. */
static bool put_distance(struct hwi_plan *plan, uintptr_t target, size_t more)
{
  const int64_t distance = (int64_t)(target - (hwi_plan_place(plan) + sizeof(int32_t) + more));
  const int32_t stored = (int32_t)distance;
  hwi_plan_put(plan, &stored, sizeof stored);
  return stored == distance;
}

static bool put_jump(struct hwi_plan *plan, uintptr_t target)
{
  put_byte(plan, 0xe9);
  return put_distance(plan, target, 0);
}

/* --- the copy --- */

static bool is_jump_without_condition(const struct hwi_instruction *is)
{
  return is->map == HWI_X86_ONE_BYTE && (is->opcode == 0xe9 || is->opcode == 0xeb);
}

static bool is_call(const struct hwi_instruction *is)
{
  return is->map == HWI_X86_ONE_BYTE && is->opcode == 0xe8;
}

static bool ends_code(const struct hwi_instruction *is)
{
  const bool is_indirect = is->opcode == 0xff && (is->modrm >> 3 & 7) == 4;
  return is->map == HWI_X86_ONE_BYTE && (is->opcode == 0xc3 || is_indirect || is_jump_without_condition(is));
}

static uintptr_t target_of(const struct hwi_instruction *is, const uint8_t *at)
{
  return (uintptr_t)at + is->bytes + (uintptr_t)load_signed(at + is->relative_off, is->relative_bytes);
}

static bool copy_jump(struct hwi_plan *plan, const struct hwi_instruction *is, const uint8_t *at)
{
  if (is_jump_without_condition(is))
    return put_jump(plan, target_of(is, at));
  put_byte(plan, 0x0f);
  put_byte(plan, (uint8_t)(0x80 | (is->opcode & 0x0f)));
  return put_distance(plan, target_of(is, at), 0);
}

/* push $low; movl $high, 4(%rsp); jmp target. A call is the last instruction that is replaced, since it is as long as the patch. */
static bool copy_call(struct hwi_plan *plan, const struct hwi_instruction *is, const uint8_t *at)
{
  static const uint8_t store_high[] = {0xc7, 0x44, 0x24, 0x04};
  const uint64_t back = (uintptr_t)at + is->bytes;
  const uint32_t low = (uint32_t)back, high = (uint32_t)(back >> 32);
  put_byte(plan, 0x68);
  hwi_plan_put(plan, &low, sizeof low);
  hwi_plan_put(plan, store_high, sizeof store_high);
  hwi_plan_put(plan, &high, sizeof high);
  return put_jump(plan, target_of(is, at));
}

static bool copy(struct hwi_plan *plan, const struct hwi_instruction *is, const uint8_t *at)
{
  if (is_call(is))
    return copy_call(plan, is, at);
  if (is->relative_off)
    return copy_jump(plan, is, at);
  if (!is->rip_off) {
    hwi_plan_put(plan, at, is->bytes);
    return true;
  }
  const size_t more = is->bytes - is->rip_off - sizeof(int32_t);
  const uintptr_t target = (uintptr_t)at + is->bytes + (uintptr_t)load_signed(at + is->rip_off, sizeof(int32_t));
  hwi_plan_put(plan, at, is->rip_off);
  const bool reaches = put_distance(plan, target, more);
  hwi_plan_put(plan, at + is->rip_off + sizeof(int32_t), more);
  return reaches;
}

/* rdsspq %rax does nothing if there is none. */
static bool has_shadow_stack(void)
{
  uint64_t top = 0;
  __asm__(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(top));
  return top;
}

/* Copies whole instructions until the patch has room, or the code ends. */
static const char *copy_beginning(struct hwi_plan *plan, struct moved *moved)
{
  const uint8_t *end = plan->request->function + plan->request->bytes;
  *moved = (struct moved){.end = plan->begin};
  while (moved->end < plan->begin + JUMP_BYTES && !moved->is_ended) {
    struct hwi_instruction is;
    if (moved->end >= end)
      return HWI_PLAN_OPEN_END;
    if (!hwi_x86_decode(&is, moved->end, (size_t)(end - moved->end)) || !hwi_x86_is_movable(&is) ||
        (is_call(&is) && has_shadow_stack()))
      return HWI_PLAN_IMMOVABLE;
    if (!copy(plan, &is, moved->end))
      return HWI_PLAN_TOO_FAR;
    moved->is_ended = ends_code(&is) || is_call(&is);
    moved->end += is.bytes;
  }
  if (!moved->is_ended && !put_jump(plan, (uintptr_t)moved->end))
    return HWI_PLAN_TOO_FAR;
  return NULL;
}

/* --- what surrounds it --- */

static bool is_padding(const struct hwi_instruction *is)
{
  const bool is_nop = is->map == HWI_X86_0F && is->opcode == 0x1f;
  return is_nop || (is->map == HWI_X86_ONE_BYTE && (is->opcode == 0x90 || is->opcode == 0xcc));
}

/* Of a function that ends before the patch. */
static const char *check_padding(const struct hwi_plan *plan, const struct moved *moved)
{
  const uint8_t *function_end = plan->request->function + plan->request->bytes;
  const uint8_t *at = moved->end,
                *next = (const uint8_t *)(((uintptr_t)function_end + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
  struct hwi_instruction is;
  for (; at < plan->begin + JUMP_BYTES; at += is.bytes)
    if (at >= next || !hwi_x86_decode(&is, at, (size_t)(next - at)) || !is_padding(&is))
      return HWI_PLAN_TOO_SHORT;
  return NULL;
}

const char *hwi_plan_put_original(struct hwi_plan *plan)
{
  struct moved moved;
  hwi_plan_put(plan, endbr64, ENDBR_BYTES);
  const char *why = copy_beginning(plan, &moved);
  return why ? why : check_padding(plan, &moved);
}

const char *hwi_plan_check(const struct hwi_plan *plan, const uint8_t *code, size_t bytes)
{
  struct hwi_instruction is;
  for (const uint8_t *at = code, *end = code + bytes; at < end; at += is.bytes) {
    if (!hwi_x86_decode(&is, at, (size_t)(end - at)))
      return HWI_PLAN_UNKNOWN;
    if (is.relative_off && hwi_plan_is_replaced(plan, target_of(&is, at), JUMP_BYTES))
      return HWI_PLAN_JUMPS_BACK;
  }
  return NULL;
}

/* --- the beginning, and the way out --- */

size_t hwi_plan_pad_bytes(const struct hwi_code_request *request)
{
  return request->bytes >= ENDBR_BYTES && memcmp(request->function, endbr64, ENDBR_BYTES) == 0 ? ENDBR_BYTES : 0;
}

/* movabs $argument, %r9; jmp *(%rip): the address follows. An indirect jump may go only to an endbr64 unless it has the prefix notrack.
 * What is left of the room are breakpoints. */
void hwi_plan_put_entry(struct hwi_plan *plan)
{
  static const uint8_t load[] = {0x49, 0xb9}, jump[] = {0x3e, 0xff, 0x25, 0, 0, 0, 0};
  memset(plan->detour->room, 0xcc, sizeof plan->detour->room);
  hwi_plan_put(plan, load, sizeof load);
  hwi_plan_put(plan, &plan->request->argument, sizeof plan->request->argument);
  hwi_plan_put(plan, jump, sizeof jump);
  hwi_plan_put(plan, &plan->request->wrapper, sizeof plan->request->wrapper);
}

const char *hwi_plan_put_patch(const struct hwi_plan *plan)
{
  struct hwi_code_detour *detour = plan->detour;
  const int64_t distance = (int64_t)(plan->request->room - ((uintptr_t)plan->begin + JUMP_BYTES));
  const int32_t stored = (int32_t)distance;
  if (stored != distance)
    return HWI_PLAN_TOO_FAR;
  detour->patch_at = (uintptr_t)plan->begin;
  detour->patch[0] = 0xe9;
  memcpy(detour->patch + 1, &stored, sizeof stored);
  detour->patch_bytes = JUMP_BYTES;
  return NULL;
}

/* --- writing --- */

void hwi_code_write(const struct hwi_code_detour *detour)
{
  memcpy((void *)detour->patch_at, detour->patch, detour->patch_bytes);
}

/* The CPU sees what it has written itself. */
void hwi_code_sync(const void *start, size_t bytes)
{
  (void)start, (void)bytes;
}
