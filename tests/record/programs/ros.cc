/* ros.cc - calls the functions of libtracetools in the order in which rcl and rclcpp do */
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" {
extern unsigned long ros_calls;
void ros_trace_rcl_node_init(const void *, const void *, const char *, const char *);
void ros_trace_rcl_subscription_init(const void *, const void *, const void *, const char *, size_t);
void ros_trace_rclcpp_subscription_init(const void *, const void *);
void ros_trace_rclcpp_subscription_callback_added(const void *, const void *);
void ros_trace_rcl_service_init(const void *, const void *, const void *, const char *);
void ros_trace_rclcpp_service_callback_added(const void *, const void *);
void ros_trace_rcl_timer_init(const void *, int64_t);
void ros_trace_rclcpp_timer_callback_added(const void *, const void *);
void ros_trace_rclcpp_timer_link_node(const void *, const void *);
void ros_trace_rclcpp_callback_register(const void *, const char *);
void ros_trace_do_rclcpp_callback_register(const void *, const char *);
void ros_trace_callback_start(const void *, bool);
void ros_trace_callback_end(const void *);
void ros_trace_rclcpp_executor_get_next_ready(void);
void ros_trace_rclcpp_executor_wait_for_work(int64_t);
}

static void *volatile kept;

/* What a callback does. */
static __attribute__((noinline)) void allocate(size_t size)
{
  kept = malloc(size);
}

/* The addresses of these stand for those of ROS's objects. */
struct entity {
  char rcl, object, callback, rmw;
};
static entity talker, listener, fast, slow, chatter, other, adder, unknown, named;

static void create()
{
  ros_trace_rcl_node_init(&talker.rcl, &talker.rmw, "talker", "/");
  ros_trace_rcl_node_init(&listener.rcl, &listener.rmw, "listener", "/robot");

  ros_trace_rcl_timer_init(&fast.rcl, 33333000);
  ros_trace_rclcpp_timer_callback_added(&fast.rcl, &fast.callback);
  ros_trace_rclcpp_callback_register(&fast.callback, "Talker::on_timer()");
  ros_trace_rclcpp_timer_link_node(&fast.rcl, &talker.rcl);
  ros_trace_rcl_timer_init(&slow.rcl, 2000000000);
  ros_trace_rclcpp_timer_callback_added(&slow.rcl, &slow.callback);

  ros_trace_rcl_subscription_init(&chatter.rcl, &listener.rcl, &chatter.rmw, "/chatter", 10);
  ros_trace_rclcpp_subscription_init(&chatter.rcl, &chatter.object);
  ros_trace_rclcpp_subscription_callback_added(&chatter.object, &chatter.callback);
  /* intra-process: the object has a callback of its own, and is stated before the subscription of rcl */
  ros_trace_rclcpp_subscription_callback_added(&other.object, &other.callback);
  ros_trace_rclcpp_subscription_init(&other.rcl, &other.object);
  ros_trace_rcl_subscription_init(&other.rcl, &talker.rcl, &other.rmw, "/other", 10);

  ros_trace_rcl_service_init(&adder.rcl, &listener.rcl, &adder.rmw, "/add_two_ints");
  ros_trace_rclcpp_service_callback_added(&adder.rcl, &adder.callback);
  ros_trace_do_rclcpp_callback_register(&named.callback, "free_function(int)");
}

static void call(const entity &of, size_t size)
{
  ros_trace_callback_start(&of.callback, false);
  allocate(size);
  ros_trace_callback_end(&of.callback);
}

static void spin_once()
{
  ros_trace_rclcpp_executor_wait_for_work(-1);
  ros_trace_rclcpp_executor_get_next_ready();
}

static void each()
{
  create();
  spin_once();
  call(fast, 1);
  call(slow, 2);
  call(chatter, 4);
  call(chatter, 8);
  call(other, 16);
  call(adder, 32);
  call(unknown, 64);
  call(named, 128);
  allocate(256);
}

/* A callback that waits for the answer of a service, which the same thread spins for. */
static __attribute__((noinline)) void nested()
{
  create();
  ros_trace_callback_start(&fast.callback, false);
  allocate(1);
  spin_once();
  call(adder, 2);
  allocate(4);
  ros_trace_callback_end(&fast.callback);
  allocate(8);
}

static __attribute__((noinline)) void throwing(const entity &of, size_t size)
{
  ros_trace_callback_start(&of.callback, false);
  allocate(size);
  throw std::runtime_error("from a callback");
}

static void exception()
{
  create();
  spin_once();
  try {
    throwing(fast, 1);
  } catch (const std::exception &) {
  }
  spin_once();
  call(chatter, 2);
  ros_trace_callback_end(&slow.callback); /* which did not begin */
  allocate(4);
}

static void threads(int count, int rounds)
{
  create();
  std::vector<std::thread> list;
  for (int t = 0; t < count; t++)
    list.emplace_back([rounds, t] {
      for (int i = 0; i < rounds; i++)
        call(t % 2 ? fast : chatter, 10);
    });
  for (std::thread &thread : list)
    thread.join();
}

/* Nodes come and go: ROS does not say when one goes. */
static void many(int count)
{
  static char objects[100000][2];
  for (int i = 0; i < count && i < 100000; i++) {
    ros_trace_rcl_node_init(&objects[i][0], &talker.rmw, ("node" + std::to_string(i)).c_str(), "/");
    ros_trace_rcl_timer_init(&objects[i][1], 1000);
    ros_trace_rclcpp_timer_link_node(&objects[i][1], &objects[i][0]);
  }
  create();
  call(fast, 1);
}

static void forked()
{
  create();
  if (fork() == 0) {
    call(chatter, 3);
    fflush(stdout);
    _exit(0);
  }
  wait(nullptr);
  call(fast, 1);
}

int main(int argc, char **argv)
{
  const std::string what = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? atoi(argv[2]) : 0, rounds = argc > 3 ? atoi(argv[3]) : 0;
  if (what == "each")
    each();
  else if (what == "nested")
    nested();
  else if (what == "exception")
    exception();
  else if (what == "threads")
    threads(count, rounds);
  else if (what == "many")
    many(count);
  else if (what == "fork")
    forked();
  else
    return 2;
  printf("%lu calls\n", ros_calls);
  return 0;
}
