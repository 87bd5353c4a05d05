// all_of_std.cc - a C++20 file that includes all of the standard library and uses some of it: work for the compiler
#include <bits/stdc++.h>

namespace bench {

struct reading {
  std::string sensor;
  double value = 0;
  std::optional<std::chrono::nanoseconds> age;
  auto operator<=>(const reading &) const = default;
};

using any_reading = std::variant<int, double, std::string, reading>;

std::vector<std::string> words(const std::string &text)
{
  static const std::regex word{R"((\w+)(-\w+)*)", std::regex::icase};
  std::vector<std::string> found;
  for (std::sregex_iterator at{text.begin(), text.end(), word}, end; at != end; ++at)
    found.push_back(at->str());
  return found;
}

double newest(const std::vector<reading> &readings)
{
  auto values = readings | std::views::filter([](const reading &r) { return r.age.has_value(); }) |
                std::views::transform(&reading::value) | std::views::drop(1) | std::views::common;
  return std::accumulate(values.begin(), values.end(), 0.0);
}

std::map<std::string, std::vector<reading>> by_sensor(std::vector<reading> readings)
{
  std::map<std::string, std::vector<reading>> groups;
  std::ranges::sort(readings, std::greater{}, &reading::value);
  for (auto &each : readings)
    groups[each.sensor].push_back(std::move(each));
  return groups;
}

std::string shown(const any_reading &any)
{
  std::ostringstream out;
  std::visit(
      [&](const auto &it) {
        if constexpr (std::is_same_v<std::decay_t<decltype(it)>, reading>)
          out << it.sensor << ' ' << std::setprecision(3) << it.value;
        else
          out << it;
      },
      any);
  return out.str();
}

std::future<double> in_background(std::vector<reading> readings)
{
  return std::async(std::launch::async, [readings = std::move(readings)] { return newest(readings); });
}

std::uintmax_t folder_bytes(const std::filesystem::path &folder)
{
  std::uintmax_t total = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator{folder})
    if (entry.is_regular_file())
      total += entry.file_size();
  return total;
}

} // namespace bench
