/* ros_tracetools.c - a stand-in for libtracetools of ROS 2: the same exported functions, which count their calls */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

unsigned long ros_calls;  /* of all functions */
const void *ros_callback; /* of the last callback that began */

void ros_trace_rcl_node_init(const void *node, const void *rmw_node, const char *name, const char *space)
{
  ros_calls += node && rmw_node && name && space;
}

void ros_trace_rcl_subscription_init(const void *subscription, const void *node, const void *rmw_subscription,
                                     const char *topic, size_t depth)
{
  ros_calls += subscription && node && rmw_subscription && topic && depth == 10;
}

void ros_trace_rclcpp_subscription_init(const void *subscription, const void *object)
{
  ros_calls += subscription && object;
}

void ros_trace_rclcpp_subscription_callback_added(const void *object, const void *callback)
{
  ros_calls += object && callback;
}

void ros_trace_rcl_service_init(const void *service, const void *node, const void *rmw_service, const char *name)
{
  ros_calls += service && node && rmw_service && name;
}

void ros_trace_rclcpp_service_callback_added(const void *service, const void *callback)
{
  ros_calls += service && callback;
}

void ros_trace_rcl_timer_init(const void *timer, int64_t period_ns)
{
  ros_calls += timer && period_ns;
}

void ros_trace_rclcpp_timer_callback_added(const void *timer, const void *callback)
{
  ros_calls += timer && callback;
}

void ros_trace_rclcpp_timer_link_node(const void *timer, const void *node)
{
  ros_calls += timer && node;
}

void ros_trace_rclcpp_callback_register(const void *callback, const char *function)
{
  ros_calls += callback && function;
}

void ros_trace_do_rclcpp_callback_register(const void *callback, const char *function)
{
  ros_calls += callback && function;
}

void ros_trace_callback_start(const void *callback, bool is_intra_process)
{
  ros_callback = callback;
  __atomic_add_fetch(&ros_calls, is_intra_process ? 100 : 1, __ATOMIC_RELAXED);
}

void ros_trace_callback_end(const void *callback)
{
  (void)callback;
  __atomic_add_fetch(&ros_calls, 1, __ATOMIC_RELAXED);
}

void ros_trace_rclcpp_executor_get_next_ready(void)
{
  ros_calls++;
}

void ros_trace_rclcpp_executor_wait_for_work(int64_t timeout_ns)
{
  ros_calls += timeout_ns == -1;
}
