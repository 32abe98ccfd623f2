// The order of the house: which folder may include which, and that the pages and comments that name
// a file name one that is there. What may use what is said once, by the lines of
// src/CMakeLists.txt; these tests hold every #include and CONTRIBUTING's table to it.
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
using Uses = std::map<std::string, Names>;  // folder -> the folders that it names

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

// The name of the folder that a path within src/ begins with: "agent" of "agent/critic/critic.h".
std::string first_folder(const std::string& path) { return path.substr(0, path.find('/')); }
std::string folder_of(const fs::path& file) {
  return first_folder(fs::relative(file, kRoot / "src").generic_string());
}

// The folder within a folder, "critic" of "agent/critic/critic.h"; empty: "agent/replay.h".
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

// With what these use in turn, and the folder itself.
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

TEST(House, EveryFolderIsDeclared) {
  const Uses uses = read_uses();
  for (const auto& entry : fs::directory_iterator(kRoot / "src")) {
    if (entry.is_directory() && fs::is_empty(entry)) continue;  // git keeps none
    EXPECT_EQ(uses.contains(entry.path().filename()), entry.is_directory()) << entry.path();
  }
  for (const auto& [folder, used] : uses) {
    EXPECT_TRUE(fs::is_directory(kRoot / "src" / folder)) << folder;
    for (const std::string& name : used) EXPECT_TRUE(uses.contains(name)) << folder << ' ' << name;
  }
}

// Both trees: tests/ mirrors src/, and a test sees what its folder sees.
TEST(House, NoIncludeGoesWhereItMustNot) {
  const Uses uses = read_uses();
  int seen = 0;
  for (const std::string tree : {"src", "tests"}) {
    for (const fs::path& file : code_below(tree)) {
      const std::string folder = first_folder(fs::relative(file, kRoot / tree).generic_string());
      if (!uses.contains(folder)) continue;  // fuzz targets, and what all tests share
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

// Folders within a folder: what a folder's own files share, all of them may use; among each other
// they include in one direction.
TEST(House, SubFoldersDoNotIncludeEachOtherInCircles) {
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
  // what is left when the folders that use no others are taken away again and again
  for (bool found = true; found;) {
    found = false;
    for (auto it = uses.begin(); it != uses.end();) {
      std::erase_if(it->second, [&](const std::string& used) { return !uses.contains(used); });
      found |= it->second.empty();
      it = it->second.empty() ? uses.erase(it) : std::next(it);
    }
  }
  EXPECT_EQ(uses, Uses{}) << "these include each other";
}

// What is analysed is drawn later, and what is drawn reported later.
TEST(House, AStudyIsReadBeforeItIsDrawnAndDrawnBeforeItIsReported) {
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

// A public header belongs to the folder that implements it.
TEST(House, NoPublicHeaderIsUsedBelowItsFolder) {
  static const std::map<std::string, std::string> home = {
      {"bytes", "base"},     {"error", "base"},  {"option", "base"},   {"random", "base"},
      {"env", "env"},        {"train", "train"}, {"policy", "policy"}, {"program", "cli"},
      {"explorer", "agent"}, {"check", "env"}};
  const Uses uses = read_uses();
  for (const fs::path& file : code_below("src")) {
    for (const std::string& name : includes(file, '<')) {
      if (!name.starts_with("ovde/")) continue;
      const auto at = home.find(fs::path(name).stem());
      ASSERT_NE(at, home.end()) << name << ": which folder implements it?";
      EXPECT_TRUE(reach(uses, folder_of(file)).contains(at->second))
          << shown(file) << " includes <" << name << ">, which is of src/" << at->second;
    }
  }
}

TEST(House, WhatUsersIncludeKnowsNothingOfTheInside) {
  for (const std::string folder : {"include", "examples"})
    for (const fs::path& file : code_below(folder))
      for (const std::string& name : includes(file))
        EXPECT_TRUE(fs::exists(file.parent_path() / name)) << shown(file) << " includes " << name;
}

// | `src/train` | question | run, config, cuda |
TEST(House, ContributingShowsTheSameFolders) {
  static const std::regex row("^\\| `src/([a-z]+)` \\| .* \\| ([a-z, -]+) \\|$");
  Uses shown_uses;
  std::smatch match;
  for (const std::string& line : lines_of(kRoot / "CONTRIBUTING.md"))
    if (std::regex_match(line, match, row)) shown_uses[match[1]] = words(match[2]);
  EXPECT_EQ(shown_uses, read_uses());
}

TEST(House, TestsMirrorTheSources) {
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

// A path ends before what stands for several: `src/agent/critic/*.h` names src/agent/critic.
bool names_something(std::string path, const std::vector<std::string>& roots) {
  while (path.ends_with('.')) path.pop_back();
  return std::ranges::any_of(
      roots, [&](const std::string& root) { return fs::exists(kRoot / root / path); });
}

TEST(House, EveryPathThatAPageNamesIsThere) {
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
        EXPECT_TRUE(names_something(name, {""})) << shown(page) << " names " << name;
      for (const std::string& name : all_matches(line, link))
        EXPECT_TRUE(fs::exists(page.parent_path() / name)) << shown(page) << " links to " << name;
    }
  }
}

// "What is in a checkpoint" -> "what-is-in-a-checkpoint", as the sites that show the pages do it.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (c == ' ' || c == '-') anchor += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return anchor;
}

TEST(House, EveryLinkIntoAPageLeadsToAHeading) {
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

TEST(House, TheApiPageIsThatOfTheHeaders) {
  FILE* out = popen((kRoot / "scripts/api-page").c_str(), "r");
  ASSERT_NE(out, nullptr);
  std::string page;
  for (int c = 0; (c = std::fgetc(out)) != EOF;) page += static_cast<char>(c);
  EXPECT_EQ(pclose(out), 0);
  EXPECT_TRUE(page == read(kRoot / "docs/api.md")) << "scripts/api-page > docs/api.md";
}

// A column that is added has to be said on the page of the run's folder.
TEST(House, EveryColumnOfProgressIsExplained) {
  const std::string page = read(kRoot / "docs/runs.md");
  const auto columns =
      all_matches(read(kRoot / "src/run/metrics.h"), std::regex("\\{\"([a-z_]+)\", \"[a-z]+/"));
  EXPECT_GT(columns.size(), 15u);
  for (const std::string& column : columns)
    EXPECT_NE(page.find("`" + column + "`"), std::string::npos) << column;
}

TEST(House, EveryFileThatACommentNamesIsThere) {
  static const std::regex file_name(
      "(?:^|[^A-Za-z0-9_./<-])((?:[a-z_]+/)+[A-Za-z0-9_]+\\.(?:h|cpp|cu|cuh|md)\\b)");
  for (const char* folder : {"src", "include", "tests", "bench", "examples"}) {
    for (const fs::path& file : code_below(folder)) {
      for (const std::string& line : lines_of(file)) {
        const auto comment = line.find("//");
        if (comment == std::string::npos) continue;
        for (const std::string& name : all_matches(line.substr(comment + 2), file_name))
          EXPECT_TRUE(names_something(name, {"", "src", "include", "tests"}) ||
                      fs::exists(file.parent_path() / name))
              << shown(file) << " names " << name;
      }
    }
  }
}

// C++ text taken apart: what is left without comments and literals, and the literals.
struct Source {
  explicit Source(const std::string& text) {
    for (std::size_t i = 0; i < text.size();) {
      if (text.compare(i, 2, "//") == 0) {
        i = std::min(text.find('\n', i), text.size());
      } else if (text.compare(i, 2, "/*") == 0) {
        i = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
      } else if (text.compare(i, 2, "R\"") == 0) {
        const auto open = text.find('(', i);
        const std::string close = ")" + text.substr(i + 2, open - i - 2) + "\"";
        const auto end = text.find(close, open);
        literals.push_back(text.substr(open + 1, end - open - 1));
        i = end + close.size();
      } else if (text[i] == '"') {
        std::size_t end = i + 1;
        while (text[end] != '"') end += text[end] == '\\' ? 2 : 1;
        literals.push_back(text.substr(i + 1, end - i - 1));
        i = end + 1;
      } else if (text.compare(i, 3, "'\"'") == 0 || text.compare(i, 4, "'\\\"'") == 0) {
        i += text[i + 1] == '"' ? 3 : 4;
      } else {
        code += text[i++];
      }
    }
  }
  std::string code;
  std::vector<std::string> literals;
};

std::vector<fs::path> code_of_the_library() {
  std::vector<fs::path> files = code_below("src");
  std::erase_if(files, [](const fs::path& file) { return folder_of(file) == "cli"; });
  return files;
}

TEST(House, OnlyTheProgramPrints) {
  static const std::regex print(
      "\\b(std::cout|std::cerr|fmt::print|f?printf|puts|stdout|stderr)\\b");
  for (const fs::path& file : code_of_the_library()) {
    // what MuJoCo itself would print, outside of this library's calls
    if (shown(file) == "src/env/mujoco/guard.cpp") continue;
    for (const std::string& name : all_matches(Source(read(file)).code, print))
      ADD_FAILURE() << shown(file) << " uses " << name;
  }
}

// The names that a file keeps to itself: declared at the margin of an anonymous namespace.
Names local_names(const fs::path& file) {
  static const std::regex type("^(?:struct|class|enum class|enum|using) (\\w+).*"),
      other("^[A-Za-z][^=({;]*?(\\w+)\\s*[=({;].*");
  Names names;
  bool inside = false;
  std::smatch match;
  for (const std::string& line : lines_of(file)) {
    if (line.starts_with("namespace {") || line.starts_with("}  // namespace")) {
      inside = line.front() == 'n';
      continue;
    }
    if (inside && (std::regex_match(line, match, type) || std::regex_match(line, match, other)))
      names.insert(match[1]);
  }
  names.erase("static_assert");
  return names;
}

// With OVDE_UNITY, as scripts/setup builds, the files of these folders are compiled as one.
TEST(House, FilesThatAreCompiledTogetherShareNoLocalNames) {
  for (const char* folder : {"io", "config", "run", "train", "bench", "study", "serve", "cli"}) {
    std::map<std::string, fs::path> seen;
    for (const fs::path& file : files_below(std::string("src/") + folder, {".cpp"})) {
      for (const std::string& name : local_names(file)) {
        const auto [at, is_new] = seen.emplace(name, file);
        EXPECT_TRUE(is_new) << shown(file) << " and " << shown(at->second)
                            << " both have their own " << name;
      }
    }
    EXPECT_GT(seen.size(), 5u) << folder;
  }
}

// Two classes of one name in one program are undefined behaviour that no compiler reports.
TEST(House, ClassesOfHeadersHaveNamesOfTheirOwn) {
  static const std::regex defined("^(?:struct|class) (\\w+)[^;]*\\{.*");
  std::map<std::string, fs::path> seen;
  std::smatch match;
  for (const fs::path& file : files_below("src", {".h"})) {
    if (folder_of(file) == "cuda") continue;  // in a namespace of their own
    for (const std::string& line : lines_of(file)) {
      if (!std::regex_match(line, match, defined)) continue;
      const auto [at, is_new] = seen.emplace(match[1], file);
      EXPECT_TRUE(is_new) << shown(file) << " and " << shown(at->second) << " define " << match[1];
    }
  }
  EXPECT_GT(seen.size(), 50u);
}

// What the library says holds for a program that embeds it, which has no flags.
TEST(House, OnlyTheProgramNamesItsFlags) {
  static const std::regex flag("(?:^|[^-])--[a-z]");
  // gnuplot has flags too, the manual of the keys says which flags stand for one, and a report how
  // the program trains its runs again
  const Names others = {"src/study/plot/gnuplot.cpp", "src/config/config_keys.cpp",
                        "src/study/report/train_command.cpp"};
  for (const fs::path& file : code_of_the_library()) {
    if (others.contains(shown(file))) continue;
    for (const std::string& text : Source(read(file)).literals)
      EXPECT_FALSE(std::regex_search(text, flag)) << shown(file) << " names a flag: " << text;
  }
}

}  // namespace
