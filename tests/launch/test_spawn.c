/* test_spawn.c - if a command is killed before it could execute its program, the exit status shows the signal
 *
 * Breaks if that is taken for a program that cannot be executed: `record` used to exit with 126 and report a broken
 * pipe.
 */
#include "launch/start/spawn.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

static struct hwi_signals signals;
static char *nothing[] = {(char *)"true", NULL};

static int begin(void **state)
{
  (void)state;
  hwi_signals_take(&signals); /* as the launcher does: SIGPIPE does not end it */
  return 0;
}

static struct hwi_spawned spawn(const char *path)
{
  struct hwi_spawned spawned;
  const struct hwi_spawn_plan plan = {path, nothing, &signals};
  assert_int_equal(hwi_spawn(&spawned, &plan), 0);
  return spawned;
}

static void killed_while_it_waits(void **state)
{
  (void)state;
  int status;
  siginfo_t ended;
  char *variables[] = {(char *)"A=B", NULL};
  struct hwi_spawned spawned = spawn("/bin/true");
  kill(spawned.pid, SIGKILL);
  assert_int_equal(waitid(P_PID, (id_t)spawned.pid, &ended, WEXITED | WNOWAIT), 0);
  assert_int_equal(hwi_spawn_go(&spawned, variables), 0);
  assert_int_equal(waitpid(spawned.pid, &status, 0), spawned.pid);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* More than the pipe can hold: the launcher is still sending when the process ends. */
static void killed_while_it_is_sent_its_variables(void **state)
{
  (void)state;
  enum { LONG_BYTES = 1 << 20 };
  int status;
  char *text = test_malloc(LONG_BYTES), *variables[] = {text, NULL};
  for (int i = 0; i < LONG_BYTES; i++)
    text[i] = i == 1 ? '=' : 'a';
  text[LONG_BYTES - 1] = 0;
  struct hwi_spawned spawned = spawn("/bin/true");
  kill(spawned.pid, SIGSTOP);
  pid_t killer = fork();
  if (killer == 0) {
    kill(spawned.pid, SIGKILL);
    _Exit(0);
  }
  assert_int_equal(hwi_spawn_go(&spawned, variables), 0);
  assert_int_equal(waitpid(spawned.pid, &status, 0), spawned.pid);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  assert_int_equal(waitpid(killer, &status, 0), killer);
  test_free(text);
}

static void what_cannot_be_executed_is_said(void **state)
{
  (void)state;
  char *variables[] = {(char *)"A=B", NULL};
  struct hwi_spawned spawned = spawn("/nowhere/at/all");
  assert_int_equal(hwi_spawn_go(&spawned, variables), ENOENT);
  assert_int_equal(waitpid(spawned.pid, NULL, 0), -1); /* it has been waited for */
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(killed_while_it_waits),
      cmocka_unit_test(killed_while_it_is_sent_its_variables),
      cmocka_unit_test(what_cannot_be_executed_is_said),
  };
  return cmocka_run_group_tests(tests, begin, NULL);
}
