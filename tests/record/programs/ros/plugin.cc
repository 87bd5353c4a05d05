/* plugin.cc - a library with ROS 2's callbacks, for a program that is not linked with libtracetools */
#include "rclcpp.h"

#include <cstdlib>

static void *volatile kept;

extern "C" void run_plugin(int period_ms)
{
  node plugin("plugin", "/");
  auto timer = create_timer(plugin, period_ms * INT64_C(1000000), [] { kept = malloc(10); });
  spin({timer.get()});
  say_calls();
}
