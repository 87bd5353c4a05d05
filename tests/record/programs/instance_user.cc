/* instance_user.cc - uses a preloaded instance.c in every way, and prints whether its blocks came from there */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <map>
#include <string>
#include <vector>

int main()
{
  std::map<int, std::string> map;
  for (int i = 0; i < 1000; i++)
    map[i] = std::string(i, 'x');
  std::vector<int> numbers(1000, 7);
  char *block = (char *)malloc(1000);
  memset(block, 1, 1000);
  block = (char *)realloc(block, 2000);
  char *zeros = (char *)calloc(1000, 3);
  int sum = 0;
  for (int i = 0; i < 3000; i++)
    sum += zeros[i];
  printf("%zu %d %d %d %zu\n", map[999].size(), numbers[999], block[999], sum, malloc_usable_size(zeros));
  free(block);
  free(zeros);
  return 0;
}
