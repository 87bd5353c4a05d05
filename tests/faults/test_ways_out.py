"""test_ways_out.py - functions that are left, or frames that live, in unusual ways: exceptions out of signal handlers,
cancelled threads, coroutines; and blocks of which the recorder sees only the allocation or the free

Breaks if the recorder's own frames stop an unwinder, if it is a cancellation point, or if a call is counted twice or
not at all. Each program's figures are compared with those of an independent counter, and its output with that of an
unrecorded run.
"""

import subprocess

import pytest


@pytest.fixture
def check(check_counts_preload):
    """Runs a program unrecorded and recorded. Returns the report, whose counts must equal the counter's."""

    def run(program, *arguments):
        plain = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)
        recording = check_counts_preload([program, *arguments])
        process = recording.process
        assert (process.returncode, process.stdout, process.stderr) == (plain.returncode, plain.stdout, plain.stderr)
        assert recording.report["lost_events"] == recording.report["audit_differences"] == 0
        return recording.report

    return run


def blocks(report, size):
    return next((entry["calls"], entry["live_blocks"]) for entry in report["sizes"] if entry["size"] == size)


def test_an_exception_out_of_a_signal_handler(compile_cxx, check):
    program = compile_cxx("""
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
static void *volatile sink; // else the compiler may leave the blocks out
static void handler(int)
{
  std::unique_ptr<char[]> held(new char[3001]);
  sink = held.get();
  throw std::runtime_error("a text that is too long to be kept inside of the string object");
}
[[gnu::noinline]] static int fault(volatile int *nowhere)
{
  std::unique_ptr<char[]> held(new char[3002]);
  sink = held.get();
  return *nowhere + held[0];
}
int main()
{
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  int caught = 0;
  for (int i = 0; i < 5000; i++) {
    try {
      caught += fault(nullptr);
    } catch (const std::exception &) {
      caught++;
      std::free(sink = std::malloc(3003));
    }
  }
  std::printf("%d\\n", caught);
}
""", "-fnon-call-exceptions")
    report = check(program)
    assert [blocks(report, size) for size in (3001, 3002, 3003)] == [(5000, 0)] * 3


@pytest.mark.parametrize("kind, flag", [("deferred", "-fexceptions"), ("deferred", "-fno-exceptions"), ("asynchronous", "-fno-exceptions")])
def test_threads_that_are_cancelled(compile_c, check, kind, flag):
    """Asynchronous only between calls of malloc: no libc allows malloc to be cancelled in the middle."""
    program = compile_c("""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { THREADS = 200 };
static int asynchronous;
static int pipes[2];
static void *volatile sink;
static void *work(void *unused)
{
  int before;
  char byte;
  void *volatile block = malloc(3101);
  pthread_cleanup_push(free, block);
  for (int i = 0; i < 100; i++) {
    sink = malloc(3102);
    free(sink);
  }
  if (write(pipes[1], "", 1) != 1)
    abort();
  if (asynchronous) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    for (;;)
      byte = 0;
  }
  for (;;) { /* the only point of cancellation is at the end of a round */
    sink = malloc(3103);
    free(sink);
    pthread_testcancel();
  }
  pthread_cleanup_pop(1);
  return unused;
}
int main(int argc, char **argv)
{
  asynchronous = argc > 1 && !strcmp(argv[1], "asynchronous");
  int cancelled = 0;
  if (pipe(pipes))
    return 2;
  for (int i = 0; i < THREADS; i++) {
    pthread_t thread;
    void *result;
    char byte;
    pthread_create(&thread, NULL, work, NULL);
    if (read(pipes[0], &byte, 1) != 1)
      return 2;
    pthread_cancel(thread);
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  printf("%d\\n", cancelled);
  return 0;
}
""", "-pthread", flag)
    report = check(program, kind)
    assert blocks(report, 3101) == (200, 0) and blocks(report, 3102) == (20000, 0)


def test_coroutines(compile_cxx, check):
    program = compile_cxx("""
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
static void *volatile sink;
struct numbers {
  struct promise_type {
    int value;
    static void *operator new(size_t) { return std::malloc(3201); }
    static void operator delete(void *block) { std::free(block); }
    numbers get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int next) { value = next; return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};
struct later {
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<>) { std::free(sink = std::malloc(3202)); }
  void await_resume() { std::free(sink = std::malloc(3203)); }
};
static numbers counting(int last)
{
  for (int i = 0; i < last; i++) {
    co_await later{};
    std::free(sink = std::malloc(3204));
    co_yield i;
  }
}
[[gnu::noinline]] static void resume(numbers &some) { some.handle.resume(); }
int main()
{
  long sum = 0;
  for (int i = 0; i < 100; i++) {
    numbers some = counting(10);
    while (resume(some), !some.handle.done())
      sum += some.handle.promise().value;
    some.handle.destroy();
  }
  std::printf("%ld\\n", sum);
}
""", "-std=c++20", "-fcoroutines")
    report = check(program)
    assert blocks(report, 3201) == (100, 0)
    assert [blocks(report, size) for size in (3202, 3203, 3204)] == [(1000, 0)] * 3
    (stack,) = [entry["stack"] for entry in report["top"] if entry["smallest"] == 3204]
    names = [frame["function"] or "" for frame in stack]
    assert names[0].startswith("counting") and names[-1] == "_start"
    assert any(name.startswith("resume") for name in names) and "main" in names


def test_blocks_of_a_library_that_binds_to_libc_itself(compile_c, preload, tmp_path):
    """RTLD_DEEPBIND: its malloc and free are libc's, whatever is preloaded; blocks pass between it and the program."""
    source = tmp_path / "deep.c"
    source.write_text("""
#include <stdlib.h>
void *give(void) { return malloc(3301); }
void take(void *block) { free(block); }
""")
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", tmp_path / "libdeep.so"], check=True)
    program = compile_c("""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
  void *(*give)(void) = (void *(*)(void))dlsym(library, "give");
  void (*take)(void *) = (void (*)(void *))dlsym(library, "take");
  for (int i = 0; i < 1000; i++) {
    char *given = give(), *made = malloc(3302);
    memset(given, 1, 3301);
    memset(made, 2, 3302);
    free(given);
    take(made);
  }
  puts("done");
  return 3;
}
""")
    recording = preload([program, tmp_path / "libdeep.so"])
    assert (recording.process.returncode, recording.process.stdout, recording.process.stderr) == (3, "done\n", "")
    report = recording.report
    assert report["unmatched_frees"] == 1000, "blocks whose allocation was not recorded"
    assert blocks(report, 3302)[0] == 1000 and 3301 not in [entry["size"] for entry in report["sizes"]]
    assert report["missed_frees"] + blocks(report, 3302)[1] == 1000, "blocks whose free was not recorded"


@pytest.mark.parametrize("what", ["stack", "static", "inside"])
def test_a_free_of_what_is_no_block(compile_c, preload, what):
    """libc ends the program for it: in the same way, and the trace has the events."""
    program = compile_c("""
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static long outside[64];
int main(int argc, char **argv)
{
  volatile long on_stack[64] = {0};
  char *block = malloc(3401);
  void *volatile wrong = !strcmp(argv[1], "stack") ? (void *)(uintptr_t)(on_stack + 32) : !strcmp(argv[1], "static") ? (void *)(outside + 32) : block + 16;
  memset(block, 0, 3401);
  free(wrong);
  return 0;
}
""", "-Wno-free-nonheap-object")
    plain = subprocess.run([program, what], capture_output=True, text=True)
    recording = preload([program, what])
    assert plain.returncode == -6
    assert (recording.process.returncode, recording.process.stderr) == (plain.returncode, plain.stderr)
    assert blocks(recording.report, 3401) == (1, 1) and recording.report["unmatched_frees"] == 1


def test_handlers_that_leave_event_after_event(compile_c, preload, recorder, tmp_path):
    """An abandoned event uses a small chunk of the window, however large its thread's chunks had become. Otherwise a
    few thousand of them would reach the limit, after which the trace is silent."""
    source, library = tmp_path / "interrupt.c", tmp_path / "interrupt.so"
    source.write_text("""
#include <signal.h>
#include <stddef.h>
volatile int interrupts;
size_t malloc_usable_size(void *block) // the recorder asks in the middle of an event
{
  (void)block;
  if (interrupts)
    raise(SIGUSR1);
  return 1000;
}
""")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", source, "-o", library], check=True)
    program = compile_c("""
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
extern volatile int interrupts;
static sigjmp_buf back;
static void leave(int signal)
{
  (void)signal;
  interrupts = 0;
  siglongjmp(back, 1);
}
static void *volatile block;
int main(void)
{
  struct sigaction action = {.sa_handler = leave};
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 400000; i++) // chunks grow
    free(block = malloc(700));
  for (volatile int i = 0; i < 3000; i++) {
    if (!sigsetjmp(back, 1)) {
      interrupts = 1;
      block = malloc(777); // abandoned, so nothing is recorded or freed
    }
    free(block = malloc(800));
  }
  puts("done");
}
""", library, f"-Wl,-rpath,{tmp_path}")
    recording = preload([program], env={"LD_PRELOAD": f"{recorder}:{library}", "HEAPWRIGHT_MAX_SIZE": "64M"})
    assert recording.process.stdout == "done\n"
    report = recording.report
    assert blocks(report, 700) == (400000, 0) and blocks(report, 800) == (3000, 0)
    assert all(entry["size"] != 777 for entry in report["sizes"])
    assert report["damaged_chunks"] == report["missing_chunks"] == report["audit_differences"] == 0
    assert recording.header.state == 1, "it must be recorded to its end"
