// Layers: which folder of src/ may include which. The lines ovde_folder(...) of src/CMakeLists.txt
// declare it; every #include and the table in CONTRIBUTING.md are checked against them.
// Pages: files, links and headings that the documentation names exist.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;
using Uses = std::map<std::string, Names>;  // folder -> the folders it uses directly

const fs::path kRoot = OVDE_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::istringstream in(read(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<fs::path> files_below(const std::string& folder, const Names& extensions) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
    if (extensions.contains(entry.path().extension())) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}
std::vector<fs::path> code_below(const std::string& folder) {
  return files_below(folder, {".cpp", ".h", ".cu", ".cuh"});
}

std::string shown(const fs::path& path) { return fs::relative(path, kRoot).generic_string(); }

// "agent" for "agent/critic/critic.h".
std::string first_folder(const std::string& path) { return path.substr(0, path.find('/')); }
std::string folder_of(const fs::path& file) {
  return first_folder(fs::relative(file, kRoot / "src").generic_string());
}

// "critic" for "agent/critic/critic.h"; empty for "agent/replay.h".
std::string sub_folder(const std::string& path) {
  const auto begin = path.find('/') + 1, end = path.find('/', begin);
  return end == std::string::npos ? "" : path.substr(begin, end - begin);
}

std::vector<std::string> all_matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    found.push_back(at->str(at->size() > 1 ? 1 : 0));
  return found;
}

Names words(const std::string& text) {
  const auto found = all_matches(text, std::regex("[a-z_]+"));
  return {found.begin(), found.end()};
}

// ovde_folder(NAME [USES a b ...] [LIBRARIES ...] [INCLUDES ...]), each on a line of its own
Uses read_uses() {
  static const std::regex line("^ovde_folder\\(([a-z]+)(?: USES([a-z ]+))?[ )].*");
  Uses uses;
  std::smatch match;
  for (const std::string& text : lines_of(kRoot / "src/CMakeLists.txt"))
    if (std::regex_match(text, match, line)) uses[match[1]] = words(match[2]);
  return uses;
}

// The folder itself, the folders it uses, and those that they use in turn.
Names reach(const Uses& uses, const std::string& folder) {
  Names all = {folder};
  for (const std::string& used : uses.at(folder)) all.merge(reach(uses, used));
  return all;
}

std::vector<std::string> includes(const fs::path& file, char open = '"') {
  static const std::regex quoted("^ *# *include *\"([^\"]+)\""), angled("^ *# *include *<([^>]+)>");
  std::vector<std::string> all;
  std::smatch match;
  for (const std::string& line : lines_of(file))
    if (std::regex_search(line, match, open == '"' ? quoted : angled)) all.push_back(match[1]);
  return all;
}

TEST(Layers, EveryFolderIsDeclared) {
  const Uses uses = read_uses();
  for (const auto& entry : fs::directory_iterator(kRoot / "src")) {
    if (entry.is_directory() && fs::is_empty(entry)) continue;  // git does not store these
    EXPECT_EQ(uses.contains(entry.path().filename()), entry.is_directory()) << entry.path();
  }
  for (const auto& [folder, used] : uses) {
    EXPECT_TRUE(fs::is_directory(kRoot / "src" / folder)) << folder;
    for (const std::string& name : used) EXPECT_TRUE(uses.contains(name)) << folder << ' ' << name;
  }
}

// A test in tests/agent may include the same folders as src/agent.
TEST(Layers, IncludesAreAllowed) {
  const Uses uses = read_uses();
  int seen = 0;
  for (const std::string tree : {"src", "tests"}) {
    for (const fs::path& file : code_below(tree)) {
      const std::string folder = first_folder(fs::relative(file, kRoot / tree).generic_string());
      if (!uses.contains(folder)) continue;  // fuzz targets and shared headers
      const Names allowed = reach(uses, folder);
      for (const std::string& name : includes(file)) {
        const bool shared = tree == "tests" && name.find('/') == std::string::npos;
        EXPECT_TRUE(shared || allowed.contains(first_folder(name)))
            << shown(file) << " includes " << name << ", but src/" << folder << " may not use src/"
            << first_folder(name) << " (src/CMakeLists.txt)";
        ++seen;
      }
    }
  }
  EXPECT_GT(seen, 500);
}

// Files directly in a folder may be included by all its sub-folders.
TEST(Layers, SubFoldersHaveNoCycles) {
  Uses uses;
  for (const fs::path& file : code_below("src")) {
    const std::string path = fs::relative(file, kRoot / "src").generic_string();
    for (const std::string& name : includes(file)) {
      if (first_folder(name) != first_folder(path)) continue;
      const std::string from = sub_folder(path), to = sub_folder(name);
      if (!from.empty() && !to.empty() && from != to)
        uses[first_folder(path) + "/" + from].insert(first_folder(path) + "/" + to);
    }
  }
  // remove folders that use no others until nothing changes; what remains is a cycle
  for (bool found = true; found;) {
    found = false;
    for (auto it = uses.begin(); it != uses.end();) {
      std::erase_if(it->second, [&](const std::string& used) { return !uses.contains(used); });
      found |= it->second.empty();
      it = it->second.empty() ? uses.erase(it) : std::next(it);
    }
  }
  EXPECT_EQ(uses, Uses{}) << "these sub-folders include each other";
}

TEST(Layers, SubFoldersOfStudyAreOrdered) {
  const std::map<std::string, Names> allowed = {{"plan", {}},
                                                {"analyse", {"plan"}},
                                                {"execute", {"plan", "analyse"}},
                                                {"plot", {"plan", "analyse"}},
                                                {"report", {"plan", "analyse", "plot"}}};
  for (const fs::path& file : code_below("src/study")) {
    const std::string folder = sub_folder(fs::relative(file, kRoot / "src").generic_string());
    ASSERT_TRUE(allowed.contains(folder)) << shown(file);
    for (const std::string& name : includes(file)) {
      const std::string used = first_folder(name) == "study" ? sub_folder(name) : folder;
      EXPECT_TRUE(used == folder || allowed.at(folder).contains(used))
          << shown(file) << " includes " << name;
    }
  }
}

// A public header belongs to the folder that implements it; lower folders do not include it.
TEST(Layers, PublicHeadersFollowTheLayers) {
  static const std::map<std::string, std::string> home = {
      {"box", "base"},          {"bytes", "base"}, {"error", "base"},  {"option", "base"},
      {"random", "base"},       {"env", "env"},    {"check", "env"},   {"explorer", "agent"},
      {"uncertainty", "agent"}, {"policy", "act"}, {"train", "train"}, {"program", "cli"}};
  const Uses uses = read_uses();
  for (const fs::path& file : code_below("src")) {
    for (const std::string& name : includes(file, '<')) {
      if (!name.starts_with("ovde/")) continue;
      const auto at = home.find(fs::path(name).stem());
      ASSERT_NE(at, home.end()) << name << ": which folder implements it?";
      EXPECT_TRUE(reach(uses, folder_of(file)).contains(at->second))
          << shown(file) << " includes <" << name << ">, which belongs to src/" << at->second;
    }
  }
}

TEST(Layers, PublicHeadersAndExamplesDoNotIncludeSrc) {
  for (const std::string folder : {"include", "examples"})
    for (const fs::path& file : code_below(folder))
      for (const std::string& name : includes(file))
        EXPECT_TRUE(fs::exists(file.parent_path() / name)) << shown(file) << " includes " << name;
}

// | `src/train` | question | run, config, cuda |
TEST(Layers, ContributingListsTheSameFolders) {
  static const std::regex row("^\\| `src/([a-z]+)` \\| .* \\| ([a-z, -]+) \\|$");
  Uses shown_uses;
  std::smatch match;
  for (const std::string& line : lines_of(kRoot / "CONTRIBUTING.md"))
    if (std::regex_match(line, match, row)) shown_uses[match[1]] = words(match[2]);
  EXPECT_EQ(shown_uses, read_uses());
}

TEST(Layers, TestsMirrorTheSources) {
  const Uses uses = read_uses();
  for (const fs::path& file : files_below("tests", {".cpp"})) {
    const std::string path = fs::relative(file, kRoot / "tests").generic_string();
    const std::string folder = first_folder(path), sub = sub_folder(path);
    if (folder == path || folder == "fuzz" || folder == "disk" || folder == "embedded" ||
        folder == "on_cpu")
      continue;
    EXPECT_TRUE(uses.contains(folder)) << shown(file);
    EXPECT_TRUE(fs::is_directory(kRoot / "src" / folder / sub)) << shown(file);
  }
}

// A trailing dot is the end of a sentence, not a part of the path.
bool exists_below(std::string path, const std::vector<std::string>& roots) {
  while (path.ends_with('.')) path.pop_back();
  return std::ranges::any_of(
      roots, [&](const std::string& root) { return fs::exists(kRoot / root / path); });
}

TEST(Pages, NamedPathsExist) {
  static const std::regex path(
      "(?:^|[^A-Za-z0-9_./-])"
      "((?:src|tests|include|scripts|docs|bench|configs|examples|cmake)/(?:[A-Za-z0-9_.-]*/)*"
      "(?:[A-Za-z0-9_.-]+(?![A-Za-z0-9_.*{<-]))?)");
  static const std::regex link("\\]\\(([^)#:]+)(?:#[^)]*)?\\)");
  std::vector<fs::path> pages = files_below("docs", {".md"});
  for (const char* name : {"README.md", "CONTRIBUTING.md"}) pages.push_back(kRoot / name);
  for (const fs::path& page : pages) {
    for (const std::string& line : lines_of(page)) {
      for (const std::string& name : all_matches(line, path))
        EXPECT_TRUE(exists_below(name, {""})) << shown(page) << " names " << name;
      for (const std::string& name : all_matches(line, link))
        EXPECT_TRUE(fs::exists(page.parent_path() / name)) << shown(page) << " links to " << name;
    }
  }
}

// "What is in a checkpoint" -> "what-is-in-a-checkpoint", as GitHub and GitLab build anchors.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (c == ' ' || c == '-') anchor += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return anchor;
}

TEST(Pages, LinkedHeadingsExist) {
  static const std::regex link("\\]\\(([^)#:]*)#([^)]+)\\)");
  std::vector<fs::path> pages = files_below("docs", {".md"});
  for (const char* name : {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"})
    pages.push_back(kRoot / name);
  for (const fs::path& page : pages) {
    const std::string text = read(page);
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
      const fs::path target = at->str(1).empty() ? page : page.parent_path() / at->str(1);
      Names anchors;
      for (const std::string& line : lines_of(target))
        if (line.starts_with("#")) anchors.insert(anchor_of(line.substr(line.find(' ') + 1)));
      EXPECT_TRUE(anchors.contains(at->str(2))) << shown(page) << " links to " << at->str(0);
    }
  }
}

TEST(Pages, ColumnsOfProgressAreExplained) {
  const std::string page = read(kRoot / "docs/runs.md");
  const auto columns =
      all_matches(read(kRoot / "src/run/metrics.h"), std::regex("\\{\"([a-z_]+)\", \"[a-z]+/"));
  EXPECT_GT(columns.size(), 15u);
  for (const std::string& column : columns)
    EXPECT_NE(page.find("`" + column + "`"), std::string::npos) << column;
}

TEST(Pages, FilesNamedInCommentsExist) {
  static const std::regex file_name(
      "(?:^|[^A-Za-z0-9_./<-])((?:[a-z_]+/)+[A-Za-z0-9_]+\\.(?:h|cpp|cu|cuh|md)\\b)");
  for (const char* folder : {"src", "include", "tests", "bench", "examples"}) {
    for (const fs::path& file : code_below(folder)) {
      for (const std::string& line : lines_of(file)) {
        const auto comment = line.find("//");
        if (comment == std::string::npos) continue;
        for (const std::string& name : all_matches(line.substr(comment + 2), file_name))
          EXPECT_TRUE(exists_below(name, {"", "src", "include", "tests"}) ||
                      fs::exists(file.parent_path() / name))
              << shown(file) << " names " << name;
      }
    }
  }
}

// Lines outside comments that match, in src/ without src/cli and the given files.
void expect_no_line(const std::regex& pattern, const Names& except) {
  for (const fs::path& file : code_below("src")) {
    if (folder_of(file) == "cli" || except.contains(shown(file))) continue;
    for (const std::string& line : lines_of(file))
      EXPECT_FALSE(std::regex_search(line.substr(0, line.find("//")), pattern))
          << shown(file) << ": " << line;
  }
}

TEST(Layers, OnlyTheProgramPrints) {
  // guard.cpp replaces MuJoCo's own printing; export_c.cpp writes a C program that prints
  expect_no_line(std::regex("\\b(std::cout|std::cerr|fmt::print|f?printf|puts|stdout|stderr)\\b"),
                 {"src/env/mujoco/guard.cpp", "src/policy/export_c.cpp"});
}

// Messages of the library are also read in programs that embed it and have no such flags.
TEST(Layers, OnlyTheProgramNamesItsFlags) {
  // gnuplot's flags, the manual of the configuration keys, and the command that repeats a run
  expect_no_line(
      std::regex("\"([^\"]*[^-\"])?--[a-z]"),
      {"src/study/plot/gnuplot.cpp", "src/config/config_keys.cpp", "src/study/report/summary.cpp"});
}

}  // namespace
