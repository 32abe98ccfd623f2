#include "env/task_file/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <ovde/error.h>
#include "env/mujoco/task.h"
#include "env/task_file/quantities.h"

namespace ovde {

namespace {

constexpr int kDeepest = 100;        // nesting of a formula
constexpr int kMostCells = 1 << 20;  // in all formulas together

double truth(bool value) { return value ? 1 : 0; }

double add(double a, double b) { return a + b; }
double subtract(double a, double b) { return a - b; }
double multiply(double a, double b) { return a * b; }
double divide(double a, double b) { return a / b; }
double power_of(double a, double b) { return b == 2 ? a * a : std::pow(a, b); }
double less(double a, double b) { return truth(a < b); }
double less_equal(double a, double b) { return truth(a <= b); }
double equal(double a, double b) { return truth(a == b); }
double both(double a, double b) { return truth(a != 0 && b != 0); }
double either(double a, double b) { return truth(a != 0 || b != 0); }
double inverted(double a, double) { return truth(a == 0); }
double negative(double a, double) { return -a; }
double root(double a, double) { return std::sqrt(a); }
double smaller(double a, double b) { return std::min(a, b); }
double larger(double a, double b) { return std::max(a, b); }

// Functions of each element.
struct Named {
  const char* name;
  int arguments;
  Function function;
};
constexpr Named kFunctions[] = {
    {"sin", 1, [](double a, double) { return std::sin(a); }},
    {"cos", 1, [](double a, double) { return std::cos(a); }},
    {"tan", 1, [](double a, double) { return std::tan(a); }},
    {"asin", 1, [](double a, double) { return std::asin(a); }},
    {"acos", 1, [](double a, double) { return std::acos(a); }},
    {"atan", 1, [](double a, double) { return std::atan(a); }},
    {"exp", 1, [](double a, double) { return std::exp(a); }},
    {"log", 1, [](double a, double) { return std::log(a); }},
    {"sqrt", 1, root},
    {"abs", 1, [](double a, double) { return std::abs(a); }},
    {"floor", 1, [](double a, double) { return std::floor(a); }},
    {"tanh", 1, [](double a, double) { return std::tanh(a); }},
    {"sign", 1, [](double a, double) { return truth(a > 0) - truth(a < 0); }},
    {"finite", 1, [](double a, double) { return truth(std::isfinite(a)); }},
    {"atan2", 2, [](double a, double b) { return std::atan2(a, b); }},
    {"pow", 2, power_of},
    {"min", 2, smaller},
    {"max", 2, larger}};

// Functions of a whole vector.
struct Reduction {
  const char* name;
  double first;
  Function function;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Reduction kReductions[] = {{"sum", 0, add},
                                     {"min", kInfinity, smaller},
                                     {"max", -kInfinity, larger},
                                     {"all", 1, both},
                                     {"any", 0, either}};
constexpr const char* kOthers[] = {"clip", "mean", "norm", "dot", "if", "before", "rate"};

template <typename Table>
auto* find_named(const Table& table, const std::string& name) {
  const auto found = std::ranges::find_if(table, [&](const auto& x) { return name == x.name; });
  return found == std::end(table) ? nullptr : &*found;
}

std::vector<std::string> function_names() {
  std::vector<std::string> all = object_kinds();
  all.insert(all.end(), std::begin(kOthers), std::end(kOthers));
  for (const Named& each : kFunctions) all.emplace_back(each.name);
  for (const Reduction& each : kReductions)
    if (find_named(kFunctions, each.name) == nullptr) all.emplace_back(each.name);
  return all;
}

}  // namespace

// Reads a formula from left to right and emits its instructions.
class FormulaParser {
  using Kind = Instruction::Kind;

 public:
  FormulaParser(FormulaCompiler& compiler, std::string text, Program& program)
      : c_(compiler), text_(std::move(text)), program_(&program) {}

  Value whole() {
    try {
      const Value value = disjunction();
      blanks();
      if (at_ < text_.size()) fail(fmt::format("unexpected '{}'", text_.substr(at_, 1)));
      return value;
    } catch (const InputError& error) {
      throw InputError(fmt::format("{} (in {})", error.what(), text_));
    }
  }

  Value dot(const Value& a, const Value& b) {
    const Value products = each(multiply, a, b);
    return products.size == 1 ? products : fold(add, 0, products);
  }

 private:
  [[noreturn]] static void fail(const std::string& why) { throw InputError(why); }

  void blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }

  static bool in_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  // Takes the sign or word if it is next.
  bool take(const std::string& token) {
    blanks();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    const std::size_t end = at_ + token.size();
    if (in_word(token.front()) && end < text_.size() && in_word(text_[end])) return false;
    at_ = end;
    return true;
  }

  void expect(const std::string& token) {
    if (take(token)) return;
    fail(at_ >= text_.size()
             ? fmt::format("'{}' is missing at the end", token)
             : fmt::format("'{}' is missing before '{}'", token, text_.substr(at_)));
  }

  std::string word() {
    blanks();
    const std::size_t first = at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    return text_.substr(first, at_ - first);
  }

  std::string quoted() {
    blanks();
    const char quote = at_ < text_.size() ? text_[at_] : 0;
    const std::size_t end = quote == '"' || quote == '\'' ? text_.find(quote, at_ + 1) : text_.npos;
    if (end == text_.npos) fail("a name in quotation marks is missing");
    const std::string name = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return name;
  }

  // or, and, not, comparison, sum, product, sign, power: from the weakest to the strongest
  Value disjunction() {
    if (++depth_ > kDeepest) fail("the formula is nested too deeply");
    Value value = conjunction();
    while (take("or") || take("||")) value = each(either, value, conjunction());
    --depth_;
    return value;
  }

  Value conjunction() {
    Value value = negation();
    while (take("and") || take("&&")) value = each(both, value, negation());
    return value;
  }

  Value negation() {
    bool inverts = false;
    while (take("not") || take("!")) inverts = !inverts;
    const Value value = comparison();
    return inverts ? each(inverted, value) : value;
  }

  Value comparison() {
    const Value a = sum();
    if (take("<=")) return each(less_equal, a, sum());
    if (take(">=")) return each(less_equal, sum(), a);
    if (take("==")) return each(equal, a, sum());
    if (take("!=")) return each(inverted, each(equal, a, sum()));
    if (take("<")) return each(less, a, sum());
    if (take(">")) return each(less, sum(), a);
    return a;
  }

  Value sum() {
    Value value = product();
    while (true) {
      if (take("+")) {
        value = each(add, value, product());
      } else if (take("-")) {
        value = each(subtract, value, product());
      } else {
        return value;
      }
    }
  }

  Value product() {
    Value value = signed_power();
    while (true) {
      if (take("*")) {
        const Value a = value, b = signed_power();
        value = each(multiply, a, b);
        if (b.number) name_multiple(value, a, *b.number);
        if (a.number) name_multiple(value, b, *a.number);
      } else if (take("/")) {
        const Value a = value, b = signed_power();
        value = each(divide, a, b);
        if (b.number) name_multiple(value, a, 1 / *b.number);
      } else {
        return value;
      }
    }
  }

  // `result` is this multiple of `value`: it has the same names.
  static void name_multiple(Value& result, const Value& value, double factor) {
    for (const Signal& signal : value.signals)
      result.signals.push_back({signal.name, scaled_unit(signal.unit, factor)});
  }

  Value signed_power() {
    bool negates = false;
    while (true) {
      if (take("-")) {
        negates = !negates;
      } else if (!take("+")) {
        break;
      }
    }
    const Value value = power();
    if (!negates) return value;
    Value result = each(negative, value);
    name_multiple(result, value, -1);
    return result;
  }

  Value power() {
    const Value base = element();
    if (!take("^")) return base;
    if (++depth_ > kDeepest) fail("the formula is nested too deeply");
    const Value exponent = signed_power();
    --depth_;
    return each(power_of, base, exponent);
  }

  // A value and its parts: .x, [2], [1:3].
  Value element() {
    Value value = primary();
    while (true) {
      if (take(".")) {
        const std::string part = word();
        static const std::vector<std::string> axes = {"x", "y", "z"};
        const auto axis = std::ranges::find(axes, part);
        if (axis == axes.end()) refuse_name("part", part, axes, "a vector");
        value = slice(value, static_cast<int>(axis - axes.begin()), 1);
      } else if (take("[")) {
        const int first = index(0);
        const bool several = take(":");
        const int end = several ? index(value.size) : first + 1;
        expect("]");
        if (!several && first >= value.size)
          fail(fmt::format("index {} of a vector of {}: the last one is {}", first, value.size,
                           value.size - 1));
        value = slice(value, first, end - first);
      } else {
        return value;
      }
    }
  }

  int index(int absent) {
    if (take("-")) fail("an index must not be negative");
    const std::string digits = word();
    if (digits.empty()) return absent;
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size())
      fail(fmt::format("'{}' is not an index", digits));
    return number;
  }

  static Value slice(const Value& value, int first, int size) {
    if (first < 0 || size < 1 || size > value.size || first > value.size - size)
      fail(fmt::format("elements {} to {} of a vector of {}", first, first + size - 1, value.size));
    Value part{.at = value.at + first, .size = size};
    if (value.size == size) part.number = value.number;
    if (!value.signals.empty())
      part.signals.assign(value.signals.begin() + first, value.signals.begin() + first + size);
    return part;
  }

  Value primary() {
    blanks();
    if (take("(")) {
      const Value value = disjunction();
      expect(")");
      return value;
    }
    if (take("[")) {
      const std::vector<Value> all = arguments("]");
      return joined(all);
    }
    if (at_ < text_.size() && (text_[at_] == '.' || (text_[at_] >= '0' && text_[at_] <= '9')))
      return number();
    const std::string name = word();
    if (name.empty())
      fail(at_ >= text_.size() ? "the formula ends early"
                               : fmt::format("unexpected '{}'", text_.substr(at_, 1)));
    if (take("(")) return function(name);
    const std::string full = name == "command" && take(".") ? name + "." + word() : name;
    if (full == "qpos" || full == "qvel") return state(full == "qvel");
    if (full == "time") return emit({.kind = Kind::time});
    if (full == "pi") return c_.constant(std::acos(-1.0));
    if (const auto found = c_.names_.find(full); found != c_.names_.end()) return found->second;
    refuse_name("name", full, c_.names(), "the task");
  }

  Value state(bool velocities) {
    const mjData& d = c_.data_;
    const auto [positions, rates] = state_signals(c_.model_);
    const std::vector<Signal>& signals = velocities ? rates : positions;
    return load({.first = velocities ? d.qvel : d.qpos,
                 .size = static_cast<int>(signals.size()),
                 .signals = signals});
  }

  Value number() {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail(fmt::format("'{}' is not a number", text_.substr(at_)));
    at_ = static_cast<std::size_t>(end - text_.data());
    return c_.constant(value);
  }

  std::vector<Value> arguments(const char* end) {
    std::vector<Value> all = {disjunction()};
    while (take(",")) all.push_back(disjunction());
    expect(end);
    return all;
  }

  Value function(const std::string& name) {
    if (std::ranges::find(object_kinds(), name) != object_kinds().end()) return object(name);
    if (name == "before" || name == "rate") return earlier(name);
    const std::vector<Value> given = arguments(")");
    const int count = static_cast<int>(given.size());
    const auto takes = [&](int wanted) {
      if (count != wanted)
        fail(fmt::format("{} takes {} value{}, not {}", name, wanted, wanted == 1 ? "" : "s",
                         count));
    };
    const Reduction* const reduction = find_named(kReductions, name);
    if (reduction != nullptr && count == 1)
      return fold(reduction->function, reduction->first, given[0]);
    if (const Named* const found = find_named(kFunctions, name)) {
      takes(found->arguments);
      Value result = each(found->function, given[0], given.back());
      if (count == 1) {
        for (const Signal& signal : given[0].signals)
          result.signals.push_back({name + "_" + signal.name, name == "abs" ? signal.unit : ""});
      }
      return result;
    }
    if (reduction != nullptr) takes(1);
    if (name == "clip") {
      takes(3);
      Value result = each(smaller, each(larger, given[0], given[1]), given[2]);
      if (result.size == given[0].size) result.signals = given[0].signals;
      return result;
    }
    if (name == "if") {
      takes(3);
      if (given[0].size != 1) fail("the condition of if() must be one number");
      Instruction select = of_two(Kind::select, given[1], given[2]);
      select.c = given[0].at;
      return emit(select);
    }
    if (name == "mean") {
      takes(1);
      return each(divide, fold(add, 0, given[0]), c_.constant(given[0].size));
    }
    if (name == "norm") {
      takes(1);
      return each(root, fold(add, 0, each(multiply, given[0], given[0])));
    }
    if (name == "dot") {
      takes(2);
      return dot(given[0], given[1]);
    }
    refuse_name("function", name, function_names(), "a formula");
  }

  // before(x): x before the simulation advanced. rate(x): its change per second.
  Value earlier(const std::string& name) {
    const std::size_t first = at_;
    if (program_ == &c_.before_) fail(name + "() inside before() or rate()");
    Program* const current = std::exchange(program_, &c_.before_);
    const Value value = disjunction();
    const Value snapshot = c_.reserve(value.size);
    FormulaCompiler::copy(value, snapshot.at, c_.before_);
    c_.snapshots_.push_back(snapshot);
    program_ = current;
    if (name == "rate") {
      at_ = first;
      const Value change = each(subtract, disjunction(), snapshot);
      expect(")");
      return each(divide, change, c_.names_.at("dt"));
    }
    expect(")");
    Value result = snapshot;
    for (const Signal& signal : value.signals)
      result.signals.push_back({signal.name + "_before", signal.unit});
    return result;
  }

  // joint("knee").pos, body("torso").vel, sensor("gyro"), contact("foot", "floor")
  Value object(const std::string& kind) {
    std::vector<std::string> names = {quoted()};
    while (take(",")) names.push_back(quoted());
    expect(")");
    if (kind == "contact") return load(contact_of(c_.model_, names));
    std::string part;
    if (kind != "sensor") {
      if (!take("."))
        fail(fmt::format("{}(\"{}\") needs a quantity, such as .pos", kind, names[0]));
      part = word();
    }
    std::vector<Value> all;
    for (const std::string& name : names)
      all.push_back(load(quantity_of(c_.model_, c_.data_, kind, name, part)));
    return joined(all);
  }

  Value load(const Quantity& quantity) {
    using Source = Quantity::Source;
    if (quantity.size < 1) fail("the model has no such numbers");
    Value value;
    if (quantity.source == Source::contact) {
      value = emit({.kind = Kind::contact, .a = quantity.number, .b = quantity.other});
    } else if (quantity.source == Source::velocity) {
      c_.reads_sensors_ = true;
      const Value whole = emit({.kind = Kind::velocity,
                                .size = 6,
                                .a = quantity.type,
                                .b = quantity.number,
                                .c = quantity.local});
      value = slice(whole, quantity.linear ? 3 : 0, 3);
    } else {
      if (quantity.type == mjOBJ_SENSOR)
        c_.sensor_used_[quantity.number] = c_.reads_sensors_ = true;
      const auto address = quantity.first - static_cast<const double*>(c_.data_.buffer);
      value = emit({.kind = Kind::load, .size = quantity.size, .a = static_cast<int>(address)});
      if (quantity.negative) value = each(negative, value);
    }
    value.signals = quantity.signals;
    return value;
  }

  // The values one after another.
  Value joined(const std::vector<Value>& all) {
    if (all.size() == 1) return all.front();
    int size = 0;
    bool named = true;
    for (const Value& value : all) {
      size += value.size;
      named = named && !value.signals.empty();
    }
    Value result = c_.reserve(size);
    int to = result.at;
    for (const Value& value : all) {
      FormulaCompiler::copy(value, to, *program_);
      to += value.size;
      if (named)
        result.signals.insert(result.signals.end(), value.signals.begin(), value.signals.end());
    }
    return result;
  }

  Value emit(Instruction instruction) {
    const Value result = c_.reserve(instruction.kind == Kind::fold ? 1 : instruction.size);
    instruction.to = result.at;
    program_->add(instruction);
    return result;
  }

  static Instruction of_two(Kind kind, const Value& a, const Value& b) {
    if (a.size != b.size && a.size != 1 && b.size != 1)
      fail(fmt::format("vectors of {} and {} elements do not go together", a.size, b.size));
    return {.kind = kind,
            .size = std::max(a.size, b.size),
            .a = a.at,
            .b = b.at,
            .a_step = a.size > 1,
            .b_step = b.size > 1};
  }

  // The function of each element, computed at once for constants.
  Value each(Function function, const Value& a, const Value& b) {
    if (a.number && b.number) return c_.constant(function(*a.number, *b.number));
    Instruction instruction = of_two(Kind::each, a, b);
    instruction.function = function;
    return emit(instruction);
  }
  Value each(Function function, const Value& a) { return each(function, a, a); }

  Value fold(Function function, double first, const Value& value) {
    return emit({.kind = Kind::fold,
                 .size = value.size,
                 .a = value.at,
                 .b = c_.constant(first).at,
                 .function = function});
  }

  FormulaCompiler& c_;
  std::string text_;
  Program* program_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

FormulaCompiler::FormulaCompiler(const mjModel& model, const mjData& data)
    : model_(model), data_(data), sensor_used_(model.nsensor) {}

std::vector<std::string> FormulaCompiler::names() const {
  std::vector<std::string> all = {"qpos", "qvel", "time", "pi"};
  for (const auto& [name, value] : names_) all.push_back(name);
  return all;
}

Value FormulaCompiler::reserve(int size) {
  if (static_cast<int>(cells_.size()) > kMostCells - size)
    throw InputError("the formulas are too long");
  const Value value{.at = static_cast<int>(cells_.size()), .size = size};
  cells_.resize(cells_.size() + size);
  return value;
}

Value FormulaCompiler::constant(double number) {
  Value value = constants(std::span(&number, 1));
  value.number = number;
  return value;
}

Value FormulaCompiler::constants(std::span<const double> numbers) {
  const Value value = reserve(static_cast<int>(numbers.size()));
  std::ranges::copy(numbers, cells_.begin() + value.at);
  return value;
}

Value FormulaCompiler::dot(const Value& a, const Value& b, Program& program) {
  return FormulaParser(*this, "", program).dot(a, b);
}

Value FormulaCompiler::compile(const std::string& formula, Program& program) {
  return FormulaParser(*this, formula, program).whole();
}

void FormulaCompiler::copy(const Value& from, int to, Program& program) {
  program.add({.size = from.size, .to = to, .a = from.at});
}

std::vector<std::string> FormulaCompiler::unused_sensors() const {
  std::vector<std::string> unused;
  for (int i = 0; i < model_.nsensor; ++i) {
    const char* const name = mj_id2name(&model_, mjOBJ_SENSOR, i);
    if (!sensor_used_[i]) unused.push_back(name == nullptr ? fmt::format("number {}", i) : name);
  }
  return unused;
}

}  // namespace ovde
