"""test_recursion.py - totals by function: functions that call each other in turn must count once, not once per turn"""

import json

PROGRAM = """
    #include <stdlib.h>
    #define CALLED __attribute__((noipa))
    static void *volatile keep[64];
    static int kept;
    CALLED void odd(int depth);
    CALLED void even(int depth)
    {
      keep[kept++] = malloc(100);
      if (depth > 0)
        odd(depth - 1);
      keep[0] = keep[0];
    }
    CALLED void odd(int depth)
    {
      keep[kept++] = malloc(10);
      if (depth > 0)
        even(depth - 1);
      keep[0] = keep[0];
    }
    int main(void)
    {
      even(9); /* even at depths 9, 7, 5, 3, 1; odd at 8, 6, 4, 2, 0 */
      return 0;
    }
"""


def test_mutual_recursion_counts_once(record, compile_c, hw):
    trace = record([compile_c(PROGRAM)]).trace
    done = hw("report", "--json", "--by", "function", "--cost", "bytes", trace)
    assert done.returncode == 0, done.stderr
    groups = {group["function"]: group for group in json.loads(done.stdout)["by_function"]}
    assert groups["even"]["self"]["bytes"] == 5 * 100 and groups["even"]["self"]["calls"] == 5
    assert groups["odd"]["self"]["bytes"] == 5 * 10 and groups["odd"]["self"]["calls"] == 5
    assert groups["even"]["total"]["bytes"] == 550 and groups["even"]["total"]["calls"] == 10
    assert groups["odd"]["total"]["bytes"] == 450 and groups["odd"]["total"]["calls"] == 9  # all but the first
    assert groups["main"]["total"]["bytes"] == 550 and groups["main"]["self"]["bytes"] == 0
