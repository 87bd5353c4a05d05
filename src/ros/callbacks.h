/* callbacks.h - the callbacks that a thread is in, and their scopes
 *
 * All functions are about the calling thread and do not change errno. `frame` is the address of a frame of the function
 * that calls the callback.
 */
#ifndef HWI_ROS_CALLBACKS_H
#define HWI_ROS_CALLBACKS_H

#include <stdint.h>

void hwi_ros_callback_begin(const void *callback, uintptr_t frame);

/* Ends the callback, and those inside; without such a callback, this does nothing. */
void hwi_ros_callback_end(const void *callback);

/* Ends the callbacks that were left without an end, as can be seen from this frame. */
void hwi_ros_callbacks_settle(uintptr_t frame);

#endif
