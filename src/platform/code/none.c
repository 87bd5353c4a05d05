/* none.c - detours of functions on CPUs for which there is no code for them */
#include "platform/code.h"

const char *hwi_code_obstacle(void)
{
  return "on this CPU, linked-in allocators cannot be recorded yet";
}

size_t hwi_code_near_bytes(void)
{
  return 0;
}

const char *hwi_code_plan(struct hwi_code_detour *detour, const struct hwi_code_request *request)
{
  (void)detour, (void)request;
  return "cannot be moved on this CPU";
}

void hwi_code_write(const struct hwi_code_detour *detour)
{
  (void)detour;
}

void hwi_code_sync(const void *start, size_t bytes)
{
  (void)start, (void)bytes;
}
