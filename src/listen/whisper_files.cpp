// SPDX-License-Identifier: Apache-2.0
#include "listen/whisper_files.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/message_text.h"
#include "config/json.h"
#include "weights/ctranslate2.h"
#include "weights/pth.h"
#include "weights/tensor_files.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::json;

constexpr std::size_t kLargestConfig = std::size_t{16} << 20U;  // bytes
constexpr std::int64_t kMostLayers = 256;
constexpr const char* kForms =
    "Whisper comes in three forms: OpenAI's file (base.pt), Hugging Face's folder (config.json, "
    "tokenizer.json, model.safetensors) and faster-whisper's (model.bin, config.json, "
    "tokenizer.json)";

bool has(const fs::path& file) {
  std::error_code none;
  return fs::is_regular_file(file, none);
}

Json read_whisper_json(const fs::path& file) {
  const std::string text = read_text_file(file, "file of the model", kLargestConfig);
  auto json = parse_shallow_json<Json>(text);
  if (!json.is_object()) throw DataError(fmt::format("{} is no JSON object.", file.string()));
  return json;
}

std::int64_t whole_number(const Json& json, const char* key, const fs::path& file) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) {
    throw DataError(
        fmt::format("{} does not say {}: it is no configuration of Whisper.", file.string(), key));
  }
  return found->get<std::int64_t>();
}

// [[3, 1], [4, 2]]; empty where the file is missing or says nothing.
std::vector<WhisperHead> heads_in(const fs::path& file) {
  std::vector<WhisperHead> heads;
  if (!has(file)) return heads;
  const Json json = read_whisper_json(file);
  const auto found = json.find("alignment_heads");
  if (found == json.end() || !found->is_array()) return heads;
  for (const Json& head : *found) {
    if (!head.is_array() || head.size() != 2 || !head[0].is_number_integer() ||
        !head[1].is_number_integer()) {
      throw DataError(fmt::format("{} names alignment_heads that are none.", file.string()));
    }
    heads.emplace_back(head[0].get<std::int64_t>(), head[1].get<std::int64_t>());
  }
  return heads;
}

using Renaming = std::pair<std::string_view, std::string_view>;

std::string renamed(std::string name, std::span<const Renaming> table) {
  for (const auto& [from, to] : table) {
    const auto place = name.find(from);
    if (place != std::string::npos) name.replace(place, from.size(), to);
  }
  return name;
}

// What a form gives before it is checked.
struct Read {
  NamedTensors tensors;
  std::int64_t audio_heads = 0;
  std::int64_t text_heads = 0;
};

// --- OpenAI ---------------------------------------------------------------------------------

// The tensor's numbers in memory of its own where they do not lie one after another in the file.
at::Tensor tensor_of(const PthReader& reader, PickleRef value, std::string_view name) {
  const PthTensor stored = reader.tensor(value, name);
  reader.verify(value, name);
  std::vector<std::byte> buffer;
  const TensorView view = dense(stored, buffer);
  return tensor_on(view, nullptr).clone();  // whatever it lies in ends before it
}

Read read_openai(const fs::path& file) {
  const PthReader reader(file);
  const PickleTree& tree = reader.tree();
  const auto dims = tree.find(tree.root(), "dims");
  const auto state = tree.find(tree.root(), "model_state_dict");
  if (!dims || !state) {
    throw DataError(
        fmt::format("{} is no Whisper of OpenAI, which holds dims and model_state_dict. {}.",
                    file.string(), kForms));
  }
  const auto number = [&](std::string_view key) {
    const auto value = tree.find(*dims, key);
    if (!value || tree[*value].kind != PickleKind::Integer) {
      throw DataError(fmt::format("{} does not say {} in its dims.", file.string(), key));
    }
    return tree[*value].integer;
  };
  Read read{
      .tensors = {}, .audio_heads = number("n_audio_head"), .text_heads = number("n_text_head")};
  for (const auto& [name, value] : reader.items(*state)) {
    read.tensors.emplace(std::string(name), tensor_of(reader, value, name));
  }
  return read;
}

// --- Hugging Face ---------------------------------------------------------------------------

// The files that hold the tensors: one, or those that the index names.
std::set<fs::path> safetensors_of(const fs::path& folder) {
  if (has(folder / "model.safetensors")) return {folder / "model.safetensors"};
  const fs::path index = folder / "model.safetensors.index.json";
  const Json json = read_whisper_json(index);
  const auto map = json.find("weight_map");
  std::set<fs::path> files;
  if (map != json.end() && map->is_object()) {
    for (const auto& [name, file] : map->items()) {
      const fs::path part = file.is_string() ? file.get<std::string>() : std::string();
      if (part.empty() || part != part.filename() || part == "..") {
        throw DataError(fmt::format("{} names no file for {}.", index.string(), printable(name)));
      }
      files.insert(folder / part);
    }
  }
  if (files.empty()) throw DataError(fmt::format("{} names no files.", index.string()));
  return files;
}

// To OpenAI's names. The order matters: a layer's final norm, then that of all layers.
constexpr Renaming kFromHuggingFace[] = {{"model.encoder.", "encoder."},
                                         {"model.decoder.", "decoder."},
                                         {".layers.", ".blocks."},
                                         {"embed_tokens", "token_embedding"},
                                         {"embed_positions.weight", "positional_embedding"},
                                         {"self_attn_layer_norm", "attn_ln"},
                                         {"encoder_attn_layer_norm", "cross_attn_ln"},
                                         {"final_layer_norm", "mlp_ln"},
                                         {"encoder.layer_norm", "encoder.ln_post"},
                                         {"decoder.layer_norm", "decoder.ln"},
                                         {"self_attn", "attn"},
                                         {"encoder_attn", "cross_attn"},
                                         {"q_proj", "query"},
                                         {"k_proj", "key"},
                                         {"v_proj", "value"},
                                         {"out_proj", "out"},
                                         {"fc1", "mlp.0"},
                                         {"fc2", "mlp.2"}};

Read read_hugging_face(const fs::path& folder) {
  const fs::path config = folder / "config.json";
  const Json json = read_whisper_json(config);
  Read read{.tensors = {},
            .audio_heads = whole_number(json, "encoder_attention_heads", config),
            .text_heads = whole_number(json, "decoder_attention_heads", config)};
  for (const fs::path& file : safetensors_of(folder)) {
    for (auto& [name, tensor] : read_tensors(file)) {
      read.tensors.emplace(renamed(name, kFromHuggingFace), tensor);
    }
  }
  return read;
}

// --- CTranslate2 ----------------------------------------------------------------------------

constexpr Renaming kFromCtranslate2[] = {{"decoder/embeddings/", "decoder/token_embedding/"},
                                         {"position_encodings/encodings", "positional_embedding"},
                                         {"encoder/layer_norm/", "encoder/ln_post/"},
                                         {"decoder/layer_norm/", "decoder/ln/"},
                                         {"/layer_", "/blocks/"},
                                         {"self_attention/layer_norm", "attn_ln"},
                                         {"attention/layer_norm", "cross_attn_ln"},
                                         {"ffn/layer_norm", "mlp_ln"},
                                         {"self_attention/", "attn/"},
                                         {"/attention/", "/cross_attn/"},
                                         {"ffn/linear_0", "mlp/0"},
                                         {"ffn/linear_1", "mlp/2"},
                                         {"gamma", "weight"},
                                         {"beta", "bias"}};

// Its layers join what reads the same input: queries, keys and values (linear_0 of a layer that
// attends to itself), keys and values (linear_1 of one that attends to the sound).
std::vector<std::string> joined_layers(std::string_view layer) {
  if (layer.ends_with("cross_attn/linear_0")) return {"query"};
  if (layer.ends_with("cross_attn/linear_1")) return {"key", "value"};
  if (layer.ends_with("cross_attn/linear_2")) return {"out"};
  if (layer.ends_with("attn/linear_0")) return {"query", "key", "value"};
  if (layer.ends_with("attn/linear_1")) return {"out"};
  return {};
}

// The number that was stored as q is q / scale, with a scale for each row or one for all.
at::Tensor without_scale(const at::Tensor& stored, const at::Tensor& scale, const std::string& name,
                         const fs::path& file) {
  const bool by_row = stored.dim() == 2 && scale.dim() == 1 && scale.size(0) == stored.size(0);
  if (!scale.is_floating_point() || (!by_row && scale.numel() != 1)) {
    throw DataError(
        fmt::format("{}: the scale of {} does not fit it.", file.string(), printable(name)));
  }
  const auto divisor = scale.to(at::kFloat);
  return stored.to(at::kFloat) / (by_row ? divisor.unsqueeze(1) : divisor.reshape({1}));
}

std::string with_dots(std::string name) {
  std::ranges::replace(name, '/', '.');
  return name;
}

void add_ctranslate2(Read& read, const std::string& name, const at::Tensor& tensor,
                     const fs::path& file) {
  const auto slash = name.rfind('/');
  const std::string layer = name.substr(0, slash);
  const auto parts = joined_layers(layer);
  if (parts.empty()) {
    read.tensors.emplace(with_dots(name), tensor);
    return;
  }
  const auto count = std::ssize(parts);
  if (tensor.dim() == 0 || tensor.size(0) % count != 0) {
    throw DataError(fmt::format("{}: {} cannot be split into {}.", file.string(), printable(name),
                                fmt::join(parts, ", ")));
  }
  const std::string kind = name.substr(slash + 1);
  const auto split = tensor.chunk(count, 0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "key" && kind == "bias") continue;  // zeros: Whisper's keys have none
    const std::string part = layer.substr(0, layer.rfind('/') + 1) + parts[i] + "/" + kind;
    read.tensors.emplace(with_dots(part), split[i]);
  }
}

Read read_ctranslate2(const fs::path& file) {
  const Ctranslate2Reader reader(file);
  if (reader.kind() != "WhisperSpec") {
    throw DataError(fmt::format("{} is a model of CTranslate2 for another task ({}), no Whisper.",
                                file.string(), printable(reader.kind())));
  }
  const auto heads = [&](const char* name) {
    const auto found = reader.tensors().find(name);
    if (found == reader.tensors().end() || found->second.bytes.empty()) {
      throw DataError(fmt::format("{} does not say {}.", file.string(), name));
    }
    return tensor_on(found->second, reader.file()).flatten()[0].item().to<std::int64_t>();
  };
  Read read{.tensors = {},
            .audio_heads = heads("encoder/num_heads"),
            .text_heads = heads("decoder/num_heads")};
  for (const auto& [name, view] : reader.tensors()) {
    const bool is_weight = !view.shape.empty() && !name.ends_with("_scale");
    if (!is_weight || name.starts_with("decoder/projection/")) continue;
    at::Tensor tensor = tensor_on(view, reader.file());
    const auto scale = reader.tensors().find(name + "_scale");
    if (scale != reader.tensors().end()) {
      tensor = without_scale(tensor, tensor_on(scale->second, reader.file()), name, file);
    }
    add_ctranslate2(read, renamed(name, kFromCtranslate2), tensor, file);
  }
  return read;
}

// --- All forms ------------------------------------------------------------------------------

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

void expect_linear(Shapes& shapes, const std::string& name, std::int64_t out, std::int64_t in,
                   bool has_bias = true) {
  shapes[name + ".weight"] = {out, in};
  if (has_bias) shapes[name + ".bias"] = {out};
}

void expect_norm(Shapes& shapes, const std::string& name, std::int64_t width) {
  shapes[name + ".weight"] = {width};
  shapes[name + ".bias"] = {width};
}

void expect_attention(Shapes& shapes, const std::string& name, std::int64_t width) {
  for (const char* part : {".query", ".value", ".out"}) {
    expect_linear(shapes, name + part, width, width);
  }
  expect_linear(shapes, name + ".key", width, width, false);
  expect_norm(shapes, name + "_ln", width);
}

void expect_block(Shapes& shapes, const std::string& name, std::int64_t width, bool reads_sound) {
  expect_attention(shapes, name + "attn", width);
  if (reads_sound) expect_attention(shapes, name + "cross_attn", width);
  expect_linear(shapes, name + "mlp.0", 4 * width, width);
  expect_linear(shapes, name + "mlp.2", width, 4 * width);
  expect_norm(shapes, name + "mlp_ln", width);
}

Shapes shapes_of(const WhisperSizes& sizes) {
  const auto width = sizes.width;
  Shapes shapes;
  shapes["encoder.conv1.weight"] = {width, sizes.bands, 3};
  shapes["encoder.conv1.bias"] = {width};
  shapes["encoder.conv2.weight"] = {width, width, 3};
  shapes["encoder.conv2.bias"] = {width};
  shapes["encoder.positional_embedding"] = {sizes.audio_context, width};
  shapes["decoder.positional_embedding"] = {sizes.text_context, width};
  shapes["decoder.token_embedding.weight"] = {sizes.tokens, width};
  expect_norm(shapes, "encoder.ln_post", width);
  expect_norm(shapes, "decoder.ln", width);
  for (std::int64_t i = 0; i < sizes.audio_layers; ++i) {
    expect_block(shapes, fmt::format("encoder.blocks.{}.", i), width, false);
  }
  for (std::int64_t i = 0; i < sizes.text_layers; ++i) {
    expect_block(shapes, fmt::format("decoder.blocks.{}.", i), width, true);
  }
  return shapes;
}

std::int64_t layers_in(const NamedTensors& tensors, std::string_view side) {
  std::int64_t count = 0;
  while (count < kMostLayers &&
         tensors.contains(fmt::format("{}.blocks.{}.mlp_ln.weight", side, count))) {
    ++count;
  }
  return count;
}

// They follow from the tensors, but for the heads.
WhisperSizes sizes_of(const Read& read, const fs::path& file) {
  const auto dimension = [&](const char* name, std::int64_t rank, std::int64_t axis) {
    const auto found = read.tensors.find(name);
    if (found == read.tensors.end() || found->second.dim() != rank) {
      throw DataError(fmt::format("{} lacks the tensor {} of a Whisper.", file.string(), name));
    }
    return found->second.size(axis);
  };
  const WhisperSizes sizes{.bands = dimension("encoder.conv1.weight", 3, 1),
                           .audio_context = dimension("encoder.positional_embedding", 2, 0),
                           .width = dimension("encoder.conv1.weight", 3, 0),
                           .audio_heads = read.audio_heads,
                           .audio_layers = layers_in(read.tensors, "encoder"),
                           .tokens = dimension("decoder.token_embedding.weight", 2, 0),
                           .text_context = dimension("decoder.positional_embedding", 2, 0),
                           .text_heads = read.text_heads,
                           .text_layers = layers_in(read.tensors, "decoder")};
  for (const std::int64_t heads : {sizes.audio_heads, sizes.text_heads}) {
    if (heads < 1 || sizes.width < 1 || sizes.width % heads != 0) {
      throw DataError(fmt::format("{} divides a width of {} among {} heads.", file.string(),
                                  sizes.width, heads));
    }
  }
  constexpr std::int64_t kFewestTokensRead = 8;
  if (sizes.bands < 1 || sizes.audio_context < 1 || sizes.text_context < kFewestTokensRead) {
    throw DataError(fmt::format("{} has sizes that no Whisper has.", file.string()));
  }
  return sizes;
}

void require_shapes(const NamedTensors& tensors, const WhisperSizes& sizes, const fs::path& file) {
  for (const auto& [name, shape] : shapes_of(sizes)) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      throw DataError(fmt::format("{} lacks the tensor {} of a Whisper.", file.string(), name));
    }
    const at::Tensor& tensor = found->second;
    if (tensor.sizes() != shape || !tensor.is_floating_point()) {
      throw DataError(fmt::format("{}: {} is {} and not floating-point numbers {}.", file.string(),
                                  name, describe_shape(tensor.sizes().vec()),
                                  describe_shape(shape)));
    }
    require_finite(name, tensor, file);
  }
}

// The one file of OpenAI in a folder; nothing: there is none.
std::optional<fs::path> openai_file(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    if (entry.path().extension() == ".pt") found.push_back(entry.path());
  }
  if (found.size() > 1) {
    std::ranges::sort(found);
    throw DataError(fmt::format("{} holds {} files .pt; name one, as in {}.", folder.string(),
                                found.size(), found.front().string()));
  }
  return found.empty() ? std::nullopt : std::optional(found.front());
}

// The file that says which form it is.
fs::path file_of(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw DataError(fmt::format("There is no Whisper model {}. {}.", path.string(), kForms));
  }
  if (!fs::is_directory(path, error)) return path;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "model.bin"}) {
    if (has(path / name)) return path / name;
  }
  if (const auto file = openai_file(path)) return *file;
  throw DataError(fmt::format("{} holds no Whisper. {}.", path.string(), kForms));
}

Read read_form(const fs::path& file) {
  const std::string name = file.filename().string();
  const fs::path folder = file.parent_path();
  if (name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json")) {
    return read_hugging_face(folder);
  }
  if (file.extension() == ".bin") return read_ctranslate2(file);
  if (file.extension() == ".pt") return read_openai(file);
  throw DataError(fmt::format("{} is no file of a Whisper. {}.", file.string(), kForms));
}

}  // namespace

WhisperFiles open_whisper(const fs::path& path) {
  const fs::path file = file_of(path);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  Read read = read_form(file);
  const WhisperSizes sizes = sizes_of(read, file);
  require_shapes(read.tensors, sizes, file);
  auto heads = heads_in(folder / "generation_config.json");
  if (heads.empty()) heads = heads_in(folder / "config.json");
  for (const auto& [layer, head] : heads) {
    if (layer < 0 || layer >= sizes.text_layers || head < 0 || head >= sizes.text_heads) {
      throw DataError(fmt::format("{} names a head {} of layer {}, which the decoder lacks.",
                                  folder.string(), head, layer));
    }
  }
  return {.file = file,
          .sizes = sizes,
          .tensors = std::move(read.tensors),
          .vocabulary = WhisperVocabulary::find(folder, sizes.tokens, file.string()),
          .following_heads = std::move(heads)};
}

}  // namespace myxtts
