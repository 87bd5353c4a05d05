/* callbacks.c - the callbacks that a thread is in, and their scopes
 *
 * ROS does not state the end of a callback that throws an exception, nor of a service's that answers later. But what is
 * called inside a callback has a frame further inward, at a lower address: a frame at the same address or a higher one
 * shows that the callback has ended.
 */
#include "ros/callbacks.h"

#include "heapwright/monitor.h"
#include "ros/names.h"

enum { MOST_OPEN = 32 }; /* callbacks further inward have no scope */

struct open_callback {
  const void *callback;
  uintptr_t frame; /* each one's is lower than that before it */
  struct hw_scope scope;
};

static __thread struct {
  struct open_callback items[MOST_OPEN];
  uint32_t count, deeper; /* deeper: those further inward that have not ended */
} open;

/* Ends the callbacks from the `index`th on. */
static void end_from(uint32_t index)
{
  for (; open.count > index; open.deeper = 0)
    hw_scope_end(open.items[--open.count].scope);
}

void hwi_ros_callbacks_settle(uintptr_t frame)
{
  uint32_t count = open.count;
  while (count && open.items[count - 1].frame <= frame)
    count--;
  end_from(count);
}

void hwi_ros_callback_begin(const void *callback, uintptr_t frame)
{
  hwi_ros_callbacks_settle(frame);
  if (!hw_monitor_found)
    return;
  if (open.count == MOST_OPEN) {
    open.deeper++;
    return;
  }
  struct hw_scope scope = {hw_monitor_found->begin(hwi_ros_name_of(callback))};
  open.items[open.count++] = (struct open_callback){callback, frame, scope};
}

void hwi_ros_callback_end(const void *callback)
{
  if (open.deeper) {
    open.deeper--;
    return;
  }
  for (uint32_t i = open.count; i-- > 0;)
    if (open.items[i].callback == callback) {
      end_from(i);
      return;
    }
}
