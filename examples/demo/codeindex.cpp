// codeindex.cpp - indexes the identifiers of C and C++ headers, and shows the files that use a word
//
// codeindex FOLDER WORD...    reads every header below FOLDER on two threads, merges their indexes, and prints for each
// WORD the files that use it most, with a line of each as an example. It is a small program with an ordinary heap: an
// index that stays, file texts in a cache, vectors that grow, strings that live for a short time, and one leak.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace fs = std::filesystem;

struct Posting {
  unsigned file;
  unsigned line;
};

using Text = std::shared_ptr<const std::string>;

static Text read_file(const fs::path &path)
{
  std::ifstream in(path, std::ios::binary);
  return std::make_shared<const std::string>(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

// Returns a copy of each identifier of a line. Most of the program's allocations are made here.
static std::vector<std::string> identifiers_of(const std::string &line)
{
  std::vector<std::string> found;
  for (size_t at = 0; at < line.size();) {
    size_t end = at;
    while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_'))
      ++end;
    if (end > at && !std::isdigit(static_cast<unsigned char>(line[at])))
      found.push_back(line.substr(at, end - at));
    at = end > at ? end : at + 1;
  }
  return found;
}

class Index {
public:
  void add_file(unsigned file, const std::string &text)
  {
    unsigned number = 0;
    for (size_t start = 0; start < text.size();) {
      size_t end = std::min(text.find('\n', start), text.size());
      std::string line = text.substr(start, end - start);
      ++number;
      for (const std::string &word : identifiers_of(line))
        words_[word].push_back({file, number});
      start = end + 1;
    }
  }

  void merge(Index &&other)
  {
    for (auto &[word, postings] : other.words_) {
      std::vector<Posting> &mine = words_[word];
      mine.insert(mine.end(), postings.begin(), postings.end());
    }
    other.words_.clear();
  }

  const std::vector<Posting> *find(const std::string &word) const
  {
    auto found = words_.find(word);
    return found == words_.end() ? nullptr : &found->second;
  }

  size_t size() const { return words_.size(); }

private:
  std::unordered_map<std::string, std::vector<Posting>> words_;
};

// Caches the texts that were read last, up to a number of bytes.
class FileCache {
public:
  explicit FileCache(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  Text get(const fs::path &path)
  {
    auto known = by_path_.find(path);
    if (known != by_path_.end()) {
      order_.splice(order_.begin(), order_, known->second);
      return known->second->second;
    }
    order_.emplace_front(path, read_file(path));
    by_path_[path] = order_.begin();
    bytes_ += order_.front().second->size();
    while (bytes_ > limit_bytes_ && order_.size() > 1)
      evict();
    return order_.front().second;
  }

private:
  void evict()
  {
    bytes_ -= order_.back().second->size();
    by_path_.erase(order_.back().first);
    order_.pop_back();
  }

  std::list<std::pair<fs::path, Text>> order_;
  std::map<fs::path, std::list<std::pair<fs::path, Text>>::iterator> by_path_;
  size_t limit_bytes_, bytes_ = 0;
};

struct Answer {
  std::string file, example;
  unsigned uses;
};

class Search {
public:
  Search(const std::vector<fs::path> &files, const Index &index) : files_(files), index_(index) {}

  const std::vector<Answer> &ask(const std::string &word)
  {
    last_ = new std::vector<Answer>; // the leak: the previous answers are not deleted
    const std::vector<Posting> *postings = index_.find(word);
    if (!postings)
      return *last_;
    std::map<unsigned, std::pair<unsigned, unsigned>> by_file; // number of uses, and the line of the first one
    for (const Posting &posting : *postings) {
      auto &[uses, line] = by_file[posting.file];
      if (uses++ == 0)
        line = posting.line;
    }
    for (const auto &[file, use] : by_file)
      last_->push_back({files_[file].string(), line_of(file, use.second), use.first});
    std::stable_sort(last_->begin(), last_->end(), [](const Answer &a, const Answer &b) { return a.uses > b.uses; });
    return *last_;
  }

private:
  std::string line_of(unsigned file, unsigned number)
  {
    Text text = cache_.get(files_[file]);
    size_t start = 0;
    for (unsigned line = 1; line < number; ++line)
      start = text->find('\n', start) + 1;
    start = std::min(text->find_first_not_of(" \t", start), text->size());
    return text->substr(start, std::min<size_t>(text->find('\n', start) - start, 70));
  }

  const std::vector<fs::path> &files_;
  const Index &index_;
  FileCache cache_{4 << 20};
  std::vector<Answer> *last_ = nullptr;
};

static std::vector<fs::path> headers_below(const fs::path &folder)
{
  std::vector<fs::path> files;
  for (const auto &entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Indexes every `step`th file, from `first` on. Each thread has its own index, so that threads never wait.
static void index_some(const std::vector<fs::path> &files, unsigned first, unsigned step, Index &index)
{
  for (unsigned file = first; file < files.size(); file += step)
    index.add_file(file, *read_file(files[file]));
}

static Index index_all(const std::vector<fs::path> &files)
{
  Index mine, others;
  std::thread worker(index_some, std::cref(files), 1, 2, std::ref(others));
  index_some(files, 0, 2, mine);
  worker.join();
  mine.merge(std::move(others));
  return mine;
}

int main(int argc, char **argv)
{
  if (argc < 3) {
    std::cerr << "usage: codeindex FOLDER WORD...\n";
    return 2;
  }
  const std::vector<fs::path> files = headers_below(argv[1]);
  const Index index = index_all(files);
  std::cout << files.size() << " files, " << index.size() << " words\n";
  Search search(files, index);
  for (int i = 2; i < argc; ++i) {
    const std::vector<Answer> &answers = search.ask(argv[i]);
    std::cout << argv[i] << ": " << answers.size() << " files\n";
    for (size_t n = 0; n < std::min<size_t>(answers.size(), 2); ++n)
      std::cout << "  " << answers[n].uses << " times in " << answers[n].file << ": " << answers[n].example << "\n";
  }
}
