/* test_class_names.c - the name to which the table of a class leads: of what is right, of what is not, and of any bytes
 *
 * Breaks if something else than the table of a class gets a name, or if a word of memory is trusted.
 */
#include "made_memory.h"

#include "memory/types/class_names.h"

enum {
  TABLE = DATA + 0x20,
  INFO = DATA + 0x100,
  KIND_TABLE = DATA + 0x220,
  KIND = DATA + 0x300,
  NAME = CODE + 0x100,
  KIND_NAME = CODE + 0x800,
  RANDOM_ROUNDS = 40,
};

static const char usual_kind[] = "N10__cxxabiv120__si_class_type_infoE";
static const struct hwi_core_module module = {.path = "/bin/program", .begin = CODE, .end = BSS + PAGE};
static const struct hwi_core_modules modules = {.modules = (struct hwi_core_module *)(uintptr_t)&module, .count = 1};

static void put_text(struct made *made, uint64_t at, const char *text)
{
  struct hwi_memory_reader reader = {.memory = &made->memory};
  unsigned char *to = (unsigned char *)(uintptr_t)hwi_memory_bytes(&reader, at, strlen(text) + 1);
  assert_non_null(to);
  memcpy(to, text, strlen(text) + 1);
}

static void make(struct made *made, const char *name, unsigned word, bool swaps)
{
  made_init(made, PAGE);
  made->memory.word_bytes = word;
  made->memory.swaps_bytes = swaps;
  made_set(made, TABLE - word, INFO);
  made_set(made, INFO, KIND_TABLE);
  made_set(made, INFO + word, NAME);
  made_set(made, KIND_TABLE - word, KIND);
  made_set(made, KIND + word, KIND_NAME);
  put_text(made, NAME, name);
  put_text(made, KIND_NAME, usual_kind);
}

/* The caller frees it. */
static char *name_of(struct made *made, uint64_t table)
{
  struct hwi_module_bytes bytes = {.memory = &made->memory, .modules = &modules};
  char *name = hwi_class_name_of(&bytes, table);
  hwi_module_bytes_release(&bytes);
  return name;
}

static void check(struct made *made, const char *expected)
{
  char *name = name_of(made, TABLE);
  if (expected)
    assert_string_equal(name, expected);
  else
    assert_null(name);
  free(name);
}

static void test_names(void **state)
{
  (void)state;
  static const struct {
    const char *mangled, *expected;
  } names[] = {
      {"3Foo", "Foo"},
      {"N4shop4BookE", "shop::Book"},
      {"*N12_GLOBAL__N_13FooE", "(anonymous namespace)::Foo"},
      {"Z4mainE5Local", "main::Local"},
      {"St9exception", "std::exception"},
      {"N4shop3BoxIiN3ape3KeyEEE", "shop::Box<int, ape::Key>"},
      {"3\xc3\xa4s", "\xc3\xa4s"},
      {"i", NULL},
      {"P3Foo", NULL},
      {"F3FoovE", NULL},
      {"", NULL},
      {"*", NULL},
      {"4Foo", NULL},
      {"N4shop4Book", NULL},
      {"12", NULL},
      {"3Foo ", NULL},
      {"3Foo\n", NULL},
      {"3F.o", NULL},
      {"99999999999Foo", NULL},
      {"N", NULL},
      {"words of a text", NULL},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (unsigned word = 4; word <= 8; word += 4)
      for (int swaps = 0; swaps < 2; swaps++) {
        struct made made;
        make(&made, names[i].mangled, word, swaps);
        check(&made, names[i].expected);
        made_release(&made);
      }
}

static void test_kinds(void **state)
{
  (void)state;
  static const struct {
    const char *kind;
    bool is_right;
  } kinds[] = {{"N10__cxxabiv117__class_type_infoE", true},
               {"N10__cxxabiv120__si_class_type_infoE", true},
               {"N10__cxxabiv121__vmi_class_type_infoE", true},
               {"N10__cxxabiv119__pointer_type_infoE", false},
               {"N10__cxxabiv120__function_type_infoE", false},
               {"3Foo", false},
               {"", false}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    struct made made;
    make(&made, "3Foo", 8, false);
    put_text(&made, KIND_NAME, kinds[i].kind);
    check(&made, kinds[i].is_right ? "Foo" : NULL);
    made_release(&made);
  }
}

/* The read-only data of the C++ library of another machine is nowhere; its other data is in a core dump. */
static void test_library_of_another_machine(void **state)
{
  (void)state;
  const struct hwi_core_module two[] = {module,
                                        {.path = "/no/libstdc++.so.6", .begin = HEAP * 2, .end = HEAP * 2 + PAGE}};
  const struct hwi_core_modules both = {.modules = (struct hwi_core_module *)(uintptr_t)two, .count = 2};
  struct made made;
  make(&made, "3Foo", 8, false);
  made_set(&made, KIND + 8, HEAP * 2 + 100);
  check(&made, NULL);
  struct hwi_module_bytes bytes = {.memory = &made.memory, .modules = &both};
  char *name = hwi_class_name_of(&bytes, TABLE);
  assert_string_equal(name, "Foo");
  free(name);
  hwi_module_bytes_release(&bytes);
  made_release(&made);
}

/* Each word that leads to the name is needed. */
static void test_each_word(void **state)
{
  (void)state;
  static const uint64_t places[] = {TABLE - 16, TABLE - 8, INFO, INFO + 8, KIND_TABLE - 8, KIND + 8};
  static const uint64_t values[] = {1,    8,          12345,   UINT64_MAX, UINT64_MAX - 8, MAPPED + 4096 - 4,
                                    HEAP, NAME + 200, INFO + 1};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
      struct made made;
      make(&made, "3Foo", 8, false);
      made_set(&made, places[i], values[k]);
      check(&made, NULL);
      made_release(&made);
    }
}

/* A name that does not end before its memory does, and one that is longer than any real one. */
static void test_endless_names(void **state)
{
  (void)state;
  struct made made;
  make(&made, "3Foo", 8, false);
  for (uint64_t at = NAME; at < CODE + PAGE; at += 8)
    made_set(&made, at, UINT64_C(0x3131313131313131));
  put_text(&made, KIND_NAME, usual_kind);
  check(&made, NULL);
  made_release(&made);
}

static uint64_t seed = 12345;

static uint64_t any(void)
{
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return seed >> 16;
}

static void test_any_bytes(void **state)
{
  (void)state;
  static const uint64_t bases[] = {CODE, DATA, BSS, MAPPED, HEAP, 0};
  for (int round = 0; round < RANDOM_ROUNDS; round++) {
    struct made made;
    make(&made, "N4shop4BookE", round % 2 ? 8 : 4, round % 3 == 0);
    for (int i = 0; i < 600; i++)
      made_set(&made, (any() % 2 ? CODE : DATA) + any() % (PAGE / 8) * 8,
               any() % 4 ? bases[any() % 6] + any() % PAGE / 8 * 8 : any());
    for (uint64_t at = CODE; at < BSS + PAGE; at += 4)
      free(name_of(&made, at));
    made_release(&made);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_library_of_another_machine),
      cmocka_unit_test(test_each_word),
      cmocka_unit_test(test_endless_names),
      cmocka_unit_test(test_any_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
