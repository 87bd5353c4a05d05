/* foreign_new.cc - a library with its own operators: blocks with a header, and a new_handler that it calls itself */
#include <cstdlib>
#include <new>

/* To glibc this is a chunk's size that reaches far outside of any heap: glibc must not be asked about such a block. */
static const size_t MAGIC = 0x7f0000000ff0;

int foreign_given, foreign_taken;

struct header {
  size_t size, magic;
};

void *operator new(size_t size)
{
  for (;;) {
    header *block = (header *)malloc(size + sizeof(header));
    if (block) {
      *block = {size, MAGIC};
      foreign_given++;
      return block + 1;
    }
    std::new_handler handler = std::get_new_handler();
    if (!handler)
      throw std::bad_alloc();
    handler();
  }
}

/* Deeper in the stack than the operator was. */
void *foreign_malloc(size_t size)
{
  volatile char below[4096] = "";
  void *block = malloc(size + (size_t)below[0]);
  below[1] = 0;
  return block;
}

void operator delete(void *block) noexcept
{
  if (!block)
    return;
  header *own = (header *)block - 1;
  if (own->magic != MAGIC)
    abort();
  foreign_taken++;
  free(own);
}
