#include "env/task_file/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "env/mujoco/task.h"

namespace ovde {

namespace {

enum class Op {
  load,      // from mjData
  time,      // of the simulation
  velocity,  // of a body, site or geom: angular, then linear
  contact,   // whether two geoms touch, or one touches any other
  copy,
  // of each element
  negative,
  square,
  add,
  subtract,
  multiply,
  divide,
  less,
  less_equal,
  equal,
  both,
  either,
  call1,
  call2,
  select,
  // of all elements
  sum,
  smallest,
  largest,
  all,
  any,
};

constexpr int kDeepest = 100;        // nesting of a formula
constexpr int kMostCells = 1 << 20;  // of all formulas

using Unary = double (*)(double);
using Binary = double (*)(double, double);

}  // namespace

struct Instruction {
  Op op = Op::copy;
  int size = 1;                // elements
  int to = 0;                  // first cell of the result
  int a = 0, b = 0, c = 0;     // first cells of the operands, or an address or number of the model
  int a_step = 1, b_step = 1;  // 0: the operand is one number
  Unary unary = nullptr;
  Binary binary = nullptr;
};

Program::Program() = default;
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
void Program::add(const Instruction& instruction) { code_.push_back(instruction); }

namespace {

template <typename Function>
void each(const Instruction& i, double* cells, Function function) {
  const double *a = cells + i.a, *b = cells + i.b;
  double* const to = cells + i.to;
  for (int k = 0; k < i.size; ++k, a += i.a_step, b += i.b_step) to[k] = function(*a, *b);
}

template <typename Function>
void fold(const Instruction& i, double* cells, double first, Function function) {
  double result = first;
  for (int k = 0; k < i.size; ++k) result = function(result, cells[i.a + k]);
  cells[i.to] = result;
}

bool touch(const mjData& d, int one, int other) {
  for (int k = 0; k < d.ncon; ++k) {
    const int a = d.contact[k].geom1, b = d.contact[k].geom2;
    if ((a == one && (other < 0 || b == other)) || (b == one && (other < 0 || a == other)))
      return true;
  }
  return false;
}

}  // namespace

void Program::run(const mjModel& model, const mjData& data, std::span<double> all) const {
  double* const cells = all.data();
  const auto* const buffer = static_cast<const double*>(data.buffer);
  for (const Instruction& i : code_) {
    switch (i.op) {
      case Op::load:
        for (int k = 0; k < i.size; ++k) cells[i.to + k] = buffer[i.a + k];
        break;
      case Op::time:
        cells[i.to] = data.time;
        break;
      case Op::velocity:
        mj_objectVelocity(&model, &data, i.a, i.b, cells + i.to, i.c);
        break;
      case Op::contact:
        cells[i.to] = touch(data, i.a, i.b);
        break;
      case Op::copy:
        for (int k = 0; k < i.size; ++k) cells[i.to + k] = cells[i.a + k];
        break;
      case Op::negative:
        each(i, cells, [](double a, double) { return -a; });
        break;
      case Op::square:
        each(i, cells, [](double a, double) { return a * a; });
        break;
      case Op::add:
        each(i, cells, [](double a, double b) { return a + b; });
        break;
      case Op::subtract:
        each(i, cells, [](double a, double b) { return a - b; });
        break;
      case Op::multiply:
        each(i, cells, [](double a, double b) { return a * b; });
        break;
      case Op::divide:
        each(i, cells, [](double a, double b) { return a / b; });
        break;
      case Op::less:
        each(i, cells, [](double a, double b) { return static_cast<double>(a < b); });
        break;
      case Op::less_equal:
        each(i, cells, [](double a, double b) { return static_cast<double>(a <= b); });
        break;
      case Op::equal:
        each(i, cells, [](double a, double b) { return static_cast<double>(a == b); });
        break;
      case Op::both:
        each(i, cells, [](double a, double b) { return static_cast<double>(a != 0 && b != 0); });
        break;
      case Op::either:
        each(i, cells, [](double a, double b) { return static_cast<double>(a != 0 || b != 0); });
        break;
      case Op::call1:
        each(i, cells, [&](double a, double) { return i.unary(a); });
        break;
      case Op::call2:
        each(i, cells, [&](double a, double b) { return i.binary(a, b); });
        break;
      case Op::select:
        each(i, cells, [&](double a, double b) { return cells[i.c] != 0 ? a : b; });
        break;
      case Op::sum:
        fold(i, cells, 0, [](double a, double b) { return a + b; });
        break;
      case Op::smallest:
        fold(i, cells, cells[i.a], [](double a, double b) { return std::min(a, b); });
        break;
      case Op::largest:
        fold(i, cells, cells[i.a], [](double a, double b) { return std::max(a, b); });
        break;
      case Op::all:
        fold(i, cells, 1, [](double a, double b) { return static_cast<double>(a != 0 && b != 0); });
        break;
      case Op::any:
        fold(i, cells, 0, [](double a, double b) { return static_cast<double>(a != 0 || b != 0); });
        break;
    }
  }
}

void refuse_name(const std::string& kind, const std::string& name,
                 const std::vector<std::string>& valid, const std::string& owner) {
  constexpr std::size_t kMostShown = 20;
  const std::string near = nearest(name, valid);
  const std::span shown(valid.data(), std::min(valid.size(), kMostShown));
  throw InputError(fmt::format(
      "unknown {} '{}'{}; {} {}{}", kind, name,
      near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near), owner,
      valid.empty() ? "has none" : fmt::format("has {}", fmt::join(shown, ", ")),
      valid.size() > kMostShown ? fmt::format(" and {} more", valid.size() - kMostShown) : ""));
}

std::vector<std::string> names_in(const mjModel& m, int type) {
  const int count = type == mjOBJ_BODY       ? static_cast<int>(m.nbody)
                    : type == mjOBJ_JOINT    ? static_cast<int>(m.njnt)
                    : type == mjOBJ_GEOM     ? static_cast<int>(m.ngeom)
                    : type == mjOBJ_SITE     ? static_cast<int>(m.nsite)
                    : type == mjOBJ_SENSOR   ? static_cast<int>(m.nsensor)
                    : type == mjOBJ_ACTUATOR ? static_cast<int>(m.nu)
                                             : static_cast<int>(m.nkey);
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    const char* const name = mj_id2name(&m, type, i);
    if (name != nullptr && *name != 0) names.emplace_back(name);
  }
  return names;
}

int number_in(const mjModel& m, int type, const std::string& kind, const std::string& name) {
  const int number = mj_name2id(&m, type, name.c_str());
  if (number < 0) refuse_name(kind, name, names_in(m, type), "the model");
  return number;
}

namespace {

// A quantity of an object that lies in mjData.
struct Field {
  const char* name;
  const double* first;
  int size;
  std::vector<Signal> signals = {};
};

std::vector<Signal> parts(const std::string& name, int size, const std::string& unit) {
  static const char* const axes[] = {"_x", "_y", "_z"};
  static const char* const quaternion[] = {"_qw", "_qx", "_qy", "_qz"};
  std::vector<Signal> all;
  for (int i = 0; i < size; ++i) {
    const std::string end = size == 1   ? ""
                            : size == 3 ? axes[i]
                            : size == 4 ? quaternion[i]
                                        : fmt::format("_{}", i);
    all.push_back({name + end, unit});
  }
  return all;
}

std::vector<Signal> part_of(const std::vector<Signal>& all, int first, int size) {
  return {all.begin() + first, all.begin() + first + size};
}

std::string sensor_unit(int type) {
  switch (type) {
    case mjSENS_ACCELEROMETER:
    case mjSENS_FRAMELINACC:
      return "m/s^2";
    case mjSENS_VELOCIMETER:
    case mjSENS_FRAMELINVEL:
    case mjSENS_SUBTREELINVEL:
      return "m/s";
    case mjSENS_GYRO:
    case mjSENS_FRAMEANGVEL:
    case mjSENS_JOINTVEL:
    case mjSENS_BALLANGVEL:
      return "rad/s";
    case mjSENS_JOINTPOS:
      return "rad";
    case mjSENS_FORCE:
    case mjSENS_TOUCH:
    case mjSENS_ACTUATORFRC:
      return "N";
    case mjSENS_TORQUE:
      return "N m";
    case mjSENS_FRAMEPOS:
    case mjSENS_RANGEFINDER:
    case mjSENS_SUBTREECOM:
      return "m";
    default:
      return "";
  }
}

// A value of 1 of the scaled signal means this; "20 rad/s" for 0.05 of a speed.
std::string scaled_unit(const std::string& unit, double factor) {
  const std::size_t blank = unit.find(' ');
  double size = 1;
  std::string base = unit;
  const auto [end, error] = std::from_chars(unit.data(), unit.data() + unit.size(), size);
  if (error == std::errc() && blank != std::string::npos && end == unit.data() + blank) {
    base = unit.substr(blank + 1);
  } else {
    size = 1;
  }
  size /= factor;
  if (size == 1) return base;
  return base.empty() ? fmt::format("{:g}", size) : fmt::format("{:g} {}", size, base);
}

double sign(double x) { return static_cast<double>((x > 0) - (x < 0)); }
double finite(double x) { return static_cast<double>(std::isfinite(x)); }
double inverted(double x) { return static_cast<double>(x == 0); }
double smaller(double a, double b) { return std::min(a, b); }
double larger(double a, double b) { return std::max(a, b); }

const std::map<std::string, Unary> kUnary = {
    {"sin", std::sin},   {"cos", std::cos},   {"tan", std::tan},     {"asin", std::asin},
    {"acos", std::acos}, {"atan", std::atan}, {"exp", std::exp},     {"log", std::log},
    {"sqrt", std::sqrt}, {"abs", std::fabs},  {"floor", std::floor}, {"tanh", std::tanh},
    {"sign", sign},      {"finite", finite}};
const std::map<std::string, Binary> kBinary = {
    {"atan2", std::atan2}, {"pow", std::pow}, {"min", smaller}, {"max", larger}};
const std::map<std::string, Op> kReductions = {{"sum", Op::sum},
                                               {"min", Op::smallest},
                                               {"max", Op::largest},
                                               {"all", Op::all},
                                               {"any", Op::any}};
const std::vector<std::string> kObjects = {"joint",    "body",   "site",   "geom",
                                           "actuator", "sensor", "contact"};
const std::vector<std::string> kOthers = {"clip", "mean", "norm", "dot", "if", "before", "rate"};

std::vector<std::string> function_names() {
  std::vector<std::string> all = kObjects;
  all.insert(all.end(), kOthers.begin(), kOthers.end());
  for (const auto& [name, function] : kUnary) all.push_back(name);
  for (const auto& [name, function] : kBinary) all.push_back(name);
  for (const auto& [name, op] : kReductions)
    if (!kBinary.contains(name)) all.push_back(name);
  return all;
}

}  // namespace

// Reads a formula from left to right and emits its instructions.
class FormulaParser {
 public:
  FormulaParser(FormulaCompiler& compiler, const std::string& text, Program& program)
      : c_(compiler), m_(compiler.model_), d_(compiler.data_), text_(text), program_(&program) {}

  Value dot(const Value& a, const Value& b) {
    const Value products = binary(Op::multiply, a, b);
    return products.size == 1 ? products : reduce(Op::sum, products);
  }

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
    while (take("or") || take("||")) value = binary(Op::either, value, conjunction());
    --depth_;
    return value;
  }

  Value conjunction() {
    Value value = negation();
    while (take("and") || take("&&")) value = binary(Op::both, value, negation());
    return value;
  }

  Value negation() {
    bool inverts = false;
    while (take("not") || take("!")) inverts = !inverts;
    const Value value = comparison();
    return inverts ? call(inverted, value) : value;
  }

  Value comparison() {
    const Value a = sum();
    if (take("<=")) return binary(Op::less_equal, a, sum());
    if (take(">=")) return binary(Op::less_equal, sum(), a);
    if (take("==")) return binary(Op::equal, a, sum());
    if (take("!=")) return call(inverted, binary(Op::equal, a, sum()));
    if (take("<")) return binary(Op::less, a, sum());
    if (take(">")) return binary(Op::less, sum(), a);
    return a;
  }

  Value sum() {
    Value value = product();
    while (true) {
      if (take("+")) {
        value = binary(Op::add, value, product());
      } else if (take("-")) {
        value = binary(Op::subtract, value, product());
      } else {
        return value;
      }
    }
  }

  Value product() {
    Value value = signed_power();
    while (true) {
      if (take("*")) {
        value = binary(Op::multiply, value, signed_power());
      } else if (take("/")) {
        value = binary(Op::divide, value, signed_power());
      } else {
        return value;
      }
    }
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
    if (value.number) return c_.constant(-*value.number);
    Value result = scaled(
        emit({.op = Op::negative, .size = value.size, .a = value.at, .b = value.at}), value, -1);
    return result;
  }

  Value power() {
    const Value base = element();
    if (!take("^")) return base;
    if (++depth_ > kDeepest) fail("the formula is nested too deeply");
    const Value exponent = signed_power();
    --depth_;
    if (exponent.number == 2.0 && !base.number)
      return emit({.op = Op::square, .size = base.size, .a = base.at, .b = base.at});
    return call(static_cast<Binary>(std::pow), base, exponent);
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
        const int end = take(":") ? index(value.size) : first + 1;
        expect("]");
        value = slice(value, first, end - first);
      } else {
        return value;
      }
    }
  }

  int index(int absent) {
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
    if (!value.signals.empty()) part.signals = part_of(value.signals, first, size);
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
      std::vector<Value> all = {disjunction()};
      while (take(",")) all.push_back(disjunction());
      expect("]");
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
    if (full == "qpos") return load({"", d_.qpos, static_cast<int>(m_.nq), c_.positions_});
    if (full == "qvel") return load({"", d_.qvel, static_cast<int>(m_.nv), c_.velocities_});
    if (full == "time") return emit({.op = Op::time});
    if (full == "pi") return c_.constant(std::acos(-1.0));
    if (const auto found = c_.names_.find(full); found != c_.names_.end()) return found->second;
    std::vector<std::string> valid = {"qpos", "qvel", "time", "pi"};
    for (const auto& [known, value] : c_.names_) valid.push_back(known);
    refuse_name("name", full, valid, "the task");
  }

  Value number() {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail(fmt::format("'{}' is not a number", text_.substr(at_)));
    at_ = static_cast<std::size_t>(end - text_.data());
    return c_.constant(value);
  }

  Value function(const std::string& name) {
    if (std::ranges::find(kObjects, name) != kObjects.end()) return object(name);
    if (name == "before" || name == "rate") return earlier(name);
    std::vector<Value> given = {disjunction()};
    while (take(",")) given.push_back(disjunction());
    expect(")");
    const auto takes = [&](std::size_t count) {
      if (given.size() != count)
        fail(fmt::format("{} takes {} value{}, not {}", name, count, count == 1 ? "" : "s",
                         given.size()));
    };
    if (const auto found = kReductions.find(name); found != kReductions.end() && given.size() == 1)
      return reduce(found->second, given[0]);
    if (const auto found = kUnary.find(name); found != kUnary.end()) {
      takes(1);
      Value result = call(found->second, given[0]);
      for (const Signal& signal : given[0].signals)
        result.signals.push_back({name + "_" + signal.name, name == "abs" ? signal.unit : ""});
      return result;
    }
    if (const auto found = kBinary.find(name); found != kBinary.end()) {
      takes(2);
      return call(found->second, given[0], given[1]);
    }
    if (kReductions.contains(name) || name == "mean" || name == "norm") takes(1);
    if (name == "clip" || name == "if") takes(3);
    if (name == "clip") {
      Value result = call(smaller, call(larger, given[0], given[1]), given[2]);
      if (result.size == given[0].size) result.signals = given[0].signals;
      return result;
    }
    if (name == "if") return choose(given[0], given[1], given[2]);
    if (name == "mean")
      return binary(Op::divide, reduce(Op::sum, given[0]), c_.constant(given[0].size));
    if (name == "norm") {
      const Value& v = given[0];
      return call(static_cast<Unary>(std::sqrt),
                  reduce(Op::sum, emit({.op = Op::square, .size = v.size, .a = v.at, .b = v.at})));
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
      const Value change = binary(Op::subtract, disjunction(), snapshot);
      expect(")");
      return binary(Op::divide, change, c_.names_.at("dt"));
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
    if (kind == "contact") {
      if (names.size() > 2) fail("contact takes one or two geoms");
      const int one = number_in(m_, mjOBJ_GEOM, "geom", names[0]);
      const int other = names.size() == 2 ? number_in(m_, mjOBJ_GEOM, "geom", names[1]) : -1;
      Value value = emit({.op = Op::contact, .a = one, .b = other});
      value.signals = {{"contact_" + names[0], ""}};
      return value;
    }
    std::string part;
    if (kind != "sensor") {
      if (!take("."))
        fail(fmt::format("{}(\"{}\") needs a quantity, such as .pos", kind, names[0]));
      part = word();
    }
    std::vector<Value> all;
    for (const std::string& name : names) all.push_back(one_object(kind, name, part));
    return joined(all);
  }

  Value one_object(const std::string& kind, const std::string& name, const std::string& part) {
    if (kind == "sensor") {
      const int i = number_in(m_, mjOBJ_SENSOR, kind, name);
      c_.sensor_used_[i] = c_.reads_sensors_ = true;
      const int size = m_.sensor_dim[i];
      return load({"", d_.sensordata + m_.sensor_adr[i], size,
                   parts(name, size, sensor_unit(m_.sensor_type[i]))});
    }
    if (kind == "joint") return joint(number_in(m_, mjOBJ_JOINT, kind, name), part);
    if (kind == "actuator") {
      const int i = number_in(m_, mjOBJ_ACTUATOR, kind, name);
      return field(kind, part,
                   {{"ctrl", d_.ctrl + i, 1, parts(name + "_ctrl", 1, "")},
                    {"force", d_.actuator_force + i, 1, parts(name + "_force", 1, "")}});
    }
    if (kind == "body") {
      const int i = number_in(m_, mjOBJ_BODY, kind, name);
      return framed(kind, name, part, mjOBJ_XBODY, i, d_.xmat + 9 * i,
                    {{"pos", d_.xpos + 3 * i, 3, parts(name, 3, "m")},
                     {"quat", d_.xquat + 4 * i, 4, parts(name, 4, "")},
                     {"com", d_.subtree_com + 3 * i, 3, parts(name + "_com", 3, "m")}});
    }
    if (kind == "site") {
      const int i = number_in(m_, mjOBJ_SITE, kind, name);
      return framed(kind, name, part, mjOBJ_SITE, i, d_.site_xmat + 9 * i,
                    {{"pos", d_.site_xpos + 3 * i, 3, parts(name, 3, "m")}});
    }
    const int i = number_in(m_, mjOBJ_GEOM, kind, name);
    return framed(kind, name, part, mjOBJ_GEOM, i, d_.geom_xmat + 9 * i,
                  {{"pos", d_.geom_xpos + 3 * i, 3, parts(name, 3, "m")}});
  }

  Value joint(int i, const std::string& part) {
    const int type = m_.jnt_type[i], q = m_.jnt_qposadr[i], v = m_.jnt_dofadr[i];
    const int nq = type == mjJNT_FREE ? 7 : type == mjJNT_BALL ? 4 : 1;
    const int nv = type == mjJNT_FREE ? 6 : type == mjJNT_BALL ? 3 : 1;
    std::vector<Signal> accelerations, forces;
    for (const Signal& signal : part_of(c_.velocities_, v, nv)) {
      accelerations.push_back({signal.name + "_change", signal.unit + "^2"});
      forces.push_back({signal.name + "_force", ""});
    }
    return field("joint", part,
                 {{"pos", d_.qpos + q, nq, part_of(c_.positions_, q, nq)},
                  {"vel", d_.qvel + v, nv, part_of(c_.velocities_, v, nv)},
                  {"acc", d_.qacc + v, nv, accelerations},
                  {"force", d_.qfrc_actuator + v, nv, forces}});
  }

  // Quantities of something with a frame: those in mjData, and velocities and directions.
  Value framed(const std::string& kind, const std::string& name, const std::string& part, int type,
               int i, const double* rotation, std::vector<Field> fields) {
    const bool local = part.starts_with("local_");
    const std::string plain = local ? part.substr(6) : part;
    if (plain == "vel" || plain == "angvel") {
      c_.reads_sensors_ = true;
      const Value both = emit({.op = Op::velocity, .size = 6, .a = type, .b = i, .c = local});
      Value half = slice(both, plain == "vel" ? 3 : 0, 3);
      for (const Signal& axis : parts(local ? name + "_local" : name, 3, ""))
        half.signals.push_back(plain == "vel" ? Signal{axis.name + "_velocity", "m/s"}
                                              : Signal{axis.name + "_angular_velocity", "rad/s"});
      return half;
    }
    if (part == "gravity") {  // the direction of gravity in the frame: minus the matrix's last row
      const Value up = load({"", rotation + 6, 3});
      Value down = emit({.op = Op::negative, .size = 3, .a = up.at, .b = up.at});
      down.signals = parts(name + "_gravity", 3, "");
      return down;
    }
    fields.insert(fields.end(), {{"vel", nullptr, 0},
                                 {"angvel", nullptr, 0},
                                 {"local_vel", nullptr, 0},
                                 {"local_angvel", nullptr, 0},
                                 {"gravity", nullptr, 0}});
    return field(kind, part, fields);
  }

  Value field(const std::string& kind, const std::string& part, const std::vector<Field>& fields) {
    std::vector<std::string> valid;
    for (const Field& field : fields) {
      if (part == field.name) return load(field);
      valid.emplace_back(field.name);
    }
    refuse_name("quantity", part, valid, "a " + kind);
  }

  Value load(const Field& field) {
    if (field.size < 1) fail("the model has no such numbers");
    const auto address = field.first - static_cast<const double*>(d_.buffer);
    Value value = emit({.op = Op::load, .size = field.size, .a = static_cast<int>(address)});
    value.signals = field.signals;
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
    const bool one = instruction.op >= Op::sum;
    const Value result = c_.reserve(one ? 1 : instruction.size);
    instruction.to = result.at;
    program_->add(instruction);
    return result;
  }

  static int common_size(const Value& a, const Value& b) {
    if (a.size != b.size && a.size != 1 && b.size != 1)
      fail(fmt::format("vectors of {} and {} elements do not go together", a.size, b.size));
    return std::max(a.size, b.size);
  }

  static Instruction of_two(Op op, const Value& a, const Value& b) {
    return {.op = op,
            .size = common_size(a, b),
            .a = a.at,
            .b = b.at,
            .a_step = a.size > 1,
            .b_step = b.size > 1};
  }

  Value binary(Op op, const Value& a, const Value& b) {
    if (a.number && b.number) {
      if (op == Op::add) return c_.constant(*a.number + *b.number);
      if (op == Op::subtract) return c_.constant(*a.number - *b.number);
      if (op == Op::multiply) return c_.constant(*a.number * *b.number);
      if (op == Op::divide) return c_.constant(*a.number / *b.number);
    }
    const Value result = emit(of_two(op, a, b));
    if (op == Op::multiply && b.number) return scaled(result, a, *b.number);
    if (op == Op::multiply && a.number) return scaled(result, b, *a.number);
    if (op == Op::divide && b.number) return scaled(result, a, 1 / *b.number);
    return result;
  }

  // `result` is this multiple of `value`: it has the same names.
  static Value scaled(Value result, const Value& value, double factor) {
    for (const Signal& signal : value.signals)
      result.signals.push_back({signal.name, scaled_unit(signal.unit, factor)});
    return result;
  }

  Value call(Unary function, const Value& a) {
    return emit({.op = Op::call1, .size = a.size, .a = a.at, .b = a.at, .unary = function});
  }

  Value call(Binary function, const Value& a, const Value& b) {
    Instruction instruction = of_two(Op::call2, a, b);
    instruction.binary = function;
    return emit(instruction);
  }

  Value choose(const Value& condition, const Value& a, const Value& b) {
    if (condition.size != 1) fail("the condition of if() must be one number");
    Instruction instruction = of_two(Op::select, a, b);
    instruction.c = condition.at;
    return emit(instruction);
  }

  Value reduce(Op op, const Value& value) {
    return emit({.op = op, .size = value.size, .a = value.at});
  }

  FormulaCompiler& c_;
  const mjModel& m_;
  const mjData& d_;
  std::string text_;
  Program* program_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

FormulaCompiler::FormulaCompiler(const mjModel& model, const mjData& data)
    : model_(model), data_(data), sensor_used_(model.nsensor) {
  StateSignals state = state_signals(model);
  positions_ = std::move(state.positions);
  velocities_ = std::move(state.velocities);
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

void FormulaCompiler::define(const std::string& name, Value value) {
  names_.insert_or_assign(name, std::move(value));
}

Value FormulaCompiler::compile(const std::string& formula, Program& program) {
  return FormulaParser(*this, formula, program).whole();
}

void FormulaCompiler::copy(const Value& from, int to, Program& program) {
  program.add({.op = Op::copy, .size = from.size, .to = to, .a = from.at});
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
