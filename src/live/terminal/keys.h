/* keys.h - what each key does to the view */
#ifndef HWI_LIVE_TERMINAL_KEYS_H
#define HWI_LIVE_TERMINAL_KEYS_H

#include "live/terminal/view.h"

/* Keys without a character; the others are their code points. */
enum hwi_key {
  HWI_KEY_NONE = 0,
  HWI_KEY_TAB = '\t',
  HWI_KEY_ENTER = '\n',
  HWI_KEY_ESCAPE = 27,
  HWI_KEY_BEYOND_UNICODE = 0x110000,
  HWI_KEY_UP,
  HWI_KEY_DOWN,
  HWI_KEY_LEFT,
  HWI_KEY_RIGHT,
  HWI_KEY_PAGE_UP,
  HWI_KEY_PAGE_DOWN,
  HWI_KEY_HOME,
  HWI_KEY_END,
  HWI_KEY_BACK_TAB,
  HWI_KEY_BACKSPACE,
  HWI_KEY_RESIZE,
  HWI_KEY_OTHER, /* has no meaning */
};

void hwi_keys_take(struct hwi_view *view, uint32_t key);

#endif
