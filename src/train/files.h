// Files and folders, with errors a person can act on.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include <ovde/bytes.h>

namespace ovde {

// The whole file. InputError if it cannot be read or is larger than `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::size_t limit = std::size_t{1} << 32);

// The file appears under its name whole or not at all, even if the machine stops half way: written
// beside its place, brought to the disk, then renamed. Error if that fails.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, const std::string& text);

}  // namespace ovde
