/* code_x86_64.c - detours of functions of x86-64
 *
 * The room has two parts. The entry, to which the patch jumps, loads the wrapper's argument into the register of the sixth
 * argument, and jumps to the wrapper: the stack is as the caller left it, so that the wrapper's caller is the function's. The
 * original is the copy of the first instructions, with a jump to the rest.
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
#include "platform/code_x86_64.h"
#include "platform/code.h"

#include <string.h>

enum {
  JUMP_BYTES = 5,
  ENDBR_BYTES = 4,
  ORIGINAL_OFF = 48, /* of the second part of the room */
  ALIGNMENT = 16,
};

static const uint8_t endbr64[ENDBR_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa};

struct plan {
  struct hwi_code_detour *detour;
  const struct hwi_code_request *request;
  const uint8_t *begin; /* of what is replaced */
  const uint8_t *end;   /* after the last instruction that is moved */
  size_t used;          /* bytes of the room */
  bool is_ended;        /* the last one does not continue with the next */
};

const char *hwi_code_obstacle(void)
{
  return NULL;
}

static int64_t load_signed(const uint8_t *at, size_t bytes)
{
  int32_t wide;
  if (bytes == 1)
    return (int8_t)*at;
  memcpy(&wide, at, sizeof wide);
  return wide;
}

static void put_bytes(struct plan *plan, const void *bytes, size_t count)
{
  memcpy(plan->detour->room + plan->used, bytes, count);
  plan->used += count;
}

static void put_byte(struct plan *plan, uint8_t byte)
{
  put_bytes(plan, &byte, 1);
}

/* Writes the distance to `target` from the instruction that ends with it and `more` bytes. Returns false if it is too large. */
static bool put_distance(struct plan *plan, uintptr_t target, size_t more)
{
  const int64_t distance = (int64_t)(target - (plan->request->room + plan->used + sizeof(int32_t) + more));
  const int32_t stored = (int32_t)distance;
  put_bytes(plan, &stored, sizeof stored);
  return stored == distance;
}

static bool put_jump(struct plan *plan, uintptr_t target)
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

static bool copy_jump(struct plan *plan, const struct hwi_instruction *is, const uint8_t *at)
{
  if (is_jump_without_condition(is))
    return put_jump(plan, target_of(is, at));
  put_byte(plan, 0x0f);
  put_byte(plan, (uint8_t)(0x80 | (is->opcode & 0x0f)));
  return put_distance(plan, target_of(is, at), 0);
}

/* push $low; movl $high, 4(%rsp); jmp target. A call is the last instruction that is replaced, since it is as long as the patch. */
static bool copy_call(struct plan *plan, const struct hwi_instruction *is, const uint8_t *at)
{
  static const uint8_t store_high[] = {0xc7, 0x44, 0x24, 0x04};
  const uint64_t back = (uintptr_t)at + is->bytes;
  const uint32_t low = (uint32_t)back, high = (uint32_t)(back >> 32);
  put_byte(plan, 0x68);
  put_bytes(plan, &low, sizeof low);
  put_bytes(plan, store_high, sizeof store_high);
  put_bytes(plan, &high, sizeof high);
  return put_jump(plan, target_of(is, at));
}

static bool copy(struct plan *plan, const struct hwi_instruction *is, const uint8_t *at)
{
  if (is_call(is))
    return copy_call(plan, is, at);
  if (is->relative_off)
    return copy_jump(plan, is, at);
  if (!is->rip_off) {
    put_bytes(plan, at, is->bytes);
    return true;
  }
  const size_t more = is->bytes - is->rip_off - sizeof(int32_t);
  const uintptr_t target = (uintptr_t)at + is->bytes + (uintptr_t)load_signed(at + is->rip_off, sizeof(int32_t));
  put_bytes(plan, at, is->rip_off);
  const bool reaches = put_distance(plan, target, more);
  put_bytes(plan, at + is->rip_off + sizeof(int32_t), more);
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
static const char *copy_beginning(struct plan *plan)
{
  const uint8_t *end = plan->request->function + plan->request->bytes;
  plan->end = plan->begin;
  while (plan->end < plan->begin + JUMP_BYTES && !plan->is_ended) {
    struct hwi_instruction is;
    if (plan->end >= end)
      return "goes on in another function";
    if (!hwi_x86_decode(&is, plan->end, (size_t)(end - plan->end)) || !hwi_x86_is_movable(&is) ||
        (is_call(&is) && has_shadow_stack()))
      return "begins with an instruction that cannot be moved";
    if (!copy(plan, &is, plan->end))
      return "is too far from free memory";
    plan->is_ended = ends_code(&is) || is_call(&is);
    plan->end += is.bytes;
  }
  if (!plan->is_ended && !put_jump(plan, (uintptr_t)plan->end))
    return "is too far from free memory";
  return NULL;
}

/* --- what surrounds it --- */

static bool is_padding(const struct hwi_instruction *is)
{
  const bool is_nop = is->map == HWI_X86_0F && is->opcode == 0x1f;
  return is_nop || (is->map == HWI_X86_ONE_BYTE && (is->opcode == 0x90 || is->opcode == 0xcc));
}

/* Of a function that ends before the patch. */
static const char *check_padding(const struct plan *plan)
{
  const uint8_t *function_end = plan->request->function + plan->request->bytes;
  const uint8_t *at = plan->end,
                *next = (const uint8_t *)(((uintptr_t)function_end + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
  struct hwi_instruction is;
  for (; at < plan->begin + JUMP_BYTES; at += is.bytes)
    if (at >= next || !hwi_x86_decode(&is, at, (size_t)(next - at)) || !is_padding(&is))
      return "is too short for a jump";
  return NULL;
}

static bool jumps_into(const struct plan *plan, const struct hwi_instruction *is, const uint8_t *at)
{
  if (!is->relative_off)
    return false;
  const uintptr_t target = target_of(is, at);
  return target > (uintptr_t)plan->request->function && target < (uintptr_t)plan->begin + JUMP_BYTES;
}

static const char *check_code(const struct plan *plan, const uint8_t *code, size_t bytes)
{
  struct hwi_instruction is;
  for (const uint8_t *at = code, *end = code + bytes; at < end; at += is.bytes) {
    if (!hwi_x86_decode(&is, at, (size_t)(end - at)))
      return "has an instruction that is not known here";
    if (jumps_into(plan, &is, at))
      return "jumps back to its first instructions";
  }
  return NULL;
}

/* --- all of it --- */

/* movabs $argument, %r9; jmp *(%rip): the address follows. An indirect jump may go only to an endbr64 unless it has the prefix notrack. */
static void put_entry(struct plan *plan)
{
  static const uint8_t load[] = {0x49, 0xb9}, jump[] = {0x3e, 0xff, 0x25, 0, 0, 0, 0};
  put_bytes(plan, load, sizeof load);
  put_bytes(plan, &plan->request->argument, sizeof plan->request->argument);
  put_bytes(plan, jump, sizeof jump);
  put_bytes(plan, &plan->request->wrapper, sizeof plan->request->wrapper);
}

static const char *put_patch(const struct plan *plan)
{
  struct hwi_code_detour *detour = plan->detour;
  const int64_t distance = (int64_t)(plan->request->room - ((uintptr_t)plan->begin + JUMP_BYTES));
  const int32_t stored = (int32_t)distance;
  if (stored != distance)
    return "is too far from free memory";
  detour->patch_at = (uintptr_t)plan->begin;
  detour->patch[0] = 0xe9;
  memcpy(detour->patch + 1, &stored, sizeof stored);
  detour->patch_bytes = JUMP_BYTES;
  return NULL;
}

const char *hwi_code_plan(struct hwi_code_detour *detour, const struct hwi_code_request *request)
{
  struct plan plan = {.detour = detour, .request = request, .begin = request->function};
  const char *why;
  *detour = (struct hwi_code_detour){.original = request->room + ORIGINAL_OFF};
  memset(detour->room, 0xcc, sizeof detour->room);
  if (request->bytes >= ENDBR_BYTES && memcmp(request->function, endbr64, ENDBR_BYTES) == 0)
    plan.begin += ENDBR_BYTES;
  put_entry(&plan);
  plan.used = ORIGINAL_OFF;
  put_bytes(&plan, endbr64, ENDBR_BYTES);
  if ((why = copy_beginning(&plan)) || (why = check_padding(&plan)) ||
      (why = check_code(&plan, request->function, request->bytes)) ||
      (why = check_code(&plan, request->cold, request->cold_bytes)))
    return why;
  return put_patch(&plan);
}
