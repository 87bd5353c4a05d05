// scopes.cc - a program that marks its scopes; what it does in them is its first argument
#include <heapwright/monitor.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

// The four calls: one block of 8 bytes is freed, two of 16 and one of 1,144 stay.
static void attribute()
{
  void *old = malloc(8);
  kept = old;
  HW_SCOPE("region");
  free(old);
  kept = malloc(16);
  kept = malloc(16);
  {
    HW_SCOPE("inside");
    kept = malloc(1144);
  }
}

static void recurse(int depth)
{
  HW_SCOPE_NUMBER("level", depth);
  kept = malloc(10);
  if (depth > 1)
    recurse(depth - 1);
}

// Every thread allocates (N + 1) * 7 bytes in 100 instances of "work", and frees every second block there.
static void *work(void *argument)
{
  long number = (long)argument;
  HW_SCOPE_NUMBER("thread", number);
  for (int i = 0; i < 100; i++) {
    HW_SCOPE("work");
    void *block = malloc((size_t)(number + 1) * 7);
    kept = block;
    if (i % 2)
      free(block);
  }
  return nullptr;
}

static void threads()
{
  pthread_t ids[16];
  for (long i = 0; i < 16; i++)
    pthread_create(&ids[i], nullptr, work, (void *)i);
  for (pthread_t id : ids)
    pthread_join(id, nullptr);
}

static void fork_inside()
{
  HW_SCOPE("outer");
  HW_SCOPE("inner");
  kept = malloc(100);
  pid_t child = fork();
  if (child == 0) {
    kept = malloc(200);
    {
      HW_SCOPE("of the child");
      kept = malloc(300);
    }
    kept = malloc(400);
    exit(0);
  }
  waitpid(child, nullptr, 0);
}

static jmp_buf back;

static void leave_by_longjmp()
{
  hw_scope_begin("one");
  hw_scope_begin("two");
  hw_scope_begin("three");
  kept = malloc(30);
  longjmp(back, 1);
}

static void leave()
{
  HW_SCOPE("around");
  if (setjmp(back) == 0)
    leave_by_longjmp();
  kept = malloc(1);
}

static void throw_out()
{
  HW_SCOPE("one");
  HW_SCOPE("two");
  HW_SCOPE("three");
  kept = malloc(30);
  throw std::runtime_error("out");
}

static void exceptions()
{
  HW_SCOPE("around");
  try {
    throw_out();
  } catch (const std::runtime_error &) {
    kept = malloc(1);
  }
}

static void *exit_within(void *)
{
  hw_scope_begin("never ended");
  kept = malloc(5);
  pthread_exit(nullptr);
}

static void thread_exits()
{
  pthread_t id;
  pthread_create(&id, nullptr, exit_within, nullptr);
  pthread_join(id, nullptr);
}

static void names()
{
  std::string longest(10000, 'x');
  for (const char *name : {"\"quoted\" \\ and <b>", "\xf0\x9f\x90\x98 emoji", longest.c_str(), ""}) {
    struct hw_scope scope = hw_scope_begin(name);
    kept = malloc(1);
    hw_scope_end(scope);
  }
}

static void many_names(int count)
{
  char name[32];
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "name %d", i);
    struct hw_scope scope = hw_scope_begin(name);
    kept = malloc(3);
    hw_scope_end(scope);
  }
}

// A library with a scope is opened, used and closed, twice.
static void library(const char *path)
{
  for (int i = 0; i < 2; i++) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ((void (*)(void))dlsym(handle, "use_scope"))();
    dlclose(handle);
  }
}

static void warm_up()
{
  for (int i = 0; i < 50; i++) {
    HW_SCOPE("cycle");
    if (i < 3)
      kept = malloc(64);
  }
}

// A zone whose first two passes may allocate; the fourth one allocates and frees, also in a scope inside.
static void cycle(int pass)
{
  HW_NO_ALLOC_AFTER("control", 2);
  void *old = kept;
  if (pass < 2 || pass == 3)
    kept = malloc(40);
  if (pass == 3) {
    HW_SCOPE("inside");
    free(old);
    kept = realloc(kept, 100);
  }
}

static void forbidden()
{
  for (int pass = 0; pass < 6; pass++) {
    HW_SCOPE("around");
    cycle(pass);
    free(malloc(1));
  }
}

// What a handler of SIGTRAP sees of a zone: one trap for each call in it.
static volatile sig_atomic_t traps;

static void on_trap(int)
{
  traps = traps + 1;
}

static void trap()
{
  signal(SIGTRAP, on_trap);
  kept = malloc(1);
  struct hw_scope zone = hw_no_alloc_begin("zone");
  void *block = malloc(10);
  kept = block;
  free(block);
  hw_scope_end(zone);
  free(malloc(1));
  printf("%d traps\n", (int)traps);
}

// A task that two threads take turns in; the scope "parse" begins in one and ends in the other.
struct shared_task {
  struct hw_task task;
  struct hw_scope parse;
};

static void *continue_task(void *argument)
{
  auto *shared = static_cast<shared_task *>(argument);
  HW_SCOPE("of the other thread");
  kept = malloc(5);
  hw_task_enter(&shared->task);
  kept = malloc(200);
  hw_scope_end(shared->parse);
  kept = malloc(7);
  hw_task_leave(&shared->task);
  kept = malloc(6);
  return nullptr;
}

static void tasks()
{
  HW_SCOPE("around");
  struct shared_task shared = {hw_task_create("request"), {0}};
  kept = malloc(1);
  {
    HW_TASK(&shared.task);
    shared.parse = hw_scope_begin("parse");
    kept = malloc(100);
  }
  kept = malloc(2);
  pthread_t id;
  pthread_create(&id, nullptr, continue_task, &shared);
  pthread_join(id, nullptr);
  hw_task_finish(&shared.task);
  hw_task_enter(&shared.task); // finished: nothing happens
  kept = malloc(3);
}

// Left without an end: an outer task is left while an inner one is entered, and one is never finished.
static void lost_tasks()
{
  struct hw_task outer = hw_task_create("outer"), inner = hw_task_create("inner"), child = hw_task_create("of a child");
  hw_task_enter(&outer);
  hw_scope_begin("open");
  hw_task_enter(&inner);
  kept = malloc(10);
  hw_task_leave(&outer);
  kept = malloc(1000);
  hw_task_leave(&inner);
  hw_task_finish(&inner);
  HW_SCOPE("around");
  hw_task_enter(&child);
  if (fork() == 0) {
    kept = malloc(50);
    hw_task_leave(&child);
    HW_SCOPE("after");
    kept = malloc(60);
    exit(0);
  }
  wait(nullptr);
  hw_task_finish(&child);
  kept = malloc(70);
}

// 16 threads pass 1,000 tasks around; each allocates once for each thread that it is in.
enum { TASKS = 1000, TASK_THREADS = 16 };
static struct hw_task passed[TASKS];
static pthread_mutex_t passed_locks[TASKS];

static void *pass_tasks(void *)
{
  for (int i = 0; i < TASKS; i++) {
    pthread_mutex_lock(&passed_locks[i]);
    hw_task_enter(&passed[i]);
    void *block = malloc((size_t)i + 1);
    kept = block;
    {
      HW_SCOPE("inside");
      free(block);
    }
    hw_task_leave(&passed[i]);
    pthread_mutex_unlock(&passed_locks[i]);
  }
  return nullptr;
}

static void many_tasks()
{
  pthread_t ids[TASK_THREADS];
  for (int i = 0; i < TASKS; i++) {
    pthread_mutex_init(&passed_locks[i], nullptr);
    passed[i] = hw_task_create("passed");
  }
  for (pthread_t &id : ids)
    pthread_create(&id, nullptr, pass_tasks, nullptr);
  for (pthread_t id : ids)
    pthread_join(id, nullptr);
  for (hw_task &task : passed)
    hw_task_finish(&task);
}

static void notes()
{
  hw_thread_name("main of notes");
  hw_mark("begins");
  for (int i = 0; i <= 100000; i++)
    HW_COUNTER("queue", i % 1000);
  hw_counter("temperature", -0.1);
  hw_counter("temperature", 1e300);
  hw_counter("temperature", 0.25);
  hw_counter("not a number", __builtin_nan(""));
  kept = malloc(1);
  hw_mark("\xf0\x9f\x90\x98 <ends>");
}

// After a warm-up of three, one cycle still allocates.
static void late()
{
  for (int i = 0; i < 1000; i++) {
    HW_SCOPE("control");
    HW_SCOPE("cycle");
    if (i < 3 || i == 811)
      kept = malloc(64);
  }
}

// Instances with numbers and texts; number 7 of each allocates most.
static void named_instances(int count)
{
  for (int i = 0; i < count; i++) {
    HW_SCOPE_NUMBER("frame", 1000 + (uint64_t)i);
    if (i % 1000 == 7)
      kept = malloc(1000 + (size_t)i % 1000);
    char text[64];
    snprintf(text, sizeof text, "/%d?\"\x1b[31m<b>\n\xff", i);
    HW_SCOPE_TEXT("request", text);
    if (i == 6)
      free(kept = malloc(6000));
  }
}

static void die()
{
  HW_SCOPE("before");
  HW_SCOPE("at the end");
  kept = malloc(77);
  raise(SIGKILL);
}

static void on_signal(int)
{
  HW_SCOPE("handler");
  kept = malloc(9);
}

static void signals()
{
  signal(SIGUSR1, on_signal);
  HW_SCOPE("interrupted");
  raise(SIGUSR1);
  kept = malloc(4);
}

int main(int count, char **words)
{
  std::string what = count > 1 ? words[1] : "";
  if (what == "attribute")
    attribute();
  else if (what == "recurse")
    recurse(5);
  else if (what == "threads")
    threads();
  else if (what == "fork")
    fork_inside();
  else if (what == "longjmp")
    leave();
  else if (what == "exceptions")
    exceptions();
  else if (what == "thread exits")
    thread_exits();
  else if (what == "names")
    names();
  else if (what == "many names")
    many_names(70000);
  else if (what == "library")
    library(words[2]);
  else if (what == "warm up")
    warm_up();
  else if (what == "forbidden")
    forbidden();
  else if (what == "trap")
    trap();
  else if (what == "tasks")
    tasks();
  else if (what == "lost tasks")
    lost_tasks();
  else if (what == "many tasks")
    many_tasks();
  else if (what == "notes")
    notes();
  else if (what == "instances")
    named_instances(count > 2 ? atoi(words[2]) : 20);
  else if (what == "late")
    late();
  else if (what == "die")
    die();
  else if (what == "signals")
    signals();
  puts("done");
}
