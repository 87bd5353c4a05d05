/* test_demangle.c - breaks if users cannot read names, if clones are listed separately, or if forged names use up all
 * memory */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/demangle.h"

static void check(const char *mangled, const char *expected)
{
  char *shown = hwi_demangle(mangled);
  assert_string_equal(shown, expected);
  free(shown);
}

static void names_that_are_not_mangled_stay(void **state)
{
  (void)state;
  check("main", "main");
  check("", "");
  check("_", "_");
  check("_Zzz", "_Zzz");
  check("_start", "_start");
  check("a.b", "a.b");
}

static void cxx_names_have_parameters_and_no_return_type(void **state)
{
  (void)state;
  check("_ZN2ns3BoxIiE3addEi", "ns::Box<int>::add(int)");
  check("_Z3maxIiET_S0_S0_", "max<int>(int, int)");
  check("_ZNK2ns3BoxIiEclEi", "ns::Box<int>::operator()(int) const");
  check("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const");
  check("_ZN12_GLOBAL__N_16hiddenEv", "(anonymous namespace)::hidden()");
  check("_Znwm", "operator new(unsigned long)");
}

static void rust_names_lose_their_hash(void **state)
{
  (void)state;
  check("_ZN5alloc7raw_vec11finish_grow17h0123456789abcdefE", "alloc::raw_vec::finish_grow");
  check("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
        "<Test + 'static as foo::Bar<Test>>::bar");
  check("_RNvCs1234_7mycrate3foo", "mycrate::foo");
  check("_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>");
}

static void d_names_are_shown_as_d(void **state)
{
  (void)state;
  check("_D8demangle4testFaZv", "demangle.test(char)");
  check("_Dmain", "D main");
}

static void clones_and_versions_have_the_name_of_the_function(void **state)
{
  (void)state;
  check("grow.cold", "grow");
  check("grow.part.0", "grow");
  check("grow.constprop.0.isra.1", "grow");
  check("_Z4growv.cold", "grow()");
  check("grow.lto_priv.12", "grow");
  check("_ZN3foo3bar17h05af221e174051e9E.llvm.1234567890", "foo::bar");
  check("memcpy@@GLIBC_2.14", "memcpy");
}

/* make(Box<Box<...int...> >, ...): longer than libiberty's own limit allows. */
static void long_names_are_shown_whole(void **state)
{
  (void)state;
  enum { PARAMETERS = 200, NESTED = 20 };
  static const char part[] = "3BoxI";
  char *mangled = malloc(PARAMETERS * NESTED * sizeof part + 1024);
  memcpy(mangled, "_Z4make", 7);
  char *end = mangled + 7;
  for (int parameter = 0; parameter < PARAMETERS; parameter++) {
    for (int i = 0; i < NESTED; i++, end += sizeof part - 1)
      memcpy(end, part, sizeof part - 1);
    *end++ = 'i';
    memset(end, 'E', NESTED);
    end += NESTED;
  }
  *end = '\0';
  char *shown = hwi_demangle(mangled);
  assert_memory_equal(shown, "make(Box<Box<", 13);
  size_t opened = 0, commas = 0;
  for (const char *at = shown; *at; at++) {
    opened += *at == '<';
    commas += *at == ',';
  }
  assert_int_equal(opened, PARAMETERS * NESTED);
  assert_int_equal(commas, PARAMETERS - 1);
  assert_string_equal(shown + strlen(shown) - 4, "> >)");
  free(shown);
  free(mangled);
}

/* Each parameter is a pair of the previous one: the result doubles with every few letters. */
static char *demangle_doubled(unsigned doublings, char mangled[512])
{
  static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  size_t at = (size_t)snprintf(mangled, 512, "_Z1f1PIiiE");
  for (unsigned i = 0; i < doublings && i < sizeof digits - 1; i++) /* S_ is P, S0_ is P<int, int>, S1_ the next pair */
    at += (size_t)snprintf(mangled + at, 512 - at, "S_IS%c_S%c_E", digits[i], digits[i]);
  return hwi_demangle(mangled);
}

static void names_that_explode_are_left_as_they_are(void **state)
{
  (void)state;
  char mangled[512];
  char *shown = demangle_doubled(1, mangled);
  assert_string_equal(shown, "f(P<int, int>, P<P<int, int>, P<int, int> >)");
  free(shown);
  shown = demangle_doubled(36, mangled);
  assert_string_equal(shown, mangled);
  free(shown);
}

static void garbage_is_survived(void **state)
{
  (void)state;
  static const char letters[] = "_ZNKSt3fooIiELPRTd0E17h.@$CvJXDuul";
  uint32_t seed = 1;
  for (int round = 0; round < 20000; round++) {
    char name[200] = "_Z";
    size_t length = 2 + (seed >> 16) % (sizeof name - 3);
    if (round % 3 == 0)
      name[1] = 'R';
    for (size_t i = 2; i < length; i++) {
      seed = seed * 1103515245 + 12345;
      name[i] = letters[(seed >> 16) % (sizeof letters - 1)];
    }
    char *shown = hwi_demangle(name);
    assert_non_null(shown);
    free(shown);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_that_are_not_mangled_stay),
      cmocka_unit_test(cxx_names_have_parameters_and_no_return_type),
      cmocka_unit_test(rust_names_lose_their_hash),
      cmocka_unit_test(d_names_are_shown_as_d),
      cmocka_unit_test(clones_and_versions_have_the_name_of_the_function),
      cmocka_unit_test(long_names_are_shown_whole),
      cmocka_unit_test(names_that_explode_are_left_as_they_are),
      cmocka_unit_test(garbage_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
