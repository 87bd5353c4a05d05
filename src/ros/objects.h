/* objects.h - what ROS creates, by address: nodes, subscriptions, services, timers and their callbacks
 *
 * ROS states what it creates, but not what it destroys: an object at the same address replaces an earlier one. All
 * functions are async-signal-safe, and no thread waits for another one.
 */
#ifndef HWI_ROS_OBJECTS_H
#define HWI_ROS_OBJECTS_H

#include <stdatomic.h>
#include <stdint.h>

struct hwi_ros_object {
  _Atomic uintptr_t address;
  _Atomic uintptr_t owner;     /* the object whose scope this one's callbacks are in; 0: none */
  _Atomic uint32_t scope_name; /* the recorder's number of it; 0: none */
  _Atomic uint32_t path_off;   /* of a node: its path among the texts of names.c; 0: none */
  _Atomic int64_t period_ns;   /* of a timer */
};

/* Returns the object at this address, or NULL if none was made there. */
struct hwi_ros_object *hwi_ros_object_at(const void *address);

/* The same, but makes the object. Returns NULL if there is no room for it. */
struct hwi_ros_object *hwi_ros_object_make(const void *address);

#endif
