// Without libFuzzer: gives a target every file of its corpus, whole, cut short and with bits
// flipped, always the same ones. corpus FOLDER
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

int inputs = 0;

void give(const std::string& text) {
  ++inputs;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

void give_variants(const std::string& text) {
  constexpr std::size_t kCuts = 32, kFlips = 64;
  give(text);
  for (std::size_t i = 0; i < kCuts; ++i) give(text.substr(0, text.size() * i / kCuts));
  for (std::size_t i = 0; i < kFlips && !text.empty(); ++i) {
    std::string flipped = text;
    char& byte = flipped[text.size() * i / kFlips];
    byte = static_cast<char>(byte ^ 1 << i % 8);
    give(flipped);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    give_variants({std::istreambuf_iterator<char>(file), {}});
  }
  std::printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
