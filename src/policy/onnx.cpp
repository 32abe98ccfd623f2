#include "policy/onnx.h"

#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/discrete/action_grid.h"
#include "base/version.h"
#include "io/protobuf.h"
#include "policy/contract.h"

namespace ovde {

namespace {

struct WireField {
  int number = 0;
  std::uint64_t value = 0;  // varints
  std::string_view bytes;   // texts and messages
};

// Iterates over the fields of a message.
class WireFields {
 public:
  WireFields(std::string_view bytes, const std::string& name) : rest_(bytes), name_(name) {}

  bool next(WireField& field) {
    if (rest_.empty()) return false;
    const std::uint64_t key = varint();
    field = {static_cast<int>(key >> 3 & 0x1fffffff), 0, {}};
    switch (WireType{static_cast<int>(key & 7)}) {
      case WireType::varint:
        field.value = varint();
        break;
      case WireType::bytes:
        field.bytes = take(varint());
        break;
      case WireType::fixed64:
        take(8);
        break;
      case WireType::fixed32:
        take(4);
        break;
      default:
        refuse();
    }
    return true;
  }

 private:
  [[noreturn]] void refuse() const {
    throw InputError(fmt::format("{}: not a valid ONNX file", name_));
  }
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) refuse();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    refuse();
  }

  std::string_view rest_;
  const std::string& name_;
};

// ---- field numbers of onnx.proto; those of its small messages are literals below

constexpr int kIrVersion = 7, kOpset = 13;  // ONNX 1.8
constexpr int kFloat = 1;
enum ModelField {
  kModelIrVersion = 1,
  kProducerName = 2,
  kProducerVersion = 3,
  kGraph = 7,
  kOpsetImport = 8,
  kMetadata = 14
};
enum GraphField { kNode = 1, kGraphName = 2, kInitializer = 5, kInput = 11, kOutput = 12 };
enum TensorField { kDims = 1, kDataType = 2, kTensorName = 8, kRawData = 9 };
enum EntryField { kKey = 1, kValue = 2 };

// An integer attribute of an operator, or a list of one integer.
struct Attribute {
  const char* name;
  std::int64_t value;
  bool is_list = false;
};

// A graph under construction.
class Graph {
 public:
  // Returns `output`, the name of the operator's output.
  std::string node(const char* op, const std::vector<std::string>& inputs,
                   const std::string& output, const std::vector<Attribute>& attributes = {}) {
    ProtobufMessage node;
    for (const std::string& input : inputs) node.add(1, input);
    node.add(2, output).add(3, output).add(4, std::string_view(op));
    for (const auto& [name, value, is_list] : attributes) {
      constexpr std::uint64_t kInt = 2, kInts = 7;
      node.add(5, ProtobufMessage()
                      .add(1, std::string_view(name))
                      .add(is_list ? 8 : 3, static_cast<std::uint64_t>(value))
                      .add(20, is_list ? kInts : kInt));
    }
    graph_.add(kNode, node);
    return output;
  }

  std::string constant(const std::string& name, const Tensor& tensor) {
    ProtobufMessage message;
    for (const std::int64_t extent : tensor.shape)
      message.add(kDims, static_cast<std::uint64_t>(extent));
    message.add(kDataType, std::uint64_t{kFloat}).add(kTensorName, name);
    message.add(kRawData, {reinterpret_cast<const char*>(tensor.values.data()),
                           tensor.values.size() * sizeof(float)});
    graph_.add(kInitializer, message);
    return name;
  }

  // An input or output of shape (batch x size) with a variable batch.
  void value(int field, const std::string& name, int size) {
    const ProtobufMessage shape =
        std::move(ProtobufMessage()
                      .add(1, ProtobufMessage().add(2, std::string_view("batch")))
                      .add(1, ProtobufMessage().add(1, static_cast<std::uint64_t>(size))));
    const ProtobufMessage type = std::move(
        ProtobufMessage().add(1, ProtobufMessage().add(1, std::uint64_t{kFloat}).add(2, shape)));
    graph_.add(field, ProtobufMessage().add(1, name).add(2, type));
  }

  void name(const char* name) { graph_.add(kGraphName, std::string_view(name)); }
  const ProtobufMessage& message() const { return graph_; }

 private:
  ProtobufMessage graph_;
};

Tensor row(std::vector<float> values) {
  return {{1, static_cast<std::int64_t>(values.size())}, std::move(values)};
}

// x / sqrt(mean(x^2) + epsilon)
std::string add_rms_norm(const std::string& name, const std::string& x, Graph& graph) {
  const auto node = [&](const char* op, const std::vector<std::string>& inputs, const char* output,
                        const std::vector<Attribute>& attributes = {}) {
    return graph.node(op, inputs, name + "." + output, attributes);
  };
  std::string size = node("Mul", {x, x}, "squares");
  size = node("ReduceMean", {size}, "mean_square", {{"axes", 1, true}, {"keepdims", 1}});
  size = node("Add", {size, graph.constant(name + ".epsilon", row({kRmsNormEpsilon}))}, "sum");
  return node("Div", {x, node("Sqrt", {size}, "size")}, "normal");
}

// Returns the name of the network's output.
std::string add_network(const std::string& name, const MlpShape& shape, const TensorFile& file,
                        Graph& graph) {
  std::string x = "observation", sum;  // the sum of the residual blocks so far
  for (int l = 0; l < shape.layers(); ++l) {
    const std::string layer = fmt::format("{}.{}", name, l);
    const auto add = [&](const std::string& tensor) {
      return graph.constant(tensor, file.tensors.at(tensor));
    };
    x = graph.node("Gemm", {x, add(layer + ".weight"), add(layer + ".bias")}, layer,
                   {{"transB", 1}});
    if (shape.has_relu(l)) x = graph.node("Relu", {x}, layer + ".relu");
    if (shape.ends_block(l)) x = graph.node("Add", {sum, x}, layer + ".sum");
    if (l % 2 == 0) sum = x;
    if (shape.precedes_rms_norm(l)) x = add_rms_norm(name, x, graph);
  }
  return x;
}

// From [-1, 1] to the task's range; rounding cannot leave the range.
void add_scaled(const std::string& unit, const StoredPolicy& part, Graph& graph) {
  std::vector<float> middle, half;
  for (int d = 0; d < part.actions(); ++d) {
    middle.push_back(static_cast<float>(0.5 * part.low[d] + 0.5 * part.high[d]));
    half.push_back(static_cast<float>(0.5 * part.high[d] - 0.5 * part.low[d]));
  }
  std::string x = graph.node("Mul", {unit, graph.constant("half_range", row(half))}, "scaled");
  x = graph.node("Add", {x, graph.constant("middle", row(middle))}, "moved");
  x = graph.node("Min", {x, graph.constant("action_high", row(part.high))}, "below_high");
  graph.node("Max", {x, graph.constant("action_low", row(part.low))}, "action");
}

// The action with the largest sum of both critics; the first of equals.
void add_best(const StoredPolicy& part, const std::string& first, const std::string& second,
              Graph& graph) {
  const ActionGrid grid(part.actions(), *part.bins);
  Tensor table{{grid.actions(), grid.dimensions()}, {}};
  std::vector<double> unit(grid.dimensions());
  for (int n = 0; n < grid.actions(); ++n) {
    grid.action(n, unit);
    for (std::size_t d = 0; d < unit.size(); ++d) {
      const double low = part.low[d], high = part.high[d];
      table.values.push_back(static_cast<float>(low + (unit[d] + 1) / 2 * (high - low)));
    }
  }
  const std::string value = graph.node("Add", {first, second}, "value");
  const std::string best = graph.node("ArgMax", {value}, "best", {{"axis", 1}, {"keepdims", 0}});
  graph.node("Gather", {graph.constant("grid_actions", table), best}, "action", {{"axis", 0}});
}

// ---- reading

std::pair<std::string, Tensor> parse_tensor(std::string_view bytes, const std::string& name) {
  std::pair<std::string, Tensor> named;
  auto& [tensor_name, tensor] = named;
  std::uint64_t type = 0;
  std::string_view data;
  WireFields fields(bytes, name);
  for (WireField field; fields.next(field);) {
    if (field.number == kDims) tensor.shape.push_back(static_cast<std::int64_t>(field.value));
    if (field.number == kDataType) type = field.value;
    if (field.number == kTensorName) tensor_name = field.bytes;
    if (field.number == kRawData) data = field.bytes;
  }
  const std::size_t values = data.size() / sizeof(float);
  std::size_t count = 1;
  bool fits = type == kFloat && values > 0 && values * sizeof(float) == data.size();
  for (const std::int64_t extent : tensor.shape) {
    fits = fits && extent > 0 && static_cast<std::size_t>(extent) <= values / count;
    if (fits) count *= static_cast<std::size_t>(extent);
  }
  if (!fits || count != values)
    throw InputError(fmt::format("{}: not a valid ONNX file: tensor '{}'", name, tensor_name));
  tensor.values.resize(count);
  std::memcpy(tensor.values.data(), data.data(), data.size());
  return named;
}

}  // namespace

std::string to_onnx(const StoredPolicy& part, const std::string& contract) {
  const TensorFile file = policy_tensors(part);
  Graph graph;
  std::vector<std::string> outputs;
  for (std::size_t k = 0; k < part.networks.size(); ++k)
    outputs.push_back(add_network(part.network_name(k), part.networks[k].shape, file, graph));
  if (part.bins) {
    add_best(part, outputs[0], outputs[1], graph);
  } else {
    add_scaled(graph.node("Tanh", {outputs[0]}, "unit"), part, graph);
  }
  graph.name("policy");
  graph.value(kInput, "observation", part.observations());
  graph.value(kOutput, "action", part.actions());

  ProtobufMessage model;
  model.add(kModelIrVersion, std::uint64_t{kIrVersion})
      .add(kProducerName, std::string_view("ovde"))
      .add(kProducerVersion, std::string_view(version()))
      .add(kOpsetImport, ProtobufMessage().add(1, std::string_view()).add(2, std::uint64_t{kOpset}))
      .add(kGraph, graph.message());
  auto metadata = file.metadata;
  metadata[kContract] = contract;
  for (const auto& [key, value] : metadata)
    model.add(kMetadata, ProtobufMessage().add(kKey, key).add(kValue, value));
  return model.bytes();
}

TensorFile parse_onnx(std::string_view bytes, const std::string& name) {
  TensorFile file;
  WireFields model(bytes, name);
  for (WireField field; model.next(field);) {
    if (field.number == kMetadata) {
      std::string key, value;
      WireFields entry(field.bytes, name);
      for (WireField part; entry.next(part);) {
        if (part.number == kKey) key = part.bytes;
        if (part.number == kValue) value = part.bytes;
      }
      file.metadata[key] = value;
    }
    if (field.number == kGraph) {
      WireFields graph(field.bytes, name);
      for (WireField part; graph.next(part);)
        if (part.number == kInitializer) file.tensors.insert(parse_tensor(part.bytes, name));
    }
  }
  // the first action of a grid has all lower bounds, the last one all upper bounds
  if (const auto grid = file.tensors.find("grid_actions"); grid != file.tensors.end()) {
    const auto& [shape, values] = grid->second;
    if (shape.size() != 2)
      throw InputError(fmt::format("{}: not a valid ONNX file: tensor '{}'", name, grid->first));
    const auto size = static_cast<std::ptrdiff_t>(shape.back());
    file.tensors["action_low"] = row({values.begin(), values.begin() + size});
    file.tensors["action_high"] = row({values.end() - size, values.end()});
  }
  return file;
}

}  // namespace ovde
