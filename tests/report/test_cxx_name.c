/* test_cxx_name.c - short names: a name without the part that distinguishes it sends the reader to the wrong place */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>

#include "report/names/cxx_name.h"

static struct hwi_line line;

static const char *name(const char *full, size_t cells)
{
  hwi_line_clear(&line);
  hwi_cxx_name_add(&line, full, cells, "…");
  return hwi_line_text(&line);
}

static void parameters_and_return_types_go(void **state)
{
  (void)state;
  assert_string_equal(name("main", 80), "main");
  assert_string_equal(name("foo::bar(int, char const*) const", 80), "foo::bar");
  assert_string_equal(name("void foo<int>(int)", 80), "foo<int>");
  assert_string_equal(name("std::ostream& operator<< <std::char_traits<char> >(std::ostream&, char)", 80),
                      "operator<< <std::char_traits<char>>");
  assert_string_equal(name("non-virtual thunk to A::f(int)", 80), "A::f");
  assert_string_equal(name("foo(int)::{lambda(int)#1}::operator()(int) const", 80), "foo::{lambda#1}::operator()");
  assert_string_equal(name("std::function<void (int)>::operator()(int) const", 80),
                      "std::function<void (int)>::operator()");
}

static void operators_are_no_brackets(void **state)
{
  (void)state;
  assert_string_equal(name("bool operator< <int>(int, int)", 80), "operator< <int>");
  assert_string_equal(name("A::operator->() const", 80), "A::operator->");
  assert_string_equal(name("A::operator>>(int)", 80), "A::operator>>");
  assert_string_equal(name("A::operator bool() const", 80), "A::operator bool");
  assert_string_equal(name("operator new(unsigned long)", 80), "operator new");
  assert_string_equal(name("my_operator(int)", 80), "my_operator");
}

static void the_library_s_noise_goes(void **state)
{
  (void)state;
  assert_string_equal(name("std::vector<int, std::allocator<int> >::push_back(int const&)", 80),
                      "std::vector<int>::push_back");
  assert_string_equal(
      name("std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, int, "
           "std::less<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >, "
           "std::allocator<std::pair<std::__cxx11::basic_string<char, std::char_traits<char>, "
           "std::allocator<char> > const, int> > >::operator[](std::__cxx11::basic_string<char, "
           "std::char_traits<char>, std::allocator<char> > const&)",
           80),
      "std::map<std::string, int>::operator[]");
  assert_string_equal(name("(anonymous namespace)::pool::pool()", 80), "(anonymous)::pool::pool");
}

static void narrow_names_lose_arguments_then_scopes(void **state)
{
  static const char full[] = "one::two::Three<Four<int>, Five>::six(int)";
  (void)state;
  assert_string_equal(name(full, 80), "one::two::Three<Four<int>, Five>::six");
  assert_string_equal(name(full, 36), "one::two::Three<Four<…>, Five>::six");
  assert_string_equal(name(full, 30), "one::two::Three<…>::six");
  assert_string_equal(name(full, 20), "…two::Three<…>::six");
  assert_string_equal(name(full, 15), "…Three<…>::six");
  assert_string_equal(name(full, 6), "…six");
  assert_string_equal(name("a_function_with_a_rather_long_name", 16), "a_funct…ong_name");
}

static void other_languages_come_through(void **state)
{
  (void)state;
  assert_string_equal(name("<alloc::vec::Vec<T> as core::clone::Clone>::clone", 80),
                      "<alloc::vec::Vec<T> as core::clone::Clone>::clone");
  assert_string_equal(name("core::ops::function::FnOnce::call_once{{vtable.shim}}", 80),
                      "core::ops::function::FnOnce::call_once{{vtable.shim}}");
  assert_string_equal(name("_ZN3barbroken", 80), "_ZN3barbroken");
  assert_string_equal(name("感知::書く(int)", 80), "感知::書く");
}

/* Whatever a symbol table contains: never wider than requested, and nothing that controls a terminal. */
static void garbage_fits_as_well(void **state)
{
  static const char *const garbage[] = {"",
                                        "(",
                                        ")",
                                        "<<<<<<<<<<",
                                        ">>>>",
                                        "operator",
                                        "operator(",
                                        "a<b(c>d)",
                                        "((((((x",
                                        "\033[2J\n\xff\xfe",
                                        "::::::",
                                        "{lambda(",
                                        "a::",
                                        "operator<",
                                        "(anonymous namespace)",
                                        "[abi:cxx11]",
                                        "foo (bar) baz <qux"};
  (void)state;
  for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
    for (size_t cells = 1; cells < 12; cells++) {
      const char *text = name(garbage[i], cells);
      if (hwi_cells(text) > cells)
        fail_msg("'%s' takes more than %zu cells", text, cells);
      for (const char *at = text; *at != '\0'; at++)
        assert_true((unsigned char)*at >= ' ');
    }
  }
}

static int begin(void **state)
{
  (void)state;
  return setlocale(LC_CTYPE, "C.UTF-8") != NULL ? 0 : -1;
}

static int end(void **state)
{
  (void)state;
  hwi_line_release(&line);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_and_return_types_go), cmocka_unit_test(operators_are_no_brackets),
      cmocka_unit_test(the_library_s_noise_goes),       cmocka_unit_test(narrow_names_lose_arguments_then_scopes),
      cmocka_unit_test(other_languages_come_through),   cmocka_unit_test(garbage_fits_as_well),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
