/* cfi_expression.c - computes DWARF expressions, with the operations that CFI may use */
#include "record/unwind/cfi_internal.h"

enum { MOST_WORDS = 32, MOST_OPERATIONS = 512, WORD_BITS = 64 };

/* DW_OP_* */
enum {
  OP_ADDR = 0x03,
  OP_DEREF = 0x06,
  OP_CONST1U = 0x08,
  OP_CONST1S = 0x09,
  OP_CONST2U = 0x0a,
  OP_CONST2S = 0x0b,
  OP_CONST4U = 0x0c,
  OP_CONST4S = 0x0d,
  OP_CONST8U = 0x0e,
  OP_CONST8S = 0x0f,
  OP_CONSTU = 0x10,
  OP_CONSTS = 0x11,
  OP_DUP = 0x12,
  OP_DROP = 0x13,
  OP_OVER = 0x14,
  OP_PICK = 0x15,
  OP_SWAP = 0x16,
  OP_ROT = 0x17,
  OP_ABS = 0x19,
  OP_AND = 0x1a,
  OP_DIV = 0x1b,
  OP_MINUS = 0x1c,
  OP_MOD = 0x1d,
  OP_MUL = 0x1e,
  OP_NEG = 0x1f,
  OP_NOT = 0x20,
  OP_OR = 0x21,
  OP_PLUS = 0x22,
  OP_PLUS_UCONST = 0x23,
  OP_SHL = 0x24,
  OP_SHR = 0x25,
  OP_SHRA = 0x26,
  OP_XOR = 0x27,
  OP_BRA = 0x28,
  OP_EQ = 0x29,
  OP_GE = 0x2a,
  OP_GT = 0x2b,
  OP_LE = 0x2c,
  OP_LT = 0x2d,
  OP_NE = 0x2e,
  OP_SKIP = 0x2f,
  OP_LIT0 = 0x30,
  OP_LIT31 = 0x4f,
  OP_BREG0 = 0x70,
  OP_BREG31 = 0x8f,
  OP_BREGX = 0x92,
  OP_DEREF_SIZE = 0x94,
  OP_NOP = 0x96,
};

struct state {
  const struct hwi_cfi_machine *machine;
  struct hwi_cfi_cursor code;
  const uint8_t *start;
  uint32_t count;
  uint64_t words[MOST_WORDS];
};

static bool push(struct state *state, uint64_t word)
{
  if (state->count == MOST_WORDS)
    return false;
  state->words[state->count++] = word;
  return true;
}

/* Returns the word `depth` below the top, or NULL if the stack has fewer words. */
static uint64_t *word_below(struct state *state, uint64_t depth)
{
  return depth < state->count ? &state->words[state->count - 1 - depth] : NULL;
}

static bool push_register(struct state *state, uint64_t which, int64_t offset)
{
  const struct hwi_registers *registers = state->machine->registers;
  return which < HWI_REG_COUNT && registers->known >> which & 1 &&
         push(state, registers->value[which] + (uint64_t)offset);
}

static bool push_copy(struct state *state, uint64_t depth)
{
  const uint64_t *word = word_below(state, depth);
  return word && push(state, *word);
}

static bool dereference(struct state *state, uint64_t bytes)
{
  uint64_t *top = word_below(state, 0);
  uintptr_t word;
  if (!top || bytes == 0 || bytes > sizeof word || !state->machine->load(state->machine->context, *top, &word))
    return false;
  *top = bytes == sizeof word ? word : word & ((UINT64_C(1) << 8 * bytes) - 1);
  return true;
}

static bool jump(struct state *state, int64_t distance)
{
  if (state->code.bad || distance < state->start - state->code.at || distance > state->code.end - state->code.at)
    return false;
  state->code.at += distance;
  return true;
}

static bool jump_if(struct state *state)
{
  int64_t distance = hwi_cfi_cursor_signed_bytes(&state->code, 2);
  if (state->count == 0)
    return false;
  return state->words[--state->count] == 0 || jump(state, distance);
}

static bool rotate(struct state *state, uint32_t count)
{
  if (state->count < count)
    return false;
  uint64_t *low = &state->words[state->count - count], top = low[count - 1];
  memmove(low + 1, low, (count - 1) * sizeof *low);
  *low = top;
  return true;
}

static uint64_t shift_right_signed(uint64_t word, uint64_t by)
{
  return (uint64_t)((int64_t)word >> (by < WORD_BITS ? by : WORD_BITS - 1));
}

static bool divide(uint64_t left, uint64_t right, uint64_t *result)
{
  if (right == 0)
    return false;
  *result = right == UINT64_MAX ? 0 - left : (uint64_t)((int64_t)left / (int64_t)right); /* INT64_MIN / -1 would trap */
  return true;
}

static bool compute_comparison(uint8_t operation, int64_t left, int64_t right, uint64_t *result)
{
  switch (operation) {
  case OP_EQ:
    *result = left == right;
    return true;
  case OP_GE:
    *result = left >= right;
    return true;
  case OP_GT:
    *result = left > right;
    return true;
  case OP_LE:
    *result = left <= right;
    return true;
  case OP_LT:
    *result = left < right;
    return true;
  case OP_NE:
    *result = left != right;
    return true;
  default:
    return false; /* not an operation that CFI may use */
  }
}

static bool compute_pair(uint8_t operation, uint64_t left, uint64_t right, uint64_t *result)
{
  switch (operation) {
  case OP_AND:
    *result = left & right;
    return true;
  case OP_DIV:
    return divide(left, right, result);
  case OP_MINUS:
    *result = left - right;
    return true;
  case OP_MOD:
    if (right == 0)
      return false;
    *result = left % right;
    return true;
  case OP_MUL:
    *result = left * right;
    return true;
  case OP_OR:
    *result = left | right;
    return true;
  case OP_PLUS:
    *result = left + right;
    return true;
  case OP_SHL:
    *result = right < WORD_BITS ? left << right : 0;
    return true;
  case OP_SHR:
    *result = right < WORD_BITS ? left >> right : 0;
    return true;
  case OP_SHRA:
    *result = shift_right_signed(left, right);
    return true;
  case OP_XOR:
    *result = left ^ right;
    return true;
  default:
    return compute_comparison(operation, (int64_t)left, (int64_t)right, result);
  }
}

static bool run_pair(struct state *state, uint8_t operation)
{
  if (state->count < 2)
    return false;
  state->count--;
  uint64_t *left = &state->words[state->count - 1];
  return compute_pair(operation, *left, left[1], left);
}

static bool run_single(struct state *state, uint8_t operation)
{
  uint64_t *top = word_below(state, 0);
  if (!top)
    return false;
  switch (operation) {
  case OP_ABS:
    *top = (int64_t)*top < 0 ? 0 - *top : *top;
    return true;
  case OP_NEG:
    *top = 0 - *top;
    return true;
  case OP_NOT:
    *top = ~*top;
    return true;
  case OP_DROP:
    state->count--;
    return true;
  default: /* OP_PLUS_UCONST */
    *top += hwi_cfi_cursor_uleb(&state->code);
    return true;
  }
}

static bool run_constant(struct state *state, uint8_t operation)
{
  struct hwi_cfi_cursor *code = &state->code;
  switch (operation) {
  case OP_CONST1U:
    return push(state, hwi_cfi_cursor_bytes(code, 1));
  case OP_CONST1S:
    return push(state, (uint64_t)hwi_cfi_cursor_signed_bytes(code, 1));
  case OP_CONST2U:
    return push(state, hwi_cfi_cursor_bytes(code, 2));
  case OP_CONST2S:
    return push(state, (uint64_t)hwi_cfi_cursor_signed_bytes(code, 2));
  case OP_CONST4U:
    return push(state, hwi_cfi_cursor_bytes(code, 4));
  case OP_CONST4S:
    return push(state, (uint64_t)hwi_cfi_cursor_signed_bytes(code, 4));
  case OP_CONSTU:
    return push(state, hwi_cfi_cursor_uleb(code));
  case OP_CONSTS:
    return push(state, (uint64_t)hwi_cfi_cursor_sleb(code));
  default: /* OP_ADDR, OP_CONST8U, OP_CONST8S */
    return push(state, hwi_cfi_cursor_bytes(code, 8));
  }
}

static bool run_operation(struct state *state, uint8_t operation)
{
  struct hwi_cfi_cursor *code = &state->code;
  uint64_t which;
  switch (operation) {
  case OP_LIT0 ... OP_LIT31:
    return push(state, operation - OP_LIT0);
  case OP_BREG0 ... OP_BREG31:
    return push_register(state, operation - OP_BREG0, hwi_cfi_cursor_sleb(code));
  case OP_BREGX:
    which = hwi_cfi_cursor_uleb(code);
    return push_register(state, which, hwi_cfi_cursor_sleb(code));
  case OP_ADDR:
  case OP_CONST1U ... OP_CONSTS:
    return run_constant(state, operation);
  case OP_DEREF:
    return dereference(state, sizeof(uintptr_t));
  case OP_DEREF_SIZE:
    return dereference(state, hwi_cfi_cursor_bytes(code, 1));
  case OP_DUP:
    return push_copy(state, 0);
  case OP_OVER:
    return push_copy(state, 1);
  case OP_PICK:
    return push_copy(state, hwi_cfi_cursor_bytes(code, 1));
  case OP_SWAP:
    return rotate(state, 2);
  case OP_ROT:
    return rotate(state, 3);
  case OP_DROP:
  case OP_ABS:
  case OP_NEG:
  case OP_NOT:
  case OP_PLUS_UCONST:
    return run_single(state, operation);
  case OP_SKIP:
    return jump(state, hwi_cfi_cursor_signed_bytes(code, 2));
  case OP_BRA:
    return jump_if(state);
  case OP_NOP:
    return true;
  default:
    return run_pair(state, operation);
  }
}

struct hwi_cfi_cursor hwi_expression_at(struct hwi_cfi_span span, int32_t place)
{
  struct hwi_cfi_cursor cursor = {.at = (const uint8_t *)span.low + place, .end = (const uint8_t *)span.high};
  struct hwi_cfi_cursor after = cursor;
  uint64_t bytes = hwi_cfi_cursor_uleb(&after);
  cursor = after;
  hwi_cfi_cursor_skip(&after, bytes);
  cursor.end = after.at;
  cursor.bad = after.bad;
  return cursor;
}

__attribute__((noinline)) bool hwi_expression_value(const struct hwi_cfi_machine *machine, struct hwi_cfi_span span,
                                                    int32_t place, const uintptr_t *initial, uintptr_t *value)
{
  struct state state;
  state.machine = machine;
  state.code = hwi_expression_at(span, place);
  state.start = state.code.at;
  state.count = 0;
  if (state.code.bad || (initial && !push(&state, *initial)))
    return false;
  for (uint32_t i = 0; state.code.at < state.code.end; i++)
    if (i == MOST_OPERATIONS || !run_operation(&state, *state.code.at++) || state.code.bad)
      return false;
  if (state.count == 0)
    return false;
  *value = state.words[state.count - 1];
  return true;
}
