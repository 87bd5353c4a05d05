// debug_part.cc - one of thousands of sources of a large program: containers of its own types, functions that allocate
//
// It is compiled once. The bench makes the other parts by replacing PART's number in the object file, so that each has
// its own names, code and debug information.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace PART {

template <int Kind> struct record {
  std::string name;
  std::vector<double> values;
  std::unique_ptr<record> next;

  explicit record(int count) : name(40 + Kind, 'x'), values(count) {}
};

template <int Kind> class shelf {
  std::map<int, record<Kind>> by_number_;
  std::unordered_map<std::string, std::shared_ptr<record<Kind>>> by_name_;

public:
  void fill(int count)
  {
    for (int i = 0; i < count; i++) {
      by_number_.emplace(i, record<Kind>(i));
      auto shared = std::make_shared<record<Kind>>(i);
      by_name_[shared->name + std::to_string(i)] = shared;
    }
  }

  double total() const
  {
    double sum = 0;
    std::for_each(by_number_.begin(), by_number_.end(), [&](const auto &each) {
      std::vector<double> sorted(each.second.values);
      std::sort(sorted.begin(), sorted.end(), std::greater<double>());
      sum += sorted.empty() ? 0 : sorted.front();
    });
    return sum;
  }
};

template <int Kind> static double fill_shelf(int count)
{
  shelf<Kind> shelf;
  shelf.fill(count);
  return shelf.total();
}

double run(int count)
{
  return fill_shelf<1>(count);
}

} // namespace PART
