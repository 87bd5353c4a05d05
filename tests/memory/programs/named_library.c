/* named_library.c - a library that holds a block in a thread-local variable of its own */
_Thread_local char *drawers[4];

void put_in_drawer(char *block);

void put_in_drawer(char *block)
{
  drawers[2] = block;
}
