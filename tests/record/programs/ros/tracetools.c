/* tracetools.c - a stand-in for ROS's library libtracetools: it has the same functions and counts their calls
 *
 * The arguments are part of the count, so that a call that is passed on wrongly is noticed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long calls, checksum;
static bool allocates;
static void *volatile kept;

void begin_to_allocate(void);
void begin_to_allocate(void)
{
  allocates = true;
}

static void count(unsigned long argument)
{
  __atomic_fetch_add(&checksum, argument, __ATOMIC_RELAXED);
}

static unsigned long text(const char *argument)
{
  return argument ? strlen(argument) : 0;
}

#define TRACEPOINT(name, parameters, sum)            \
  void ros_trace_##name parameters;                  \
  void ros_trace_##name parameters                   \
  {                                                  \
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED); \
    count(sum);                                      \
    if (allocates)                                   \
      kept = malloc(1000);                           \
  }
#define ADDRESS(argument) ((argument) ? 1 : 0)

TRACEPOINT(rcl_node_init, (const void *node, const void *rmw, const char *name, const char *space),
           ADDRESS(node) + ADDRESS(rmw) + text(name) + text(space))
TRACEPOINT(rcl_subscription_init,
           (const void *subscription, const void *node, const void *rmw, const char *topic, size_t depth),
           ADDRESS(subscription) + ADDRESS(node) + ADDRESS(rmw) + text(topic) + depth)
TRACEPOINT(rclcpp_subscription_init, (const void *subscription, const void *object),
           ADDRESS(subscription) + ADDRESS(object))
TRACEPOINT(rclcpp_subscription_callback_added, (const void *object, const void *callback),
           ADDRESS(object) + ADDRESS(callback))
TRACEPOINT(rcl_service_init, (const void *service, const void *node, const void *rmw, const char *name),
           ADDRESS(service) + ADDRESS(node) + ADDRESS(rmw) + text(name))
TRACEPOINT(rclcpp_service_callback_added, (const void *service, const void *callback),
           ADDRESS(service) + ADDRESS(callback))
TRACEPOINT(rcl_timer_init, (const void *timer, int64_t period), ADDRESS(timer) + (unsigned long)period)
TRACEPOINT(rclcpp_timer_callback_added, (const void *timer, const void *callback), ADDRESS(timer) + ADDRESS(callback))
TRACEPOINT(rclcpp_timer_link_node, (const void *timer, const void *node), ADDRESS(timer) + ADDRESS(node))
TRACEPOINT(rclcpp_callback_register, (const void *callback, const char *function), ADDRESS(callback) + text(function))
TRACEPOINT(do_rclcpp_callback_register, (const void *callback, const char *function),
           ADDRESS(callback) + text(function))
TRACEPOINT(callback_start, (const void *callback, bool is_intra), ADDRESS(callback) + is_intra)
TRACEPOINT(callback_end, (const void *callback), ADDRESS(callback))
TRACEPOINT(rclcpp_executor_get_next_ready, (void), 0)
TRACEPOINT(rclcpp_executor_wait_for_work, (int64_t timeout), (unsigned long)timeout)

/* One that the adapter does not replace. */
TRACEPOINT(rcl_init, (const void *context), ADDRESS(context))

void say_calls(void);
void say_calls(void)
{
  printf("%lu calls, %lu\n", calls, checksum);
}
