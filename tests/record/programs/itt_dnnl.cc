/* itt_dnnl.cc - a program on oneDNN, whose primitives are tasks of ITT */
#include <cstdio>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

int main()
{
  using dnnl::memory;
  const memory::dims shape = {2, 3, 4, 5};
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  std::vector<float> from(120), to(120);
  for (int i = 0; i < 120; i++)
    from[i] = static_cast<float>(i);
  memory source({shape, memory::data_type::f32, memory::format_tag::nchw}, engine, from.data());
  memory target({shape, memory::data_type::f32, memory::format_tag::nhwc}, engine, to.data());
  dnnl::reorder reorder(source, target);
  for (int i = 0; i < 10; i++)
    reorder.execute(stream, source, target);
  stream.wait();
  std::printf("%g %g\n", to[1], to[119]);
  return 4;
}
