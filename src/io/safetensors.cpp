#include "io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ovde/error.h>
#include "io/files.h"

namespace ovde {

using SortedJson = nlohmann::json;

namespace {

static_assert(std::endian::native == std::endian::little, "data is copied as it lies in memory");

constexpr const char* kMetadata = "__metadata__";
constexpr std::size_t kLargestHeader = 100'000'000;  // the limit of the reference implementation

// Product of the shape; nullopt when it is more than `limit`.
std::optional<std::size_t> element_count(std::span<const std::int64_t> shape, std::size_t limit) {
  std::size_t count = 1;
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || static_cast<std::size_t>(extent) > limit / count) return std::nullopt;
    count *= static_cast<std::size_t>(extent);
  }
  return count <= limit ? std::optional(count) : std::nullopt;
}

// Where a tensor lies in the data.
struct Extent {
  std::size_t begin, end;
  std::string name;
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& name) : name_(name) {
    std::uint64_t header_size = 0;
    if (bytes.size() < sizeof header_size) refuse("ends within its first 8 bytes");
    std::memcpy(&header_size, bytes.data(), sizeof header_size);
    if (header_size > kLargestHeader || header_size > bytes.size() - sizeof header_size) {
      refuse(fmt::format("its header would have {} bytes, more than the file", header_size));
    }
    header_ = bytes.subspan(sizeof header_size, header_size);
    data_ = bytes.subspan(sizeof header_size + header_size);
  }

  TensorFile read() {
    const SortedJson header = parse_header();
    TensorFile file;
    for (const auto& [name, entry] : header.items()) {
      if (name == kMetadata) {
        read_metadata(entry, file);
      } else {
        file.tensors[name] = read_tensor(name, entry);
      }
    }
    check_extents();
    return file;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw InputError(fmt::format("{}: not a valid safetensors file: {}", name_, why));
  }

  SortedJson parse_header() const {
    // two tensors of one name are an error; the library would keep the last
    std::set<std::string> seen;
    bool repeated = false;
    const auto watch = [&](int depth, SortedJson::parse_event_t event, SortedJson& value) {
      if (depth == 1 && event == SortedJson::parse_event_t::key)
        repeated |= !seen.insert(value.get<std::string>()).second;
      return true;
    };
    const auto* first = reinterpret_cast<const char*>(header_.data());
    const SortedJson header =
        SortedJson::parse(first, first + header_.size(), watch, /*allow_exceptions=*/false);
    if (!header.is_object()) refuse("its header is not a JSON object");
    if (repeated) refuse("its header names a tensor twice");
    return header;
  }

  void read_metadata(const SortedJson& entry, TensorFile& file) const {
    if (!entry.is_object()) refuse("its metadata is not an object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) refuse(fmt::format("metadata '{}' is not a string", key));
      file.metadata[key] = value.get<std::string>();
    }
  }

  std::vector<std::uint64_t> read_counts(const std::string& name, const SortedJson& entry,
                                         const char* field) const {
    const auto found = entry.find(field);
    if (found == entry.end() || !found->is_array())
      refuse(fmt::format("tensor '{}' has no {}", name, field));
    std::vector<std::uint64_t> counts;
    for (const SortedJson& value : *found) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX) {
        refuse(fmt::format("the {} of tensor '{}' must be whole numbers from 0 on", field, name));
      }
      counts.push_back(value.get<std::uint64_t>());
    }
    return counts;
  }

  Tensor read_tensor(const std::string& name, const SortedJson& entry) {
    if (!entry.is_object()) refuse(fmt::format("tensor '{}' is not an object", name));
    const auto dtype = entry.find("dtype");
    if (dtype == entry.end() || !dtype->is_string())
      refuse(fmt::format("tensor '{}' has no dtype", name));
    if (*dtype != "F32") {
      throw InputError(fmt::format("{}: tensor '{}' is of type {}; only F32 is read", name_, name,
                                   dtype->dump()));
    }

    Tensor tensor;
    for (const std::uint64_t extent : read_counts(name, entry, "shape")) {
      tensor.shape.push_back(static_cast<std::int64_t>(extent));
    }
    const auto offsets = read_counts(name, entry, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_.size()) {
      refuse(fmt::format("tensor '{}' lies outside of the data", name));
    }
    const auto bytes = data_.subspan(offsets[0], offsets[1] - offsets[0]);
    const auto count = element_count(tensor.shape, data_.size() / sizeof(float));
    if (!count || *count * sizeof(float) != bytes.size()) {
      refuse(fmt::format("tensor '{}' has another size than its shape says", name));
    }
    tensor.values.resize(*count);
    if (!bytes.empty()) std::memcpy(tensor.values.data(), bytes.data(), bytes.size());
    extents_.push_back({offsets[0], offsets[1], name});
    return tensor;
  }

  // The format requires that the tensors tile the data: no overlap, no gap, nothing after the last.
  void check_extents() {
    std::ranges::sort(extents_, {}, [](const Extent& e) { return std::pair(e.begin, e.end); });
    std::size_t end = 0;
    for (const Extent& extent : extents_) {
      if (extent.begin != end)
        refuse(fmt::format("tensor '{}' does not follow the one before it", extent.name));
      end = extent.end;
    }
    if (end != data_.size())
      refuse(fmt::format("{} bytes belong to no tensor", data_.size() - end));
  }

  std::string name_;
  std::span<const std::byte> header_, data_;
  std::vector<Extent> extents_;
};

}  // namespace

Bytes to_safetensors(const TensorFile& file) {
  SortedJson header = SortedJson::object();
  if (!file.metadata.empty()) header[kMetadata] = file.metadata;
  std::size_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    if (name == kMetadata) throw Error("a tensor cannot have the name __metadata__");
    if (element_count(tensor.shape, tensor.values.size()) != tensor.values.size()) {
      throw Error(fmt::format("tensor '{}' has another size than its shape says", name));
    }
    const std::size_t end = offset + tensor.values.size() * sizeof(float);
    header[name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }

  // bytes that are not UTF-8 are replaced, so that the policy is not lost
  std::string text = header.dump(-1, ' ', false, SortedJson::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data begins on a multiple of 8

  Bytes bytes(sizeof(std::uint64_t) + text.size() + offset);
  const std::uint64_t header_size = text.size();
  std::byte* out = bytes.data();
  const auto put = [&out](const void* data, std::size_t size) {
    if (size > 0) std::memcpy(out, data, size);
    out += size;
  };
  put(&header_size, sizeof header_size);
  put(text.data(), text.size());
  for (const auto& [name, tensor] : file.tensors)
    put(tensor.values.data(), tensor.values.size() * sizeof(float));
  return bytes;
}

TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  return Reader(bytes, name).read();
}

void write_safetensors(const fs::path& path, const TensorFile& file) {
  write_file_atomically(path, to_safetensors(file));
}

TensorFile read_safetensors(const fs::path& path) {
  const std::string text = read_file(path);
  return parse_safetensors(std::as_bytes(std::span(text)), path.string());
}

}  // namespace ovde
