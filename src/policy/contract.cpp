#include "policy/contract.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ovde/error.h>
#include <ovde/policy.h>
#include <ovde/random.h>
#include "act/acting_part.h"
#include "base/text.h"
#include "base/version.h"
#include "config/build.h"
#include "io/crc32c.h"
#include "io/files.h"
#include "io/json.h"
#include "io/sha256.h"
#include "run/run_folder.h"

namespace ovde {

namespace {

constexpr const char* kFormat = "ovde-contract-1";
constexpr std::string_view kChecksum = "crc32c-";
constexpr std::size_t kDigits = 8;
constexpr int kTests = 16;
constexpr float kTolerance = 1e-6f;

std::string bytes_digest(const fs::path& file) {
  const std::string text = read_file(file);
  return sha256(std::as_bytes(std::span(text)));
}

// Empty where the task is unknown or cannot be created here. Runs no episode: a task may be a real
// machine.
Signals task_signals(const Config& config) {
  try {
    return with_history(find_task(config.task).make(config.task_options)->signals(),
                        config.disturbances.history);
  } catch (const Error&) {
    return {};
  }
}

// `signals` if there is one for each number, otherwise empty ones.
std::vector<Signal> named(std::vector<Signal> signals, int size) {
  if (std::ssize(signals) != size) signals.assign(size, {});
  return signals;
}

// Zeros, then normal numbers, alternately large and small: a saturated actor is a weak test.
std::vector<float> draw_observation(int number, int size, Random& random) {
  const double scale = number == 0 ? 0 : number % 2 == 0 ? 0.1 : 1;
  std::vector<float> observation(size);
  for (float& x : observation) x = static_cast<float>(scale * random.normal());
  return observation;
}

// Epochs that the policy was trained for. Policy files name their epoch, counted from 0.
int epochs_of(const fs::path& policy, const Config& config) {
  const auto metadata = read_safetensors(policy).metadata;
  const auto epoch = metadata.find("epoch");
  if (epoch == metadata.end()) return config.train.epochs;
  const int number = parse_number<int>(epoch->second).value_or(-1);
  if (number < 0)
    throw InputError(
        fmt::format("{}: its epoch '{}' is not a number", policy.string(), epoch->second));
  return number + 1;
}

class Tester {
 public:
  explicit Tester(const fs::path& file)
      : policy_(Policy::load(file.string())),
        part_(acting_part(read_policy(file))),
        action_(part_.actions()),
        other_(part_.actions()) {}

  std::vector<Contract::Test> draw() {
    std::vector<Contract::Test> tests;
    Random random(0, Stream::user);
    constexpr int kTries = 50 * kTests;
    for (int n = 0; n < kTries && std::ssize(tests) < kTests; ++n) {
      const auto observation = draw_observation(n, part_.observations(), random);
      if (part_.bins && is_near_tie(observation) && n + 1 < kTries) continue;
      act(observation, action_);
      tests.push_back({observation, {action_.begin(), action_.end()}});
    }
    return tests;
  }

  // Largest rounding error of the tests' actions, in units of Contract::action_size().
  double rounding(const Contract& contract) {
    double largest = 0;
    for (const auto& test : contract.tests) {
      act_in_double(part_, test.observation, action_);
      for (std::size_t d = 0; d < action_.size(); ++d) {
        largest =
            std::max(largest, std::abs(action_[d] - test.action[d]) / contract.action_size(d));
      }
    }
    return largest;
  }

 private:
  void act(std::span<const float> observation, std::span<double> action) {
    policy_.act(std::vector<double>(observation.begin(), observation.end()), action);
  }

  // Whether two actions of a grid differ in value only by rounding: then either is right.
  bool is_near_tie(const std::vector<float>& observation) {
    act(observation, action_);
    for (const float change : {-1e-4f, 1e-4f}) {
      std::vector<float> near = observation;
      for (float& x : near) x += change * std::max(1.0f, std::abs(x));
      act(near, other_);
      if (other_ != action_) return true;
    }
    return false;
  }

  Policy policy_;
  StoredPolicy part_;
  std::vector<double> action_, other_;
};

// Calls visit(name, member) for the members that describe the run, in the order of the file.
template <typename Contract, typename Visit>
void for_each_of_run(Contract& contract, Visit visit) {
  visit("task", contract.task);
  visit("algorithm", contract.algorithm);
  visit("seed", contract.seed);
  visit("epochs", contract.epochs);
  visit("version", contract.version);
  visit("config_sha256", contract.config_sha256);
  visit("policy", contract.policy);
  visit("policy_sha256", contract.policy_sha256);
}

// The number with the fewest digits that read back to the same bits of a 32-bit float.
double short_number(float value) {
  return parse_number<double>(fmt::to_string(value)).value_or(value);
}

Json numbers(const std::vector<float>& values) {
  Json list = Json::array();
  for (const float value : values) list.push_back(short_number(value));
  return list;
}

std::string ascii(const Json& value) { return to_text(value, -1, /*only_ascii=*/true); }

Json row(const Signal& signal) { return {{"name", signal.name}, {"unit", signal.unit}}; }

// A JSON list with one row per line.
std::string lines(const std::vector<Json>& rows) {
  std::string text;
  for (const Json& each : rows) {
    text += (text.empty() ? "[\n    " : ",\n    ") + ascii(each);
  }
  return text + "\n  ]";
}

}  // namespace

double Contract::action_size(std::size_t d) const {
  return std::max(std::abs(double{low[d]}), std::abs(double{high[d]}));
}

Contract make_contract(const fs::path& run, const fs::path& policy) {
  const Config config = read_config(run);
  const StoredPolicy stored = read_policy(policy);
  const Signals signals = task_signals(config);
  Contract contract;
  contract.task = config.task;
  contract.algorithm = config.algorithm;
  contract.version = version();
  contract.seed = config.seed;
  contract.epochs = epochs_of(policy, config);
  contract.config_sha256 = bytes_digest(run / "config.toml");
  contract.policy = fs::absolute(policy)
                        .lexically_normal()
                        .lexically_relative(fs::absolute(run).lexically_normal())
                        .generic_string();
  contract.policy_sha256 = bytes_digest(policy);
  contract.observation = named(signals.observation, stored.observations());
  contract.action = named(signals.action, stored.actions());
  contract.low = stored.low;
  contract.high = stored.high;
  contract.bins = stored.bins;
  contract.residual = stored.is_residual();
  if (signals.rate > 0) contract.rate = signals.rate;

  // large weights round by more than 1e-6; a different order of the sums can double the error
  Tester tester(policy);
  contract.tests = tester.draw();
  contract.tolerance = std::max(kTolerance, static_cast<float>(4 * tester.rounding(contract)));
  return contract;
}

std::string to_json(const Contract& contract) {
  std::vector<Json> observation, action, tests;
  for (const Signal& signal : contract.observation) observation.push_back(row(signal));
  for (std::size_t d = 0; d < contract.action.size(); ++d) {
    action.push_back(row(contract.action[d]));
    action.back()["low"] = short_number(contract.low[d]);
    action.back()["high"] = short_number(contract.high[d]);
  }
  for (const auto& test : contract.tests)
    tests.push_back({{"observation", numbers(test.observation)}, {"action", numbers(test.action)}});

  std::string text = "{";
  const auto add_text = [&](const char* name, const std::string& value) {
    text += fmt::format("{}\n  \"{}\": {}", text.size() > 1 ? "," : "", name, value);
  };
  const auto add = [&](const char* name, const Json& value) { add_text(name, ascii(value)); };
  add(kContract, kFormat);
  add("checksum", std::string(kChecksum) + std::string(kDigits, '0'));
  for_each_of_run(contract, add);
  add("control_rate_hz",
      contract.rate ? Json(short_number(static_cast<float>(*contract.rate))) : Json());
  add("observations", contract.observation.size());
  add("actions", contract.action.size());
  if (contract.bins) add("bins", *contract.bins);
  if (contract.residual) add("network", kResidual);
  add_text("observation", lines(observation));
  add_text("action", lines(action));
  add("tolerance", short_number(contract.tolerance));
  add_text("tests", lines(tests));
  return text + "\n}\n";
}

Contract parse_contract(std::string_view text, const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("{}: not a valid contract: {}", name, why));
  };
  Contract contract;
  try {
    const Json json = parse_json(text);
    if (json.at(kContract) != kFormat) refuse("unknown format");
    for_each_of_run(contract, [&](const char* name, auto& value) { json.at(name).get_to(value); });
    if (const Json& rate = json.at("control_rate_hz"); !rate.is_null())
      contract.rate = rate.get<double>();
    if (json.contains("bins")) contract.bins = json.at("bins").get<int>();
    contract.residual = json.contains("network");
    if (contract.residual && json.at("network") != kResidual) refuse("unknown kind of network");
    const auto signal = [](const Json& each) -> Signal {
      return {each.at("name").get<std::string>(), each.at("unit").get<std::string>()};
    };
    for (const Json& each : json.at("observation")) contract.observation.push_back(signal(each));
    for (const Json& each : json.at("action")) {
      contract.action.push_back(signal(each));
      contract.low.push_back(each.at("low").get<float>());
      contract.high.push_back(each.at("high").get<float>());
    }
    json.at("tolerance").get_to(contract.tolerance);
    for (const Json& each : json.at("tests")) {
      contract.tests.push_back({each.at("observation").get<std::vector<float>>(),
                                each.at("action").get<std::vector<float>>()});
    }
    if (json.at("observations") != contract.observation.size() ||
        json.at("actions") != contract.action.size())
      refuse("its sizes do not match its lists");
  } catch (const Json::exception& error) {
    refuse(error.what());
  }
  for (const auto& test : contract.tests) {
    if (test.observation.size() != contract.observation.size() ||
        test.action.size() != contract.action.size())
      refuse("a test has the wrong size");
  }
  return contract;
}

namespace {

// Position of the digits; npos: the file has no checksum.
std::size_t checksum_at(const std::string& file) {
  const auto found = file.find(kChecksum);
  if (found == std::string::npos) return found;
  const std::size_t at = found + kChecksum.size();
  return file.size() - at < kDigits ? std::string::npos : at;
}

std::string checksum_of(const std::string& file) {
  return fmt::format("{:08x}", crc32c(std::as_bytes(std::span(file))));
}

}  // namespace

void seal(std::string& file) { file.replace(checksum_at(file), kDigits, checksum_of(file)); }

bool has_seal(const std::string& file) { return checksum_at(file) != std::string::npos; }

bool is_sealed(std::string file) {
  const std::size_t at = checksum_at(file);
  if (at == std::string::npos) return false;
  const std::string found = file.substr(at, kDigits);
  file.replace(at, kDigits, kDigits, '0');
  return checksum_of(file) == found;
}

}  // namespace ovde
