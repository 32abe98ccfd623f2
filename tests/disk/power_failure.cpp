// power_failure LIBRARY [STRIDE]: runs the real program once with a log of everything it does to
// the disk, and cuts the power after every operation of that log (or every STRIDE-th): what was not
// synced by then may be lost. Each state of the disk that this can leave is built, and must resume
// to the end of a run that was never stopped, or hold nothing yet. Exits 1 unless that holds.
//
// What is lost is up to the disk, so after each operation several losses are tried: nothing (the
// program was killed), all names and contents that were not synced, only the contents, only the
// names, and three where each is lost, kept or cut short at random.
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include <ovde/random.h>
#include "disk/scenarios.h"

namespace ovde {
namespace {

// A file or a folder, as the program sees it and as the disk has it for certain.
struct Node {
  bool is_folder = false;
  std::string live = {}, synced = {};                  // contents of a file
  std::map<std::string, int> entries = {}, safe = {};  // names in a folder
};

enum class Loss { none, all, contents, names, some };

class Model {
 public:
  explicit Model(const fs::path& root) : root_(root) {
    nodes_.push_back({.is_folder = true});
    load(root, 0);
  }

  // One operation of the log, which begins at `text`; what follows it is left there.
  void apply(std::string_view& text) {
    const std::size_t end = text.find('\n');
    const std::string line(text.substr(0, end));
    text.remove_prefix(end + 1);
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    const std::string name = line.substr(first + 1, second - first - 1);
    const std::string rest = line.substr(second + 1);
    switch (line[0]) {
      case 'c':
        put(name, add({}));
        break;
      case 'm':
        put(name, add({.is_folder = true}));
        break;
      case 'w': {
        const std::size_t at = std::stoul(rest), size = std::stoul(rest.substr(rest.find(' ')));
        std::string& live = node(name).live;
        if (live.size() < at + size) live.resize(at + size);
        live.replace(at, size, text.substr(0, size));
        text.remove_prefix(size);
        break;
      }
      case 't':
        node(name).live.resize(std::stoul(rest));
        break;
      case 's':
        node(name).synced = node(name).live;
        node(name).safe = node(name).entries;
        break;
      case 'r':
        put(rest, *find(name));
        folder_of(name).entries.erase(fs::path(name).filename());
        break;
      case 'l':
        put(rest, *find(name));
        break;
      case 'u':
        folder_of(name).entries.erase(fs::path(name).filename());
        break;
      default:
        throw std::runtime_error("not an operation: " + line);
    }
  }

  // What the disk may hold after this loss: path and contents; "/" stands for a folder.
  std::map<std::string, std::string> after(Loss loss, Random& random) const {
    std::map<std::string, std::string> out;
    collect(0, "", loss, random, out);
    return out;
  }

 private:
  int add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }

  std::optional<int> find(const fs::path& path) const {
    int at = 0;
    for (const fs::path& part : path.lexically_relative(root_)) {
      if (part == ".") continue;
      const auto found = nodes_[at].entries.find(part.string());
      if (found == nodes_[at].entries.end()) return std::nullopt;
      at = found->second;
    }
    return at;
  }
  Node& node(const fs::path& path) {
    const auto found = find(path);
    if (!found) throw std::runtime_error("the log names what is not there: " + path.string());
    return nodes_[*found];
  }
  Node& folder_of(const fs::path& path) { return node(path.parent_path()); }
  void put(const fs::path& path, int entry) { folder_of(path).entries[path.filename()] = entry; }

  // What is there before the program starts has been there for long.
  void load(const fs::path& folder, int at) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string text = entry.is_directory() ? "" : read_file(entry.path());
      const int own = add({.is_folder = entry.is_directory(), .live = text, .synced = text});
      nodes_[at].entries[entry.path().filename()] = nodes_[at].safe[entry.path().filename()] = own;
      if (entry.is_directory()) load(entry.path(), own);
    }
  }

  static std::string contents(const Node& file, Loss loss, Random& random) {
    if (loss == Loss::none || loss == Loss::names) return file.live;
    if (loss != Loss::some || file.live == file.synced) return file.synced;
    // what both begin with is there in any case
    const auto same = static_cast<std::uint32_t>(std::ranges::mismatch(file.live, file.synced).in1 -
                                                 file.live.begin());
    const auto more = static_cast<std::uint32_t>(file.live.size()) - same;
    switch (random.below(4)) {
      case 0:
        return file.live;
      case 1:
        return file.synced;
      case 2:  // a part of it
        return file.live.substr(0, same + random.below(more + 1));
      default:  // its length alone
        return file.synced.substr(0, file.live.size()) +
               std::string(file.live.size() - std::min(file.live.size(), file.synced.size()), '\0');
    }
  }

  static std::map<std::string, int> entries(const Node& folder, Loss loss, Random& random) {
    if (loss == Loss::none || loss == Loss::contents) return folder.entries;
    if (loss != Loss::some) return folder.safe;
    std::map<std::string, int> out;
    std::set<std::string> names;
    for (const auto* all : {&folder.entries, &folder.safe}) {
      for (const auto& [name, _] : *all) names.insert(name);
    }
    for (const std::string& name : names) {
      const auto& from = random.below(2) == 0 ? folder.entries : folder.safe;
      if (const auto found = from.find(name); found != from.end()) out.insert(*found);
    }
    return out;
  }

  void collect(int at, const std::string& path, Loss loss, Random& random,
               std::map<std::string, std::string>& out) const {
    for (const auto& [name, entry] : entries(nodes_[at], loss, random)) {
      const std::string inside = path + name;
      if (nodes_[entry].is_folder) {
        out[inside + "/"] = "";
        collect(entry, inside + "/", loss, random, out);
      } else {
        out[inside] = contents(nodes_[entry], loss, random);
      }
    }
  }

  fs::path root_;
  std::vector<Node> nodes_;
};

void build(const fs::path& root, const std::map<std::string, std::string>& disk) {
  fs::remove_all(root);
  fs::create_directory(root);
  for (const auto& [name, text] : disk) {
    if (name.ends_with('/')) {
      fs::create_directory(root / name);
    } else {
      std::ofstream(root / name, std::ios::binary) << text;
    }
  }
}

int cut(const std::string& library, long stride) {
  long cuts = 0, states = 0, wrong = 0;
  for (const Work work : {Work::train, Work::population, Work::resume, Work::study}) {
    const Scenario scenario(work);
    scenario.reset();
    Model model(scenario.disk());
    const std::string log_file = scenario.aside("log").string();
    const Outcome whole = scenario.run(
        scenario.command(), fmt::format("LD_PRELOAD={} OVDE_DISK_LOG={}", library, log_file));
    if (whole.code != 0) throw std::runtime_error(whole.err);

    const std::string log = read_file(log_file);
    std::string_view left = log;
    std::set<std::map<std::string, std::string>> tried;
    Random random(1, Stream::user);
    long operations = 0, own_states = 0, own_wrong = 0;
    while (!left.empty()) {
      model.apply(left);
      if (++operations % stride != 0 && !left.empty()) continue;
      ++cuts;
      for (const Loss loss : {Loss::none, Loss::all, Loss::contents, Loss::names, Loss::some,
                              Loss::some, Loss::some}) {
        const auto disk = model.after(loss, random);
        if (!tried.insert(disk).second) continue;
        ++own_states;
        build(scenario.disk(), disk);
        std::string complaint;
        try {
          complaint = scenario.complete();
        } catch (const std::exception& error) {
          complaint = error.what();
        }
        if (complaint.empty()) continue;
        ++own_wrong;
        fmt::print("{}, after operation {}, loss {}: {}\n", name(work), operations,
                   static_cast<int>(loss), complaint);
      }
    }
    fmt::print("{}: {} operations, {} states, {} wrong\n", name(work), operations, own_states,
               own_wrong);
    std::fflush(stdout);
    states += own_states;
    wrong += own_wrong;
  }
  fmt::print("{} power failures, {} different states of the disk, {} of them lost something\n",
             cuts, states, wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ovde

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  return ovde::cut(argv[1], argc > 2 ? std::atol(argv[2]) : 1);
}
