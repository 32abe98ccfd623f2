// Reads files of a folder to which other users or programs may write: regular files only, of
// bounded size. With a root, no link leads out of it. Knows nothing of runs.
#pragma once

#include <concepts>
#include <string>

#include "base/file_system.h"
#include "io/files.h"

namespace ovde {

class Folder {
 public:
  // Follows all links. Any path converts to it.
  template <std::convertible_to<fs::path> Path>
  Folder(const Path& path) : path_(path) {}
  // Refuses files outside `root`, a folder that exists. The check is made on the opened file, so
  // that a link which is changed meanwhile is refused too.
  Folder(fs::path path, const fs::path& root);

  const fs::path& path() const { return path_; }

  // Whether the root contains `path` after all links. Always true without a root.
  bool allows(const fs::path& path) const;

  // A file of the folder, opened for reading; `name` may include folders. InputError if it is not a
  // regular file or outside the root.
  Descriptor open(const fs::path& name) const;

  // The whole file. InputError if it cannot be read or has more than `limit` bytes.
  std::string read(const fs::path& name, std::size_t limit) const;

  // Its last bytes, at most `limit`.
  std::string read_end(const fs::path& name, std::size_t limit) const;

 private:
  [[noreturn]] void refuse(const fs::path& name, const std::string& why) const;

  fs::path path_;
  std::string root_ = {};  // canonical, with a slash at its end; empty: none
};

}  // namespace ovde
