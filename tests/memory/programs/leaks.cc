// leaks.cc - loses blocks in the way that its argument names, and then waits, or, with LEAK_SANITIZER, asks for the leaks, or,
// with AT_EXIT, ends
//
// What a case leaves behind on the stack and in registers is overwritten, so that only the words which a case means refer to its blocks. What goes
// through `use` is not optimized away.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#ifdef LEAK_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace {

#define APART __attribute__((noinline, noclone))

struct node {
  node *next;
  void *more[4];
};

void *volatile global;
void *volatile globals[4];
thread_local void *volatile local;
constexpr uintptr_t KEY = 0xa5a5a5a5a5a5a5a5;

APART void use(const void *block)
{
  asm volatile("" ::"r"(block) : "memory");
}

APART void wait_or_ask()
{
#if defined(AT_EXIT)
#elif defined(LEAK_SANITIZER)
  __lsan_do_recoverable_leak_check();
#else
  char byte;
  if (write(1, "ready\n", 6) != 6 || read(0, &byte, 1) < 0)
    abort();
  _exit(0); /* from here, as valgrind looks for leaks when a program ends */
#endif
}

/* Also the registers that a system call and its wrapper leave alone, and those by which memory is copied. */
APART void overwrite_stack()
{
  volatile char bytes[16384];
  for (auto &byte : bytes)
    byte = 0;
#ifdef __x86_64__
  asm volatile("xor %%eax, %%eax; xor %%r8d, %%r8d; xor %%r9d, %%r9d; xor %%r10d, %%r10d" ::: "rax", "r8", "r9", "r10");
#elif defined __aarch64__
  asm volatile(".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17\n mov x\\n, xzr\n .endr" ::
                   : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
                     "x15", "x16", "x17");
  asm volatile(".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23\n movi v\\n\\().2d, #0\n .endr" ::
                   : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22",
                     "v23");
#endif
}

APART node *make(size_t bytes = sizeof(node))
{
  return static_cast<node *>(memset(malloc(bytes), 0, bytes));
}

APART node *make_list(int count)
{
  node *first = nullptr;
  for (int i = 0; i < count; i++) {
    node *one = make();
    one->next = first;
    first = one;
  }
  return first;
}

APART void make_ring(int count, int tail)
{
  node *first = make_list(count), *last = first;
  while (last->next)
    last = last->next;
  last->next = first;
  if (tail)
    last->more[0] = make_list(tail);
}

APART void lost()
{
  make();
}
APART void list()
{
  make_list(10);
}
APART void cycle()
{
  make_ring(3, 0);
}
APART void cycle_with_tail()
{
  make_ring(2, 3);
}
APART void self()
{
  node *one = make();
  one->next = one;
  use(one);
}
APART void big()
{
  make(1 << 20);
}
APART void held()
{
  global = make();
}
APART void held_list()
{
  global = make_list(1000);
}
APART void interior()
{
  global = reinterpret_cast<char *>(make()) + 8;
}
APART void end_of_full()
{
  global = reinterpret_cast<char *>(make(40)) + 40;
}
APART void end_of_padded()
{
  global = reinterpret_cast<char *>(make(36)) + 36;
}
APART void in_local()
{
  local = make();
}
APART void in_big()
{
  global = make(1 << 20);
  static_cast<node *>(global)[100].next = make_list(5);
}

APART void in_mapped()
{
  void *pages = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static_cast<void **>(pages)[7] = make_list(3);
}

APART void in_read_only()
{
  void *pages = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static_cast<void **>(pages)[7] = make();
  mprotect(pages, 4096, PROT_READ);
}

APART void in_freed()
{
  node *first = make();
  first->more[2] = make_list(2);
  use(first);
  free(first);
}

APART void in_freed_large()
{
  node *first = make(4000);
  global = make(); /* so that the free block is not joined with what follows */
  first[10].next = make();
  use(first);
  free(first);
}

APART void below_stack()
{
  void *volatile deep[8192];
  deep[0] = make();
  overwrite_stack();
}

APART void two_rings()
{
  make_ring(2, 0);
  make_ring(3, 0);
}

/* A ring that a lost block reaches is no cycle of its own. */
APART void ring_of_lost()
{
  node *one = make();
  one->next = make_list(2);
  one->next->next->next = one->next;
}

APART void xor_list()
{
  node *before = nullptr;
  for (int i = 0; i < 5; i++) {
    node *one = make();
    one->next = reinterpret_cast<node *>(reinterpret_cast<uintptr_t>(before) ^ KEY);
    before = one;
  }
  global = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(before) ^ KEY);
}

APART void xor_mixed()
{
  node *one = make_list(3);
  global = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(one) ^ KEY);
}

APART void unaligned()
{
  static struct __attribute__((packed)) {
    char byte;
    void *pointer;
  } pack __attribute__((aligned(8)));
  pack.pointer = make();
  asm volatile("" ::"r"(&pack) : "memory");
}

APART void part_of_list()
{
  node *first = make_list(10);
  global = first->next->next->next;
}

APART void realloced()
{
  global = make();
  node *one = make();
  one->next = make();
  use(realloc(one, 5000));
}

APART void aligned_one()
{
  void *one = nullptr;
  if (posix_memalign(&one, 4096, 100) != 0)
    abort();
}

APART void new_ones()
{
  use(new int(1));
  use(new long[10]());
}

// --- containers ---

APART void vector()
{
  use(new std::vector<int>(100));
}
APART void vector_of_strings()
{
  use(new std::vector<std::string>(10, std::string(100, 'x')));
}
APART void map()
{
  auto one = new std::map<int, int>;
  for (int i = 0; i < 20; i++)
    (*one)[i] = i;
  use(one);
}
APART void held_map()
{
  auto one = new std::map<int, int>;
  for (int i = 0; i < 20; i++)
    (*one)[i] = i;
  use(global = one);
}
APART void forward()
{
  use(new std::forward_list<int>{1, 2, 3});
}
APART void std_list()
{
  use(new std::list<int>{1, 2, 3});
}
APART void hash_map()
{
  auto one = new std::unordered_map<int, int>;
  for (int i = 0; i < 5; i++)
    (*one)[i] = i;
  use(one);
}
APART void long_string()
{
  use(new std::string(100, 'x'));
}
APART void short_string()
{
  use(new std::string("x"));
}

struct shared {
  std::shared_ptr<shared> other;
};

APART void shared_cycle()
{
  auto a = std::make_shared<shared>(), b = std::make_shared<shared>();
  a->other = b;
  b->other = a;
}

APART void shared_lost()
{
  use(new std::shared_ptr<int>(new int(1)));
}

// --- threads ---

APART void lose_in_thread()
{
  make_list(4);
}

void *run_thread(void *)
{
  lose_in_thread();
  overwrite_stack();
  return nullptr;
}

APART void in_ended_thread()
{
  pthread_t thread;
  pthread_create(&thread, nullptr, run_thread, nullptr);
  pthread_join(thread, nullptr);
}

/* So deep in the stack that what ends the thread does not overwrite it. */
void *forget_on_stack(void *)
{
  void *volatile held[1000];
  held[0] = make_list(4);
  use(held[0]);
  return nullptr;
}

/* The C library keeps the stack for the next thread. */
APART void on_stack_of_ended_thread()
{
  pthread_t thread;
  pthread_create(&thread, nullptr, forget_on_stack, nullptr);
  pthread_join(thread, nullptr);
}

pthread_barrier_t barrier;
pthread_key_t key;

void *hold_on_stack(void *)
{
  void *volatile held = make_list(4);
  pthread_barrier_wait(&barrier);
  for (;;)
    pause();
  return held;
}

void *hold_in_specific(void *)
{
  pthread_setspecific(key, make_list(4));
  overwrite_stack();
  pthread_barrier_wait(&barrier);
  for (;;)
    pause();
}

APART void start(void *(*run)(void *))
{
  static pthread_t thread;
  pthread_barrier_init(&barrier, nullptr, 2);
  pthread_key_create(&key, nullptr);
  pthread_create(&thread, nullptr, run, nullptr);
  pthread_barrier_wait(&barrier);
}

APART void other_stack()
{
  start(hold_on_stack);
}
APART void other_specific()
{
  start(hold_in_specific);
}

// --- where the pointer must be in the frame that waits ---

APART void on_stack()
{
  void *volatile held = make_list(3);
  overwrite_stack();
  wait_or_ask();
  (void)held;
}

/* A register that a function keeps for its caller, and a system call without a function that might save it. */
#if defined __x86_64__
#define KEPT_REGISTER "rbx"

inline __attribute__((always_inline)) void system_call(long number, long first, const void *second, long third)
{
  asm volatile("syscall" : "+a"(number) : "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
}
#elif defined __aarch64__
#define KEPT_REGISTER "x19"

inline __attribute__((always_inline)) void system_call(long number, long first, const void *second, long third)
{
  register long x8 asm("x8") = number, x0 asm("x0") = first, x2 asm("x2") = third;
  register const void *x1 asm("x1") = second;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
}
#endif

APART void in_register()
{
  void *made = make();
  overwrite_stack();
  register void *held asm(KEPT_REGISTER) = made;
  asm volatile("" : "+r"(held));
#ifdef LEAK_SANITIZER
  wait_or_ask();
#else
  char byte[8];
  system_call(SYS_write, 1, "ready\n", 6);
  system_call(SYS_read, 0, byte, 1);
  system_call(SYS_exit_group, 0, nullptr, 0);
#endif
  asm volatile("" ::"r"(held));
}

struct one {
  const char *name;
  void (*run)();
  bool waits;
} const all[] = {
    {"lost", lost, false},
    {"list", list, false},
    {"cycle", cycle, false},
    {"cycle_with_tail", cycle_with_tail, false},
    {"two_rings", two_rings, false},
    {"ring_of_lost", ring_of_lost, false},
    {"self", self, false},
    {"big", big, false},
    {"held", held, false},
    {"held_list", held_list, false},
    {"interior", interior, false},
    {"end_of_full", end_of_full, false},
    {"end_of_padded", end_of_padded, false},
    {"in_local", in_local, false},
    {"in_big", in_big, false},
    {"in_mapped", in_mapped, false},
    {"in_read_only", in_read_only, false},
    {"in_freed", in_freed, false},
    {"in_freed_large", in_freed_large, false},
    {"below_stack", below_stack, false},
    {"xor_list", xor_list, false},
    {"xor_mixed", xor_mixed, false},
    {"unaligned", unaligned, false},
    {"part_of_list", part_of_list, false},
    {"realloced", realloced, false},
    {"aligned_one", aligned_one, false},
    {"new_ones", new_ones, false},
    {"vector", vector, false},
    {"vector_of_strings", vector_of_strings, false},
    {"map", map, false},
    {"held_map", held_map, false},
    {"forward", forward, false},
    {"std_list", std_list, false},
    {"hash_map", hash_map, false},
    {"long_string", long_string, false},
    {"short_string", short_string, false},
    {"shared_cycle", shared_cycle, false},
    {"shared_lost", shared_lost, false},
    {"in_ended_thread", in_ended_thread, false},
    {"on_stack_of_ended_thread", on_stack_of_ended_thread, false},
    {"other_stack", other_stack, false},
    {"other_specific", other_specific, false},
    {"on_stack", on_stack, true},
    {"in_register", in_register, true},
};

} // namespace

int main(int, char **words)
{
  for (const one &it : all)
    if (strcmp(it.name, words[1]) == 0) {
      it.run();
      overwrite_stack();
      if (!it.waits)
        wait_or_ask();
#ifdef AT_EXIT
      exit(0);
#endif
      _exit(0);
    }
  return 2;
}
