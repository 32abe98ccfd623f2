// Reading files of a folder that somebody else may have prepared.
#include "io/folder.h"

#include <fstream>

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::string refusal_of(const Folder& folder, const fs::path& name) {
  try {
    return "was read: " + folder.read(name, 100);
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(Folder, ReadsRegularFilesOfBoundedSizeOnly) {
  const TemporaryFolder temporary;
  const fs::path& path = temporary.path();
  write(path / "a", "short");
  write(path / "large", std::string(101, 'x'));
  fs::create_directory(path / "inner");
  ASSERT_EQ(::mkfifo((path / "pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", path / "zero");
  for (const Folder& folder : {Folder(path), Folder(path, path)}) {
    EXPECT_EQ(folder.read("a", 5), "short");
    EXPECT_NE(refusal_of(folder, "large").find("larger than 100 bytes"), std::string::npos);
    EXPECT_NE(refusal_of(folder, "pipe").find("not a regular file"), std::string::npos);
    EXPECT_NE(refusal_of(folder, "inner").find("not a regular file"), std::string::npos);
    EXPECT_NE(refusal_of(folder, "missing").find("No such file"), std::string::npos);
  }
  EXPECT_NE(refusal_of(Folder(path), "zero").find("not a regular file"), std::string::npos);
  EXPECT_NE(refusal_of(Folder(path, path), "zero").find("leads out of"), std::string::npos);
}

TEST(Folder, LinksStayInsideTheRoot) {
  const TemporaryFolder temporary;
  const fs::path root = temporary.path() / "root", run = root / "run";
  write(temporary.path() / "secret", "secret");
  write(temporary.path() / "rootless/secret", "secret");  // its path begins like the root's
  write(root / "other/file", "inside");
  fs::create_directory(run);
  fs::create_symlink(temporary.path() / "secret", run / "absolute");
  fs::create_symlink("../../secret", run / "relative");
  fs::create_symlink("absolute", run / "twice");
  fs::create_symlink("../../rootless", run / "folder");
  fs::create_symlink("../other/file", run / "inner");
  const Folder folder(run, root);
  for (const char* name : {"absolute", "relative", "twice", "folder/secret", "../../secret"})
    EXPECT_NE(refusal_of(folder, name).find("leads out of"), std::string::npos) << name;
  EXPECT_EQ(folder.read("inner", 100), "inside");
  EXPECT_FALSE(folder.allows(run / "folder"));
  EXPECT_TRUE(folder.allows(run));
  // a folder that the user named himself may contain links
  EXPECT_EQ(Folder(run).read("absolute", 100), "secret");
}

// The folder is exchanged for a link after it was found.
TEST(Folder, ChecksTheFileThatItOpened) {
  const TemporaryFolder temporary;
  const fs::path root = temporary.path() / "root";
  write(root / "run/file", "inside");
  write(temporary.path() / "outside/file", "secret");
  const Folder folder(root / "run", root);
  EXPECT_EQ(folder.read("file", 100), "inside");
  fs::rename(root / "run", root / "moved");
  fs::create_symlink(temporary.path() / "outside", root / "run");
  EXPECT_NE(refusal_of(folder, "file").find("leads out of"), std::string::npos);
}

TEST(Folder, ReadsTheEndOfALargeFile) {
  const TemporaryFolder temporary;
  const fs::path file = temporary.path() / "sparse";
  write(file, "begin");
  fs::resize_file(file, std::uintmax_t{3} << 30);
  std::ofstream(file, std::ios::app) << "end";
  EXPECT_EQ(Folder(temporary.path()).read_end("sparse", 3), "end");
  write(file, "end");
  EXPECT_EQ(Folder(temporary.path()).read_end("sparse", 100), "end");
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
