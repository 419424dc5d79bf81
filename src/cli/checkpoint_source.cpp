// SPDX-License-Identifier: Apache-2.0
#include "cli/checkpoint_source.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "weights/byte_reader.h"
#include "weights/float_conversion.h"
#include "weights/safetensors_writer.h"

namespace myxtts {

void CheckpointSource::add(const std::string& name, PickleRef value) {
  if (!tensors_.emplace(name, Source{value, file_->tensor(value, name)}).second) {
    throw DataError(fmt::format("{} holds '{}' twice, under two names.",
                                file_->file().path().string(), printable(name)));
  }
}

void CheckpointSource::add_part(PickleRef state_dict, CheckpointPart part) {
  for (const auto& [name, value] : file_->items(state_dict)) {
    const CheckpointName translated = public_name(name);
    if (translated.part == part) add(translated.name, value);
  }
}

const PthTensor* CheckpointSource::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second.tensor;
}

FoundTensors CheckpointSource::found() const {
  FoundTensors found;
  for (const auto& [name, source] : tensors_) {
    found[name] = {source.tensor.shape, is_floating(source.tensor.dtype)};
  }
  return found;
}

std::uint64_t CheckpointSource::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [name, source] : tensors_) sum += source.tensor.storage.size();
  return sum;
}

void CheckpointSource::write(const std::filesystem::path& path, const TensorSpecs& specs,
                             Progress& progress) const {
  TensorKinds kinds;
  for (const TensorSpec& spec : specs) {
    kinds[spec.name] = {spec.role == TensorRole::Counter ? Dtype::I64 : Dtype::F32, spec.shape};
  }
  SafetensorsWriter writer(path, kinds, {{"format", "pt"}});
  std::vector<std::byte> dense_buffer;
  std::vector<std::byte> float_buffer;
  for (const std::string& name : writer.order()) {
    const auto source = tensors_.find(name);
    if (source == tensors_.end()) {
      const TensorKind& kind = kinds.at(name);
      writer.write(std::vector<std::byte>(*dense_bytes(kind.dtype, kind.shape)));
      continue;
    }
    const PthTensor& tensor = source->second.tensor;
    file_->verify(source->second.value, name);
    const TensorView view = dense(tensor, dense_buffer);
    const bool counts = kinds.at(name).dtype == Dtype::I64;
    if (counts ? view.dtype != Dtype::I64 : !is_floating(view.dtype)) {
      throw DataError(
          fmt::format("The checkpoint's {} has numbers of another kind than the network "
                      "has there.",
                      name));
    }
    writer.write(is_floating(view.dtype) ? as_fp32(view, float_buffer).bytes : view.bytes);
    file_->file().forget(tensor.storage);
    progress.advance(tensor.storage.size());
  }
  writer.commit();
}

}  // namespace myxtts
