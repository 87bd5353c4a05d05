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

// Scopes are ended by the wrong thread, out of the task that they are in, twice, or with a handle that was never made.
static void *end_of_another(void *scope)
{
  HW_SCOPE("of the other thread");
  hw_scope_end(*static_cast<hw_scope *>(scope));
  kept = malloc(1);
  return nullptr;
}

static void wrong_ends()
{
  struct hw_scope first = hw_scope_begin("first");
  pthread_t id;
  pthread_create(&id, nullptr, end_of_another, &first);
  pthread_join(id, nullptr);
  kept = malloc(2);
  hw_scope_end(first);
  hw_scope_end(first);
  struct hw_task task = hw_task_create("task");
  hw_task_enter(&task);
  struct hw_scope inside = hw_scope_begin("inside");
  hw_task_leave(&task);
  {
    HW_SCOPE("second");
    hw_scope_end(inside);
    hw_scope_end({1});
    hw_scope_end({UINT64_MAX});
    kept = malloc(4);
  }
  hw_task_finish(&task);
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

// What a zone does to a thread in tasks: returns how often the block's allocation and its end trapped.
static int traps_of_a_block()
{
  const int before = traps;
  void *block = malloc(10);
  kept = block;
  free(block);
  return (int)traps - before;
}

static void *trap_in_task(void *task)
{
  hw_task_enter(static_cast<hw_task *>(task));
  const int inside = traps_of_a_block();
  hw_task_leave(static_cast<hw_task *>(task));
  printf("%d in the other thread, %d after\n", inside, traps_of_a_block());
  return nullptr;
}

// A zone of a task traps in each thread that is inside; one of a thread also traps in the tasks that it enters.
static void traps_in_tasks()
{
  signal(SIGTRAP, on_trap);
  struct hw_task task = hw_task_create("with a zone"), other = hw_task_create("without");
  HW_SCOPE("around");
  hw_task_enter(&task);
  struct hw_scope zone = hw_no_alloc_begin("zone of the task");
  const int inside = traps_of_a_block();
  hw_task_enter(&other);
  const int within = traps_of_a_block();
  hw_task_leave(&other);
  hw_task_leave(&task);
  printf("%d inside, %d in a task within, %d after\n", inside, within, traps_of_a_block());
  pthread_t id;
  pthread_create(&id, nullptr, trap_in_task, &task);
  pthread_join(id, nullptr);
  hw_task_enter(&task);
  hw_scope_end(zone);
  printf("%d after the zone\n", traps_of_a_block());
  hw_task_finish(&task);
  struct hw_scope around = hw_no_alloc_begin("zone of the thread");
  hw_task_enter(&other);
  const int in_task = traps_of_a_block();
  hw_task_leave(&other);
  hw_scope_end(around);
  hw_task_enter(&other);
  printf("%d, then %d\n", in_task, traps_of_a_block());
  hw_task_finish(&other);
}

// A handler of SIGTRAP may allocate, as those do that print a stack.
static void on_trap_that_allocates(int)
{
  traps = traps + 1;
  free(malloc(20));
}

static void trap_handler()
{
  signal(SIGTRAP, on_trap_that_allocates);
  struct hw_scope zone = hw_no_alloc_begin("zone");
  kept = malloc(10);
  kept = malloc(10);
  hw_scope_end(zone);
  kept = malloc(10);
  printf("%d traps\n", (int)traps);
}

static sigjmp_buf after_trap;

static void on_trap_that_jumps(int)
{
  traps = traps + 1;
  siglongjmp(after_trap, 1);
}

// The scope around ends the zone that the handler left; a later zone traps again.
static void trap_longjmp()
{
  signal(SIGTRAP, on_trap_that_jumps);
  for (int i = 0; i < 3; i++) {
    HW_SCOPE("around");
    if (sigsetjmp(after_trap, 1) == 0) {
      hw_no_alloc_begin("zone");
      kept = malloc(10);
      abort();
    }
  }
  kept = malloc(10);
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

// The reader of this program's output switches the recording meanwhile.
static void step()
{
  char c = 'x';
  if (write(STDOUT_FILENO, &c, 1) != 1 || read(STDIN_FILENO, &c, 1) != 1)
    abort();
}

// A task, a scope in it and a zone end, and another scope begins, while the recording is off.
static void off_and_on()
{
  signal(SIGTRAP, on_trap);
  struct hw_task task = hw_task_create("task");
  hw_task_enter(&task);
  struct hw_scope zone = hw_no_alloc_begin("zone");
  step();
  hw_scope_end(zone);
  kept = malloc(1);
  hw_task_leave(&task);
  HW_SCOPE("begun meanwhile");
  step();
  kept = malloc(2);
  hw_task_enter(&task);
  kept = malloc(4);
  hw_task_finish(&task);
  if (traps)
    abort();
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

// The inner task is left with the outer one. Then neither its own leave nor a second enter disturbs the thread's scopes.
static void left_with_the_outer()
{
  struct hw_task outer = hw_task_create("outer"), inner = hw_task_create("inner");
  hw_task_enter(&outer);
  hw_task_enter(&inner);
  struct hw_scope open = hw_scope_begin("open");
  kept = malloc(1);
  hw_task_leave(&outer);
  {
    HW_SCOPE("of the thread");
    hw_task_leave(&inner);
    hw_scope_end(open); // of a task that the thread is not in
    kept = malloc(2);
    hw_task_enter(&inner);
    hw_scope_end(open); // it ended with the task's first instance
    kept = malloc(4);
    hw_task_leave(&inner);
    kept = malloc(8);
    if (fork() == 0) {
      kept = malloc(16); // the thread is in no task, so the child continues in its scope
      exit(0);
    }
    wait(nullptr);
  }
  kept = malloc(32);
  hw_task_finish(&inner);
  hw_task_finish(&outer);
}

// Two threads are each in a task of their own, and in the middle of it one finishes the task of the other.
struct crossed_tasks {
  struct hw_task first, second;
  pthread_barrier_t meet;
};

static void *second_of_two(void *argument)
{
  auto *two = static_cast<crossed_tasks *>(argument);
  hw_task_enter(&two->second);
  pthread_barrier_wait(&two->meet);
  hw_task_enter(&two->first); // the other thread is inside: nothing happens
  hw_task_leave(&two->first);
  kept = malloc(1);
  hw_task_finish(&two->first);
  hw_task_finish(&two->first);
  pthread_barrier_wait(&two->meet);
  kept = malloc(2);
  hw_task_finish(&two->second);
  kept = malloc(4);
  return nullptr;
}

static void finished_elsewhere()
{
  struct crossed_tasks two = {hw_task_create("first"), hw_task_create("second"), {}};
  pthread_barrier_init(&two.meet, nullptr, 2);
  pthread_t id;
  pthread_create(&id, nullptr, second_of_two, &two);
  {
    HW_SCOPE("around");
    hw_task_enter(&two.first);
    pthread_barrier_wait(&two.meet);
    pthread_barrier_wait(&two.meet);
    kept = malloc(16);
    hw_task_leave(&two.first);
    hw_task_enter(&two.first); // finished: nothing happens
    kept = malloc(32);
  }
  pthread_join(id, nullptr);
  kept = malloc(64);
}

// The thread enters a task that it is in already.
static void entered_twice()
{
  struct hw_task task = hw_task_create("task"), inner = hw_task_create("inner");
  HW_TASK(&task);
  {
    HW_TASK(&task);
    kept = malloc(1);
    HW_TASK(&inner);
    HW_TASK(&task); // inside the inner one: the calls still belong to that
    kept = malloc(2);
  }
  kept = malloc(4);
  hw_task_finish(&task);
  kept = malloc(8);
}

static void *end_inside(void *task)
{
  hw_task_enter(static_cast<hw_task *>(task));
  hw_scope_begin("never ended");
  return nullptr;
}

// A thread ends inside a task, which another thread enters later.
static void thread_ends_in_a_task()
{
  struct hw_task task = hw_task_create("task");
  pthread_t id;
  pthread_create(&id, nullptr, end_inside, &task);
  pthread_join(id, nullptr);
  hw_task_enter(&task);
  kept = malloc(100);
  hw_task_finish(&task);
  kept = malloc(1000);
}

static void *wait_inside(void *argument)
{
  auto *two = static_cast<crossed_tasks *>(argument);
  HW_TASK(&two->second);
  pthread_barrier_wait(&two->meet);
  pthread_barrier_wait(&two->meet);
  return nullptr;
}

// A child is forked while another thread is in a task, and goes on with the tasks of its parent.
static void fork_with_tasks()
{
  struct crossed_tasks two = {hw_task_create("first"), hw_task_create("second"), {}};
  pthread_barrier_init(&two.meet, nullptr, 2);
  pthread_t id;
  pthread_create(&id, nullptr, wait_inside, &two);
  pthread_barrier_wait(&two.meet);
  {
    HW_SCOPE("around");
    if (fork() == 0) {
      hw_task_enter(&two.first);
      kept = malloc(1);
      struct hw_scope open = hw_scope_begin("inside");
      hw_task_leave(&two.first);
      kept = malloc(2);
      {
        HW_TASK(&two.second);
        kept = malloc(4);
      }
      hw_task_enter(&two.first);
      kept = malloc(8);
      hw_scope_end(open);
      hw_task_finish(&two.first);
      kept = malloc(16);
      exit(0);
    }
    wait(nullptr);
  }
  pthread_barrier_wait(&two.meet);
  pthread_join(id, nullptr);
}

// More tasks than a thread can be in: the calls in those inside belong to the innermost one that it could enter.
static void deep_tasks()
{
  enum { DEEP = 70 };
  struct hw_task deep[DEEP];
  for (hw_task &task : deep) {
    task = hw_task_create("deep");
    hw_task_enter(&task);
    kept = malloc(1);
  }
  for (int i = DEEP; i-- > 0;)
    hw_task_leave(&deep[i]);
  kept = malloc(1000);
  for (hw_task &task : deep)
    hw_task_finish(&task);
}

// Two threads hand a task to each other as fast as they can.
struct handed_task {
  struct hw_task task;
  volatile int turn;
};

static void take_turns(handed_task *handed, int me)
{
  for (int i = 0; i < 20000; i++) {
    while (__atomic_load_n(&handed->turn, __ATOMIC_ACQUIRE) != me)
      continue;
    hw_task_enter(&handed->task);
    free(kept);
    kept = malloc(10);
    hw_task_leave(&handed->task);
    __atomic_store_n(&handed->turn, !me, __ATOMIC_RELEASE);
  }
}

static void *take_other_turns(void *handed)
{
  take_turns(static_cast<handed_task *>(handed), 1);
  return nullptr;
}

static void quick_turns()
{
  struct handed_task handed = {hw_task_create("handed"), 0};
  pthread_t id;
  kept = malloc(10);
  pthread_create(&id, nullptr, take_other_turns, &handed);
  take_turns(&handed, 0);
  pthread_join(id, nullptr);
  hw_task_finish(&handed.task);
}

// The library's header is that of a later version, which finds no recorder of this one. It gets a task and a scope of ours.
static void newer_library(const char *path)
{
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  struct hw_task task = hw_task_create("task");
  struct hw_scope scope = hw_scope_begin("scope");
  ((void (*)(struct hw_task *, struct hw_scope))dlsym(handle, "use_all"))(&task, scope);
  hw_task_finish(&task);
  hw_scope_end(scope);
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

// A program that passes NULL runs on, as it does without a recorder.
static void no_names()
{
  hw_thread_name("before");
  hw_thread_name(nullptr);
  hw_mark(nullptr);
  hw_counter(nullptr, 1);
  struct hw_task task = hw_task_create(nullptr);
  hw_task_finish(&task);
  struct hw_custom_heap heap = hw_custom_heap_create(nullptr);
  hw_custom_heap_alloc(&heap, &heap, 8);
  struct hw_scope outer = hw_scope_begin(nullptr), inner = hw_scope_begin_text("text", nullptr);
  kept = malloc(1);
  hw_scope_end(inner);
  hw_scope_end(outer);
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
  else if (what == "wrong ends")
    wrong_ends();
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
  else if (what == "traps in tasks")
    traps_in_tasks();
  else if (what == "trap handler")
    trap_handler();
  else if (what == "trap longjmp")
    trap_longjmp();
  else if (what == "left with the outer")
    left_with_the_outer();
  else if (what == "finished elsewhere")
    finished_elsewhere();
  else if (what == "entered twice")
    entered_twice();
  else if (what == "thread ends in a task")
    thread_ends_in_a_task();
  else if (what == "fork with tasks")
    fork_with_tasks();
  else if (what == "off and on")
    off_and_on();
  else if (what == "deep tasks")
    deep_tasks();
  else if (what == "quick turns")
    quick_turns();
  else if (what == "newer library")
    newer_library(words[2]);
  else if (what == "many tasks")
    many_tasks();
  else if (what == "notes")
    notes();
  else if (what == "no names")
    no_names();
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
