/* test_listen.c - the names by which a request may call the server; breaks if another site's name for this machine
 * is one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "live/listen.h"

static void test_addresses_and_localhost_are_names(void **state)
{
  static const char *const names[] = {"127.0.0.1:4242",    "localhost:4242", "LOCALHOST:4242",
                                      "192.168.1.20:4242", "[::1]:4242",     "[fe80::1]:4242"};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    assert_true(hwi_live_is_host(names[i], 4242));
}

static void test_all_else_is_no_name(void **state)
{
  static const char *const names[] = {"",
                                      ":4242",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:424",
                                      "127.0.0.1:42420",
                                      "127.0.0.1:4242:4242",
                                      "evil.example:4242",
                                      "127.0.0.1.evil.example:4242",
                                      "localhost.evil.example:4242",
                                      "localhost@evil.example:4242",
                                      "::1:4242",
                                      "[::1:4242",
                                      "[]:4242",
                                      "[::1]",
                                      "127.1:4242",
                                      " 127.0.0.1:4242"};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    assert_false(hwi_live_is_host(names[i], 4242));
}

static void test_browsers_leave_out_the_usual_port(void **state)
{
  (void)state;
  assert_true(hwi_live_is_host("127.0.0.1", 80));
  assert_true(hwi_live_is_host("[::1]", 80));
  assert_true(hwi_live_is_host("localhost:80", 80));
  assert_false(hwi_live_is_host("evil.example", 80));
  assert_false(hwi_live_is_host("", 80));
}

static void test_who_can_reach_it(void **state)
{
  static const struct {
    const char *address, *host;
    bool is_public;
  } cases[] = {{"127.0.0.1", "127.0.0.1:", false},
               {"127.1.2.3", "127.1.2.3:", false},
               {"0.0.0.0", "127.0.0.1:", true},
               {"::1", "[::1]:", false},
               {"::", "[::1]:", true}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hwi_live_listener listener;
    struct hwi_error error;
    if (hwi_live_listen(&listener, cases[i].address, 0, &error) < 0) {
      assert_int_not_equal(error.os_error, EINVAL); /* a machine without IPv6 */
      continue;
    }
    assert_memory_equal(listener.host, cases[i].host, strlen(cases[i].host));
    assert_int_equal(listener.is_public, cases[i].is_public);
    assert_true(hwi_live_is_host(listener.host, listener.port));
    close(listener.fd);
  }
}

static void test_addresses_with_ports(void **state)
{
  static const struct {
    const char *text, *address;
    uint16_t port;
  } cases[] = {{"127.0.0.1", "127.0.0.1", 9},
               {"127.0.0.1:80", "127.0.0.1", 80},
               {"0.0.0.0:65535", "0.0.0.0", 65535},
               {"::1", "::1", 9},
               {"[::1]", "::1", 9},
               {"[::]:0", "::", 0},
               {"[fe80::1]:42", "fe80::1", 42}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char address[HWI_LIVE_HOST_BYTES];
    uint16_t port;
    struct hwi_error error;
    assert_int_equal(hwi_live_split(cases[i].text, 9, address, &port, &error), 0);
    assert_string_equal(address, cases[i].address);
    assert_int_equal(port, cases[i].port);
  }
}

static void test_what_is_no_address_with_a_port(void **state)
{
  static const char *const texts[] = {"",
                                      ":80",
                                      "80",
                                      "localhost",
                                      "localhost:80",
                                      "127.0.0.1:",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:-1",
                                      "127.0.0.1: 80",
                                      "127.0.0.1:80x",
                                      "127.0.0.1:000080",
                                      "127.1:80",
                                      "[::1",
                                      "[]",
                                      "[::1]80",
                                      "[::1]:",
                                      "::1]",
                                      "[127.0.0.1]x",
                                      "fe80::1%lo:80",
                                      "0123456789012345678901234567890123456789012345678901234567890123456789"};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char address[HWI_LIVE_HOST_BYTES];
    uint16_t port;
    struct hwi_error error;
    assert_int_equal(hwi_live_split(texts[i], 9, address, &port, &error), HW_ERR_USAGE);
    assert_non_null(strstr(error.text, texts[i]));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_addresses_and_localhost_are_names),
      cmocka_unit_test(test_all_else_is_no_name),
      cmocka_unit_test(test_browsers_leave_out_the_usual_port),
      cmocka_unit_test(test_who_can_reach_it),
      cmocka_unit_test(test_addresses_with_ports),
      cmocka_unit_test(test_what_is_no_address_with_a_port),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
