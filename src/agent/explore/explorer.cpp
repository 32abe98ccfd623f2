#include "agent/explore/explorer.h"

#include <fmt/format.h>

#include <ovde/error.h>

namespace ovde {

std::vector<ExplorerType> built_in_explorers();  // built_in.cpp

namespace {

struct Registry {
  Registry() {
    for (ExplorerType& type : built_in_explorers()) add(std::move(type));
    built_in_count = types.size();
  }

  void add(ExplorerType type) {
    if (std::ranges::find(type.options, "hold", &Option::name) != type.options.end())
      throw Error(fmt::format("explore.hold of {} is a key of every explorer", type.name));
    for (const ExplorerType& other : types) {
      if (other.name == type.name)
        throw Error(fmt::format("an explorer called {} is registered already", type.name));
      for (const Option& option : type.options) {
        for (const Option& theirs : other.options) {
          if (theirs.name == option.name && theirs.default_value != option.default_value)
            throw Error(fmt::format("explore.{} of {} has a different default than that of {}",
                                    option.name, type.name, other.name));
        }
      }
    }
    types.push_back(std::move(type));
  }

  std::vector<ExplorerType> types;
  std::size_t built_in_count = 0;
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

const std::vector<ExplorerType>& explorers() { return registry().types; }

void register_explorer(ExplorerType type) {
  if (!type.make) throw Error(fmt::format("explorer {} has no function that makes it", type.name));
  registry().add(std::move(type));
}

const ExplorerType& find_explorer(const std::string& name) {
  for (const ExplorerType& type : explorers()) {
    if (type.name == name) return type;
  }
  throw Error(fmt::format("no explorer is called {}", name));
}

namespace {

// The options of the explorers for which wanted(index) is true, each once.
template <typename Wanted>
std::vector<Option> options_of(const Wanted& wanted) {
  std::vector<Option> all;
  for (std::size_t i = 0; i < explorers().size(); ++i) {
    if (!wanted(i)) continue;
    for (const Option& option : explorers()[i].options) {
      if (std::ranges::find(all, option.name, &Option::name) == all.end()) all.push_back(option);
    }
  }
  return all;
}

}  // namespace

std::vector<Option> explorer_options() {
  return options_of([](std::size_t) { return true; });
}

std::vector<Option> explorer_options(const std::string& name) {
  return options_of(
      [&](std::size_t i) { return i < registry().built_in_count || explorers()[i].name == name; });
}

bool is_explorer_option(const std::string& key) {
  return std::ranges::any_of(explorers(), [&](const ExplorerType& type) {
    return std::ranges::find(type.options, key, &Option::name) != type.options.end();
  });
}

SortedReturn SortedQuantiles::sort(const QuantilePair& z) {
  const auto smaller = [&](int owner) { return z.critic[owner % 2][owner / 2]; };
  for (int i = 0; i < z.size(); ++i) order_[i] = 2 * i + (z.critic[0][i] <= z.critic[1][i] ? 0 : 1);
  std::ranges::sort(order_, {}, smaller);
  double below = 0;  // sum of the weights of the smaller values
  for (int j = 0; j < z.size(); ++j) {
    const double weight = z.weight[order_[j] / 2];
    value_[j] = smaller(order_[j]);
    position_[j] = below + weight / 2;
    below += weight;
  }
  return {value_.data(), position_.data(), order_.data(), z.size()};
}

}  // namespace ovde
