/* tracepoints.c - libheapwright-ros.so: each callback of a ROS 2 program becomes a scope, without a change of the program
 *
 * ROS calls functions of its library libtracetools where it creates nodes, subscriptions, services and timers, and where
 * callbacks begin and end. This library is preloaded and defines some of them, so that they are called here first; each
 * then calls the one of libtracetools. A program without libtracetools calls none of them.
 *
 * Source: the interface of ros2_tracing's tracetools/tracetools.h, and the calls of rcl and rclcpp (Humble to Rolling).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/os.h"
#include "ros/callbacks.h"
#include "ros/names.h"

/* X(name without "ros_trace_", parameters) */
#define TRACEPOINTS(X)                                                                                           \
  X(rcl_node_init, (const void *node, const void *rmw_node, const char *name, const char *space))                \
  X(rcl_subscription_init,                                                                                       \
    (const void *subscription, const void *node, const void *rmw_subscription, const char *topic, size_t depth)) \
  X(rclcpp_subscription_init, (const void *subscription, const void *object))                                    \
  X(rclcpp_subscription_callback_added, (const void *object, const void *callback))                              \
  X(rcl_service_init, (const void *service, const void *node, const void *rmw_service, const char *name))        \
  X(rclcpp_service_callback_added, (const void *service, const void *callback))                                  \
  X(rcl_timer_init, (const void *timer, int64_t period_ns))                                                      \
  X(rclcpp_timer_callback_added, (const void *timer, const void *callback))                                      \
  X(rclcpp_timer_link_node, (const void *timer, const void *node))                                               \
  X(rclcpp_callback_register, (const void *callback, const char *function))                                      \
  X(do_rclcpp_callback_register, (const void *callback, const char *function))                                   \
  X(callback_start, (const void *callback, bool is_intra_process))                                               \
  X(callback_end, (const void *callback))                                                                        \
  X(rclcpp_executor_get_next_ready, (void))                                                                      \
  X(rclcpp_executor_wait_for_work, (int64_t timeout_ns))

#define IDENTIFIER(name, parameters) name,
#define SYMBOL(name, parameters) "ros_trace_" #name,
#define DECLARATION(name, parameters)      \
  typedef void name##_function parameters; \
  __attribute__((visibility("default"))) name##_function ros_trace_##name;
#define OWN(name, parameters) (any_function *)ros_trace_##name,

typedef void any_function(void);
TRACEPOINTS(DECLARATION)
enum tracepoint { TRACEPOINTS(IDENTIFIER) TRACEPOINT_COUNT };
static const char *const symbols[] = {TRACEPOINTS(SYMBOL)};
static any_function *const own[] = {TRACEPOINTS(OWN)};

/* --- the functions of libtracetools --- */

/* Those of libraries that the program was started with: they stay loaded. */
static any_function *next_at_start[TRACEPOINT_COUNT];

static __attribute__((constructor)) void find_at_start(void)
{
  for (int i = 0; i < TRACEPOINT_COUNT; i++)
    next_at_start[i] = (any_function *)hwi_os_symbol_after(symbols[i]);
}

/* A library that was loaded later is searched from its caller, at each call: it may be unloaded again. */
static any_function *find_next(enum tracepoint which, uintptr_t caller)
{
  if (next_at_start[which])
    return next_at_start[which];
  any_function *found = (any_function *)hwi_os_symbol_seen_from(caller, symbols[which]);
  return found == own[which] ? NULL : found;
}

#define CALL_NEXT(name, ...)                                                                            \
  do {                                                                                                  \
    name##_function *next = (name##_function *)find_next(name, (uintptr_t)__builtin_return_address(0)); \
    if (next)                                                                                           \
      next(__VA_ARGS__);                                                                                \
  } while (0)

#define FRAME() ((uintptr_t)__builtin_frame_address(0))

/* --- what is created --- */

void ros_trace_rcl_node_init(const void *node, const void *rmw_node, const char *name, const char *space)
{
  hwi_ros_name_node(node, name, space);
  CALL_NEXT(rcl_node_init, node, rmw_node, name, space);
}

void ros_trace_rcl_subscription_init(const void *subscription, const void *node, const void *rmw_subscription,
                                     const char *topic, size_t depth)
{
  hwi_ros_name_entity(subscription, node, "", topic);
  CALL_NEXT(rcl_subscription_init, subscription, node, rmw_subscription, topic, depth);
}

void ros_trace_rclcpp_subscription_init(const void *subscription, const void *object)
{
  hwi_ros_name_owner(object, subscription);
  CALL_NEXT(rclcpp_subscription_init, subscription, object);
}

void ros_trace_rclcpp_subscription_callback_added(const void *object, const void *callback)
{
  hwi_ros_name_owner(callback, object);
  CALL_NEXT(rclcpp_subscription_callback_added, object, callback);
}

void ros_trace_rcl_service_init(const void *service, const void *node, const void *rmw_service, const char *name)
{
  hwi_ros_name_entity(service, node, "service ", name);
  CALL_NEXT(rcl_service_init, service, node, rmw_service, name);
}

void ros_trace_rclcpp_service_callback_added(const void *service, const void *callback)
{
  hwi_ros_name_owner(callback, service);
  CALL_NEXT(rclcpp_service_callback_added, service, callback);
}

void ros_trace_rcl_timer_init(const void *timer, int64_t period_ns)
{
  hwi_ros_name_timer(timer, period_ns);
  CALL_NEXT(rcl_timer_init, timer, period_ns);
}

void ros_trace_rclcpp_timer_callback_added(const void *timer, const void *callback)
{
  hwi_ros_name_owner(callback, timer);
  CALL_NEXT(rclcpp_timer_callback_added, timer, callback);
}

void ros_trace_rclcpp_timer_link_node(const void *timer, const void *node)
{
  hwi_ros_name_timer_of(timer, node);
  CALL_NEXT(rclcpp_timer_link_node, timer, node);
}

void ros_trace_rclcpp_callback_register(const void *callback, const char *function)
{
  hwi_ros_name_function(callback, function);
  CALL_NEXT(rclcpp_callback_register, callback, function);
}

/* From Iron on, rclcpp calls this one instead, and only while the function's name is traced. */
void ros_trace_do_rclcpp_callback_register(const void *callback, const char *function)
{
  hwi_ros_name_function(callback, function);
  CALL_NEXT(do_rclcpp_callback_register, callback, function);
}

/* --- what happens --- */

/* What tracing allocates is not the callback's. */
void ros_trace_callback_start(const void *callback, bool is_intra_process)
{
  CALL_NEXT(callback_start, callback, is_intra_process);
  hwi_ros_callback_begin(callback, FRAME());
}

void ros_trace_callback_end(const void *callback)
{
  hwi_ros_callback_end(callback);
  CALL_NEXT(callback_end, callback);
}

/* An executor asks for work: a callback that threw an exception to it has ended. */
void ros_trace_rclcpp_executor_get_next_ready(void)
{
  hwi_ros_callbacks_settle(FRAME());
  CALL_NEXT(rclcpp_executor_get_next_ready);
}

void ros_trace_rclcpp_executor_wait_for_work(int64_t timeout_ns)
{
  hwi_ros_callbacks_settle(FRAME());
  CALL_NEXT(rclcpp_executor_wait_for_work, timeout_ns);
}
