/* ros.cc - a program with ROS 2's callbacks
 *
 * ros CASE: does what the case of this name does, says how often libtracetools was called, and exits with status 0.
 */
#include "rclcpp.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <thread>

static void *volatile kept;

static function allocate(size_t bytes)
{
  return [bytes] { kept = malloc(bytes); };
}

static void nodes()
{
  node talker("talker", "/"), listener("listener", "/robot/one");
  auto timer = create_timer(talker, 500000000, allocate(1));
  auto first = subscribe(listener, "/chatter", allocate(20)),
       second = subscribe(listener, "/robot/one/status", allocate(300));
  auto service = serve(talker, "/add", allocate(4000));
  for (int i = 0; i < 3; i++)
    spin({timer.get(), first.get(), second.get(), service.get()});
  kept = malloc(50000);
}

static void intra()
{
  node listener("listener", "/");
  entity between{0, {}, {allocate(1)}};
  auto within = subscribe_intra_process(listener, between, "/image", allocate(20));
  spin({&between, within.get()});
}

/* Before rclcpp had objects for subscriptions, callbacks belonged to those of rcl. */
static void old()
{
  node listener("listener", "/");
  entity made{0, {}, {allocate(1)}};
  ros_trace_rcl_subscription_init(&made.rcl, &listener.rcl, &listener, "/chatter", 10);
  ros_trace_rclcpp_subscription_callback_added(&made.rcl, &made.any);
  spin({&made});
}

static void periods()
{
  node talker("talker", "/");
  for (int64_t period : {0L, 7L, 999L, 1000L, 250000L, 1000000L, 33333333L, 1050000L, 1000500000L, 1500000000L,
                         3600000000000L, 1000000001L})
    spin({create_timer(talker, period, allocate(1)).get()});
  spin({timer_without_node(20000000, allocate(1)).get()});
  auto early = timer_without_node(30000000, allocate(1));
  spin({early.get()});
  ros_trace_rclcpp_timer_link_node(&early->rcl, &talker.rcl);
  spin({early.get()});
}

static void unknown()
{
  entity none{0, {}, {allocate(1)}}, named{0, {}, {allocate(20)}}, named_late{0, {}, {allocate(300)}};
  ros_trace_rclcpp_callback_register(&named.any, "Planner::on_map(Map)");
  ros_trace_do_rclcpp_callback_register(&named_late.any, "Planner::on_goal(Goal)");
  node listener("listener", "/");
  auto known = subscribe(listener, "/chatter", allocate(4000)),
       nameless = subscribe(listener, nullptr, allocate(50000));
  ros_trace_rclcpp_callback_register(&known->any, "a function");
  ros_trace_rclcpp_callback_register(&nameless->any, nullptr);
  node of_nothing(nullptr, nullptr);
  auto without_node = serve(of_nothing, "/add", allocate(600000));
  spin({&none, &named, &named_late, known.get(), nameless.get(), without_node.get()});
}

static void odd()
{
  node listener("listener", "/");
  auto outer = subscribe(listener, "/outer", allocate(1)), inner = subscribe(listener, "/inner", allocate(20));
  ros_trace_callback_end(&outer->any);
  ros_trace_callback_end(nullptr);
  outer->any.run = [&] {
    execute(*inner);
    ros_trace_callback_start(&inner->any, false);
    kept = malloc(300);
  }; /* which leaves the inner one without an end */
  spin({outer.get()});
  kept = malloc(4000);
  ros_trace_callback_end(&outer->any);
  ros_trace_callback_end(&inner->any);
  ros_trace_callback_start(nullptr, false);
  kept = malloc(50000);
  ros_trace_callback_end(nullptr);
}

static __attribute__((noinline)) void spin_and_catch(const std::vector<entity *> &ready)
{
  try {
    spin(ready);
  } catch (const std::runtime_error &) {
  }
}

/* A callback that throws has no end: what follows is not inside of it. */
static void exceptions()
{
  node listener("listener", "/");
  auto bad = subscribe(listener, "/bad", [] {
    kept = malloc(1);
    throw std::runtime_error("expected");
  });
  auto good = subscribe(listener, "/good", allocate(20));
  for (int i = 0; i < 10; i++) {
    spin_and_catch({bad.get()});
    try {
      execute(*bad); /* without an executor */
    } catch (const std::runtime_error &) {
    }
    execute(*good);
    spin_and_catch({bad.get()});
    spin({good.get()});
  }
  auto outer = subscribe(listener, "/outer", [&] {
    try {
      spin({bad.get()});
    } catch (const std::runtime_error &) {
    }
    spin({good.get()});
    kept = malloc(300);
  });
  spin({outer.get()});
  kept = malloc(4000);
  spin({});
}

static void answers_later()
{
  node adder("adder", "/");
  auto service = serve(adder, "/add", allocate(1));
  service->any.answers_later = true;
  auto timer = create_timer(adder, 1000000, allocate(20));
  for (int i = 0; i < 10; i++)
    spin({service.get(), timer.get()});
}

/* Callbacks that wait for others, deeper than the adapter follows. */
static void nested()
{
  node waiter("waiter", "/");
  auto timer = create_timer(waiter, 1000000, allocate(1));
  auto service = serve(waiter, "/wait", [&] {
    spin({timer.get()});
    kept = malloc(20);
  });
  spin({service.get()});
  int depth = 0;
  entity_pointer deep = serve(waiter, "/deep", [&] {
    kept = malloc(300);
    if (++depth < 100)
      spin({deep.get()});
    kept = malloc(7);
  });
  spin({deep.get()});
  spin({timer.get()});
}

/* The same reentrant callback, and others, on eight threads. */
static void threads()
{
  node worker("worker", "/");
  auto shared = subscribe(worker, "/shared", allocate(16));
  auto call = serve(worker, "/call", [&] { spin({shared.get()}); });
  std::vector<std::thread> all;
  for (int i = 0; i < 8; i++)
    all.emplace_back([&, i] {
      auto own = create_timer(worker, (i + 1) * 1000000, allocate((size_t)(100 + i)));
      for (int round = 0; round < 100; round++)
        spin({shared.get(), own.get(), call.get()});
    });
  for (std::thread &thread : all)
    thread.join();
}

/* Nodes and subscriptions that are created where earlier ones were. */
static void again()
{
  alignas(node) char room[sizeof(node)];
  entity one{0, {}, {allocate(1)}};
  for (int i = 0; i < 30; i++) {
    std::string name = "node_" + std::to_string(i % 3), topic = "/topic_" + std::to_string(i % 2);
    node *made = new (room) node(name.c_str(), "/");
    ros_trace_rcl_subscription_init(&one.rcl, &made->rcl, made, topic.c_str(), 1);
    ros_trace_rclcpp_subscription_init(&one.rcl, &one);
    ros_trace_rclcpp_subscription_callback_added(&one, &one.any);
    spin({&one});
    ros_trace_rcl_timer_init(&one.rcl, 1000000);
    ros_trace_rclcpp_timer_callback_added(&one.rcl, &one.any);
    ros_trace_rclcpp_timer_link_node(&one.rcl, &made->rcl);
    spin({&one});
  }
}

/* More nodes and callbacks than there is room for: the first ones have names, and all run. */
static void many()
{
  std::vector<entity_pointer> all;
  for (int i = 0; i < 30000; i++) {
    std::string name = "node_number_" + std::to_string(i);
    node of("of", "/");
    if (i)
      new (&of) node(name.c_str(), "/");
    all.push_back(subscribe(of, "/chatter", allocate(1)));
  }
  spin({all.front().get(), all.back().get()});
}

static void split()
{
  node forker("forker", "/");
  auto timer = create_timer(forker, 1000000, [] {
    pid_t child = fork();
    kept = malloc(child ? 100 : 200);
    if (child)
      waitpid(child, nullptr, 0);
  });
  pid_t self = getpid();
  spin({timer.get()});
  kept = malloc(1);
  if (getpid() != self)
    _exit(0);
}

static void tracing()
{
  node talker("talker", "/");
  auto timer = create_timer(talker, 1000000, allocate(1));
  begin_to_allocate();
  spin({timer.get()});
}

static void keep_errno()
{
  errno = 4321;
  nodes();
  unknown();
  if (errno != 4321)
    abort();
}

int main(int argc, char **argv)
{
  static const std::map<std::string, void (*)()> cases = {
      {"nodes", nodes},
      {"intra", intra},
      {"old", old},
      {"periods", periods},
      {"unknown", unknown},
      {"odd", odd},
      {"exceptions", exceptions},
      {"answers later", answers_later},
      {"nested", nested},
      {"threads", threads},
      {"again", again},
      {"many", many},
      {"fork", split},
      {"tracing", tracing},
      {"errno", keep_errno},
  };
  ros_trace_rcl_init(argv);
  cases.at(argc > 1 ? argv[1] : "nodes")();
  say_calls();
}
