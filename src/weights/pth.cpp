// SPDX-License-Identifier: Apache-2.0
#include "weights/pth.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/file_remedies.h"
#include "base/message_text.h"
#include "weights/byte_reader.h"
#include "weights/zip.h"

namespace myxtts {
namespace {

// The values of a checkpoint's pickle take a small part of the file; twice the file is refused.
constexpr std::size_t kSmallFileAllowance = std::size_t{256} << 10;
// A tensor costs its file at least a pickled description and a zip entry; us, about as much.
constexpr std::size_t kBytesPerItem = 128;

std::span<const std::byte> require_zip(const MappedFile& file) {
  ByteReader reader(file.bytes(), file.path().string());
  require_no_placeholder(file);
  if (reader.remaining() < 4 || reader.number<std::uint32_t>() != zip::kLocalHeader) {
    throw DataError(
        fmt::format("{} is not a zip archive as torch.save() writes them since PyTorch 1.6; open "
                    "it with PyTorch "
                    "and save it again.",
                    file.path().string()));
  }
  return file.bytes();
}

std::string find_root(const ZipReader& zip, const std::string& subject) {
  constexpr std::string_view kPickle = "/data.pkl";
  for (const ZipEntry& entry : zip.entries()) {
    if (!entry.name.ends_with(kPickle)) continue;
    const auto root = entry.name.substr(0, entry.name.size() - kPickle.size() + 1);
    if (root.find('/') == root.size() - 1) return std::string(root);
  }
  throw DataError(
      fmt::format("{} holds no data.pkl: it was not written by torch.save().", subject));
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// How many elements of its storage a strided tensor reaches over; nothing beyond 64 bits.
std::optional<std::uint64_t> reach(const Shape& shape, const Shape& strides) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    const auto steps = static_cast<std::uint64_t>(shape[i] - 1);
    const auto stride = static_cast<std::uint64_t>(strides[i]);
    if (stride != 0 && steps > (kMost - last) / stride) return std::nullopt;
    last += steps * stride;
  }
  return last + 1;
}

}  // namespace

bool PthTensor::is_dense() const {
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

TensorView dense(const PthTensor& tensor, std::vector<std::byte>& buffer) {
  const auto bytes = static_cast<std::size_t>(*dense_bytes(tensor.dtype, tensor.shape));
  if (tensor.is_dense()) return {tensor.dtype, tensor.shape, tensor.storage.first(bytes)};
  buffer.resize(bytes);
  const std::size_t width = element_bytes(tensor.dtype);
  Shape index(tensor.shape.size(), 0);
  std::int64_t source = 0;  // elements
  for (std::size_t to = 0; to < bytes; to += width) {
    std::copy_n(tensor.storage.begin() + source * static_cast<std::int64_t>(width), width,
                buffer.begin() + static_cast<std::ptrdiff_t>(to));
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (tensor.shape[axis] == 1) continue;  // its stride may be anything
      source += tensor.strides[axis];
      if (++index[axis] < tensor.shape[axis]) break;
      source -= tensor.strides[axis] * tensor.shape[axis];
      index[axis] = 0;
    }
  }
  return {tensor.dtype, tensor.shape, buffer};
}

PthReader::PthReader(const std::filesystem::path& path)
    : file_(MappedFile::open(path)),
      subject_(path.string()),
      zip_(require_zip(*file_), subject_),
      root_(find_root(zip_, subject_)) {
  if (const ZipEntry* order = zip_.find(root_ + "byteorder")) {
    if (as_text(order->bytes) != "little") fail("was written on a big-endian machine");
  }
  const ZipEntry& pickle = *zip_.find(root_ + "data.pkl");
  zip_.verify(pickle);
  tree_ = read_pickle(pickle.bytes, 2 * file_->bytes().size() + kSmallFileAllowance,
                      subject_ + ": its pickle");
}

std::vector<std::pair<std::string_view, PickleRef>> PthReader::items(PickleRef dict) const {
  const PickleValue& value = tree_[dict];
  if (value.kind != PickleKind::Dict) {
    fail(fmt::format("holds {} where named tensors are expected", tree_.describe(dict)));
  }
  const std::size_t count = value.items.size() / 2;
  if (count * kBytesPerItem > file_->bytes().size() + kSmallFileAllowance) {
    fail(fmt::format("names {} tensors, more than its size can hold", count));
  }
  std::vector<std::pair<std::string_view, PickleRef>> found;
  found.reserve(count);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < value.items.size(); i += 2) {
    const PickleValue& key = tree_[value.items[i]];
    if (key.kind != PickleKind::Text) {
      fail(fmt::format("names a tensor by {}", tree_.describe(value.items[i])));
    }
    if (!names.insert(key.text).second) fail(fmt::format("names '{}' twice", printable(key.text)));
    found.emplace_back(key.text, value.items[i + 1]);
  }
  return found;
}

// The arguments of torch._utils._rebuild_tensor_v2, which a parameter wraps once more.
const PickleValue& PthReader::rebuild_arguments(PickleRef value, std::string_view name) const {
  const auto arguments_of = [this](PickleRef call, std::string_view function) {
    const PickleValue& record = tree_[call];
    const bool matches = record.kind == PickleKind::Call &&
                         tree_.is_global(record.items[0], "torch._utils", function);
    return matches ? &tree_[record.items[1]] : nullptr;
  };
  for (const std::string_view function : {"_rebuild_parameter", "_rebuild_parameter_with_state"}) {
    const PickleValue* parameter = arguments_of(value, function);
    if (parameter != nullptr && !parameter->items.empty()) value = parameter->items[0];
  }
  const PickleValue* arguments = arguments_of(value, "_rebuild_tensor_v2");
  if (arguments == nullptr) {
    fail(fmt::format("holds {} where the tensor '{}' is expected", tree_.describe(value),
                     printable(name)));
  }
  if (arguments->items.size() < 4) fail(fmt::format("describes '{}' by half", printable(name)));
  return *arguments;
}

// ("storage", torch.FloatStorage, "17", "cpu", element count)
PthReader::Storage PthReader::storage(PickleRef value, std::string_view name) const {
  const auto damaged = [&] { fail(fmt::format("has no storage for '{}'", printable(name))); };
  const PickleValue& persistent = tree_[value];
  if (persistent.kind != PickleKind::Persistent) damaged();
  const PickleValue& id = tree_[persistent.items[0]];
  if (id.kind != PickleKind::Tuple || id.items.size() < 5) damaged();
  const PickleValue& type = tree_[id.items[1]];
  const PickleValue& key = tree_[id.items[2]];
  const PickleValue& count = tree_[id.items[4]];
  if (type.kind != PickleKind::Global || type.text != "torch" || key.kind != PickleKind::Text ||
      count.kind != PickleKind::Integer) {
    damaged();
  }
  const auto dtype = dtype_of_storage(type.name);
  if (!dtype) {
    fail(
        fmt::format("stores '{}' as {}, which is not read", printable(name), printable(type.name)));
  }
  constexpr std::size_t kLongestKey = 64;
  if (key.text.size() > kLongestKey) damaged();
  const ZipEntry* entry = zip_.find(root_ + "data/" + std::string(key.text));
  const auto bytes = dense_bytes(*dtype, {&count.integer, 1});
  if (entry == nullptr || !bytes || *bytes != entry->bytes.size()) {
    fail(fmt::format("lacks the storage of '{}', or holds it in another size than it says",
                     printable(name)));
  }
  return {*dtype, entry};
}

Shape PthReader::sizes(PickleRef value, std::string_view name) const {
  constexpr std::size_t kMostDimensions = 16;
  const PickleValue& tuple = tree_[value];
  if (tuple.kind != PickleKind::Tuple || tuple.items.size() > kMostDimensions) {
    fail(fmt::format("gives '{}' no proper shape", printable(name)));
  }
  Shape sizes;
  for (const PickleRef item : tuple.items) {
    if (tree_[item].kind != PickleKind::Integer || tree_[item].integer < 0) {
      fail(fmt::format("gives '{}' a dimension or stride of {}", printable(name),
                       tree_.describe(item)));
    }
    sizes.push_back(tree_[item].integer);
  }
  return sizes;
}

PthTensor PthReader::tensor(PickleRef value, std::string_view name) const {
  const PickleValue& arguments = rebuild_arguments(value, name);
  const Storage stored = storage(arguments.items[0], name);
  const PickleValue& offset = tree_[arguments.items[1]];
  PthTensor tensor = {
      stored.dtype, sizes(arguments.items[2], name), sizes(arguments.items[3], name), {}};
  const std::size_t width = element_bytes(stored.dtype);
  const std::uint64_t available = stored.entry->bytes.size() / width;
  const auto count = element_count(tensor.shape);
  const bool sound = tensor.shape.size() == tensor.strides.size() &&
                     offset.kind == PickleKind::Integer && offset.integer >= 0 && count;
  const auto reached = sound ? reach(tensor.shape, tensor.strides) : std::nullopt;
  // More elements than the storage has would be one element shown many times: not weights.
  if (!reached || *count > available || static_cast<std::uint64_t>(offset.integer) > available ||
      *reached > available - static_cast<std::uint64_t>(offset.integer)) {
    fail(fmt::format("describes '{}' as {} elements at element {} of a storage of {}",
                     printable(name), describe_shape(tensor.shape),
                     offset.kind == PickleKind::Integer ? offset.integer : -1, available));
  }
  tensor.storage = stored.entry->bytes.subspan(static_cast<std::size_t>(offset.integer) * width,
                                               static_cast<std::size_t>(*reached) * width);
  return tensor;
}

void PthReader::verify(PickleRef value, std::string_view name) const {
  zip_.verify(*storage(rebuild_arguments(value, name).items[0], name).entry);
}

void PthReader::fail(const std::string& what) const {
  throw DataError(fmt::format("{} {}.", subject_, what));
}

namespace {

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

}  // namespace

PthWriter::PthWriter(std::filesystem::path path) : path_(std::move(path)), pickle_("\x80\x02") {}

void PthWriter::open_dict() {
  pickle_ += "}(";
}
void PthWriter::close_dict() {
  pickle_ += 'u';
}
void PthWriter::key(std::string_view text) {
  put_text(text);
}

void PthWriter::dict(const TensorViews& tensors) {
  open_dict();
  for (const auto& [name, view] : tensors) {
    key(name);
    tensor(view);
  }
  close_dict();
}

// _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, OrderedDict())
void PthWriter::tensor(const TensorView& view) {
  const auto count = element_count(view.shape);
  MYXTTS_CHECK(count && *count * element_bytes(view.dtype) == view.bytes.size(),
               "a tensor of shape {} has {} bytes", describe_shape(view.shape), view.bytes.size());
  pickle_ += "ctorch._utils\n_rebuild_tensor_v2\n((";
  put_text("storage");
  pickle_ += fmt::format("ctorch\n{}\n", storage_name(view.dtype));
  put_text(std::to_string(tensors_.size()));
  put_text("cpu");
  put_integer(static_cast<std::int64_t>(*count));
  pickle_ += "tQ";
  put_integer(0);
  put_tuple(view.shape);
  put_tuple(dense_strides(view.shape));
  pickle_ +=
      "\x89"
      "ccollections\nOrderedDict\n)RtR";
  tensors_.push_back(view);
}

void PthWriter::commit(const std::function<void(const TensorView&)>& after) {
  AtomicFile file(path_);
  ZipWriter zip(file, zip64_limit_);
  zip.add("archive/data.pkl", bytes_of(pickle_ + "."));
  zip.add("archive/byteorder", bytes_of("little"));
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    zip.add(fmt::format("archive/data/{}", i), tensors_[i].bytes);
    if (after) after(tensors_[i]);
  }
  zip.add("archive/version", bytes_of("3\n"));
  zip.finish();
  file.commit();
}

void PthWriter::put_text(std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  pickle_ += 'X';
  pickle_.append(reinterpret_cast<const char*>(&size), sizeof size);
  pickle_ += text;
}

void PthWriter::put_integer(std::int64_t number) {
  if (number >= 0 && number <= std::numeric_limits<std::int32_t>::max()) {
    const auto small = static_cast<std::int32_t>(number);
    pickle_ += 'J';
    pickle_.append(reinterpret_cast<const char*>(&small), sizeof small);
  } else {
    pickle_ += "\x8a\x08";
    pickle_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
}

void PthWriter::put_tuple(const Shape& numbers) {
  pickle_ += '(';
  for (const std::int64_t number : numbers) put_integer(number);
  pickle_ += 't';
}

}  // namespace myxtts
