/* folder.h - the user's folder of what outlives a server: $XDG_RUNTIME_DIR/heapwright */
#ifndef HWI_LIVE_FOLDER_H
#define HWI_LIVE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

/* Opens the folder, which nobody else can write to. Returns -1 if there is none. */
int hwi_live_folder_open(void);

/* A server that starts says that it wants the port, as long as it waits for it; a server of a run that has ended then
 * leaves it. Without the folder, no port is wanted. */
void hwi_live_want_port(uint16_t port, bool is_wanted);
bool hwi_live_is_port_wanted(uint16_t port);

#endif
