/* rclcpp.h - what rclcpp does around callbacks, as far as libtracetools is concerned: the same calls in the same order */
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

extern "C" {
void ros_trace_rcl_init(const void *context);
void ros_trace_rcl_node_init(const void *node, const void *rmw, const char *name, const char *space);
void ros_trace_rcl_subscription_init(const void *subscription, const void *node, const void *rmw, const char *topic,
                                     size_t depth);
void ros_trace_rclcpp_subscription_init(const void *subscription, const void *object);
void ros_trace_rclcpp_subscription_callback_added(const void *object, const void *callback);
void ros_trace_rcl_service_init(const void *service, const void *node, const void *rmw, const char *name);
void ros_trace_rclcpp_service_callback_added(const void *service, const void *callback);
void ros_trace_rcl_timer_init(const void *timer, int64_t period);
void ros_trace_rclcpp_timer_callback_added(const void *timer, const void *callback);
void ros_trace_rclcpp_timer_link_node(const void *timer, const void *node);
void ros_trace_rclcpp_callback_register(const void *callback, const char *function);
void ros_trace_do_rclcpp_callback_register(const void *callback, const char *function);
void ros_trace_callback_start(const void *callback, bool is_intra_process);
void ros_trace_callback_end(const void *callback);
void ros_trace_rclcpp_executor_get_next_ready(void);
void ros_trace_rclcpp_executor_wait_for_work(int64_t timeout);
void say_calls(void);
void begin_to_allocate(void);
}

using function = std::function<void()>;

struct handle { /* of rcl: a node, a subscription, a service or a timer */
  long contents = 0;
};

struct callback { /* AnySubscriptionCallback, AnyServiceCallback, or the function of a timer */
  function run;
  bool is_intra_process = false, answers_later = false;

  __attribute__((noinline)) void dispatch()
  {
    ros_trace_callback_start(this, is_intra_process);
    run();
    if (answers_later)
      return; /* without an end, as rclcpp does it */
    ros_trace_callback_end(this);
    asm volatile("" ::: "memory");
  }
};

struct node {
  handle rcl;

  node(const char *name, const char *space) { ros_trace_rcl_node_init(&rcl, this, name, space); }
};

struct entity { /* what an executor runs */
  long virtual_table = 0;
  handle rcl;
  callback any;
};

using entity_pointer = std::unique_ptr<entity>;

inline entity_pointer subscribe(node &node, const char *topic, function run)
{
  entity_pointer made(new entity{0, {}, {std::move(run)}});
  ros_trace_rcl_subscription_init(&made->rcl, &node.rcl, &node, topic, 10);
  ros_trace_rclcpp_subscription_init(&made->rcl, made.get());
  ros_trace_rclcpp_subscription_callback_added(made.get(), &made->any);
  return made;
}

/* Within a process, the callback belongs to a second object, which states its callback before its subscription. */
inline entity_pointer subscribe_intra_process(node &node, entity &other, const char *topic, function run)
{
  entity_pointer made(new entity{0, {}, {std::move(run), true}});
  ros_trace_rcl_subscription_init(&other.rcl, &node.rcl, &node, topic, 10);
  ros_trace_rclcpp_subscription_callback_added(made.get(), &made->any);
  ros_trace_rclcpp_subscription_init(&other.rcl, made.get());
  ros_trace_rclcpp_subscription_init(&other.rcl, &other);
  ros_trace_rclcpp_subscription_callback_added(&other, &other.any);
  return made;
}

inline entity_pointer serve(node &node, const char *name, function run)
{
  entity_pointer made(new entity{0, {}, {std::move(run)}});
  ros_trace_rcl_service_init(&made->rcl, &node.rcl, &node, name);
  ros_trace_rclcpp_service_callback_added(&made->rcl, &made->any);
  return made;
}

inline entity_pointer timer_without_node(int64_t period, function run)
{
  entity_pointer made(new entity{0, {}, {std::move(run)}});
  ros_trace_rcl_timer_init(&made->rcl, period);
  ros_trace_rclcpp_timer_callback_added(&made->rcl, &made->any);
  return made;
}

inline entity_pointer create_timer(node &node, int64_t period, function run)
{
  entity_pointer made = timer_without_node(period, std::move(run));
  ros_trace_rclcpp_timer_link_node(&made->rcl, &node.rcl);
  return made;
}

inline __attribute__((noinline)) void execute(entity &ready)
{
  ready.any.dispatch();
  asm volatile("" ::: "memory");
}

/* Runs each once. */
inline __attribute__((noinline)) void spin(const std::vector<entity *> &ready)
{
  for (entity *next : ready) {
    ros_trace_rclcpp_executor_get_next_ready();
    ros_trace_rclcpp_executor_wait_for_work(-1);
    ros_trace_rclcpp_executor_get_next_ready();
    execute(*next);
  }
}
