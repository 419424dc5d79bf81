// SPDX-License-Identifier: Apache-2.0
#include "listen/tiny_whisper.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/formula_weights.h"
#include "text/unicode.h"
#include "weights/tensor_files.h"

namespace myxtts::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void write_text(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

std::string replaced(std::string name,
                     const std::vector<std::pair<std::string, std::string>>& table) {
  for (const auto& [from, to] : table) {
    const auto place = name.find(from);
    if (place != std::string::npos) name.replace(place, from.size(), to);
  }
  return name;
}

std::string hugging_face_name(const std::string& name) {
  return "model." + replaced(name, {{"blocks", "layers"},
                                    {"token_embedding", "embed_tokens"},
                                    {"positional_embedding", "embed_positions.weight"},
                                    {"cross_attn_ln", "encoder_attn_layer_norm"},
                                    {".attn_ln", ".self_attn_layer_norm"},
                                    {"mlp_ln", "final_layer_norm"},
                                    {"ln_post", "layer_norm"},
                                    {"decoder.ln", "decoder.layer_norm"},
                                    {"cross_attn.", "encoder_attn."},
                                    {".attn.", ".self_attn."},
                                    {"query", "q_proj"},
                                    {"key", "k_proj"},
                                    {"value", "v_proj"},
                                    {".out.", ".out_proj."},
                                    {"mlp.0", "fc1"},
                                    {"mlp.2", "fc2"}});
}

// Writes CTranslate2's file piece by piece.
class Ct2Writer {
 public:
  explicit Ct2Writer(Ct2Numbers numbers) : numbers_(numbers) {}

  // As the converters do: matrices in the type that was asked for, in int8 with a scale a row.
  void add(const std::string& name, const at::Tensor& tensor) {
    const auto fp32 = tensor.to(at::kFloat).contiguous();
    if (numbers_ == Ct2Numbers::Int8 && tensor.dim() == 2 && !name.ends_with("encodings")) {
      const auto scale = 127.0 / fp32.abs().amax(1);
      put(name, (fp32 * scale.unsqueeze(1)).round().to(at::kChar), 1);
      put(name + "_scale", scale, 0);
    } else if (numbers_ == Ct2Numbers::Float16) {
      put(name, fp32.to(at::kHalf), 4);
    } else {
      put(name, fp32, 0);
    }
  }
  void add_number(const std::string& name, std::int64_t value) {
    put(name, at::full({}, value, at::kShort), 2);
  }
  void finish(const fs::path& file) {
    std::string head;
    append<std::uint32_t>(head, 6);
    append_text(head, "WhisperSpec");
    append<std::uint32_t>(head, 3);
    append<std::uint32_t>(head, count_);
    append<std::uint32_t>(bytes_, 1);
    append_text(bytes_, "decoder/projection/weight");
    append_text(bytes_, "decoder/embeddings/weight");
    write_text(file, head + bytes_);
  }

 private:
  template <typename Number>
  static void append(std::string& to, Number number) {
    to.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  static void append_text(std::string& to, const std::string& text) {
    append(to, static_cast<std::uint16_t>(text.size() + 1));
    to.append(text.c_str(), text.size() + 1);
  }
  void put(const std::string& name, const at::Tensor& tensor, std::uint8_t type) {
    const auto dense = tensor.contiguous();
    append_text(bytes_, name);
    append(bytes_, static_cast<std::uint8_t>(dense.dim()));
    for (const auto size : dense.sizes()) append(bytes_, static_cast<std::uint32_t>(size));
    append(bytes_, type);
    append(bytes_, static_cast<std::uint32_t>(dense.nbytes()));
    bytes_.append(static_cast<const char*>(dense.const_data_ptr()), dense.nbytes());
    ++count_;
  }

  Ct2Numbers numbers_;
  std::uint32_t count_ = 0;
  std::string bytes_;
};

// Queries, keys and values as one layer, as CTranslate2 has them.
void add_joined(Ct2Writer& writer, const NamedTensors& tensors, const std::string& from,
                const std::vector<std::string>& parts, const std::string& to) {
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> biases;
  for (const std::string& part : parts) {
    weights.push_back(tensors.at(from + part + ".weight"));
    biases.push_back(part == "key" ? at::zeros_like(weights.back().select(1, 0))
                                   : tensors.at(from + part + ".bias"));
  }
  writer.add(to + "/weight", at::cat(weights));
  writer.add(to + "/bias", at::cat(biases));
}

void add_norm(Ct2Writer& writer, const NamedTensors& tensors, const std::string& from,
              const std::string& to) {
  writer.add(to + "/gamma", tensors.at(from + ".weight"));
  writer.add(to + "/beta", tensors.at(from + ".bias"));
}

void add_block(Ct2Writer& writer, const NamedTensors& tensors, const std::string& from,
               const std::string& to, bool reads_sound) {
  add_joined(writer, tensors, from + "attn.", {"query", "key", "value"},
             to + "self_attention/linear_0");
  add_joined(writer, tensors, from + "attn.", {"out"}, to + "self_attention/linear_1");
  add_norm(writer, tensors, from + "attn_ln", to + "self_attention/layer_norm");
  if (reads_sound) {
    add_joined(writer, tensors, from + "cross_attn.", {"query"}, to + "attention/linear_0");
    add_joined(writer, tensors, from + "cross_attn.", {"key", "value"}, to + "attention/linear_1");
    add_joined(writer, tensors, from + "cross_attn.", {"out"}, to + "attention/linear_2");
    add_norm(writer, tensors, from + "cross_attn_ln", to + "attention/layer_norm");
  }
  add_joined(writer, tensors, from + "mlp.", {"0"}, to + "ffn/linear_0");
  add_joined(writer, tensors, from + "mlp.", {"2"}, to + "ffn/linear_1");
  add_norm(writer, tensors, from + "mlp_ln", to + "ffn/layer_norm");
}

Json tokenizer_json(const WhisperFiles& files) {
  Json json = {{"model", {{"vocab", Json::object()}}}, {"added_tokens", Json::array()}};
  std::int64_t number = 0;
  for (const std::string& token : tiny_tokens(files)) {
    if (number < files.vocabulary.end_of_text) {
      json["model"]["vocab"][token] = number;
    } else if (number < files.vocabulary.first_time) {  // older files lack the times
      json["added_tokens"].push_back({{"id", number}, {"content", token}});
    }
    ++number;
  }
  return json;
}

}  // namespace

fs::path tiny_whisper() {
  return fs::path(std::getenv("MYXTTS_TEST_DATA")) / "golden" / "whisper";
}

std::vector<at::Tensor> tiny_clips() {
  const auto time = at::arange(32000, at::kFloat) / 32000;
  std::vector<at::Tensor> clips;
  for (int i = 0; i < 6; ++i) {
    const auto noise = formula_values(fmt::format("clip/{}", i), {32000});
    clips.push_back(noise * 0.1 * (i + 1) * (0.1 + time * (i % 3)));
  }
  return clips;
}

std::string in_byte_alphabet(const std::string& bytes) {
  std::string text;
  for (const char character : bytes) {
    const auto byte = static_cast<unsigned char>(character);
    char32_t shown = byte;
    if (byte <= 32) shown = 256U + byte;
    if (byte >= 127 && byte <= 160) shown = 256U + 33U + (byte - 127U);
    if (byte == 173) shown = 256U + 67U;
    append_code_point(text, shown);
  }
  return text;
}

std::vector<std::string> tiny_tokens(const WhisperFiles& files) {
  const WhisperVocabulary& vocabulary = files.vocabulary;
  std::vector<std::string> tokens;
  std::ifstream lines(tiny_whisper() / "multilingual.tiktoken");
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(in_byte_alphabet(std::string(1, static_cast<char>(byte))));
  }
  for (const char* pair : {" t", "he", " a", "in", "re",  " th",      " the",      "on",
                           " w", "er", "or", "an", "and", " s",       "ing",       " and",
                           "--", "((", " -", " (", "th",  "\xe2\x99", " \xe2\x99", "qqqq"}) {
    tokens.push_back(in_byte_alphabet(pair));
  }
  std::map<std::int64_t, std::string> names;
  for (const auto& [code, number] : vocabulary.languages()) {
    names[number] = fmt::format("<|{}|>", code);
  }
  names[vocabulary.end_of_text] = "<|endoftext|>";
  names[vocabulary.start] = "<|startoftranscript|>";
  names[vocabulary.translate] = "<|translate|>";
  names[vocabulary.transcribe] = "<|transcribe|>";
  names[vocabulary.start_of_lm] = "<|startoflm|>";
  names[vocabulary.start_of_previous] = "<|startofprev|>";
  names[vocabulary.no_speech] = "<|nospeech|>";
  names[vocabulary.no_times] = "<|notimestamps|>";
  for (const auto& [number, name] : names) tokens.push_back(name);
  for (int i = 0; i <= 1500; ++i) tokens.push_back(fmt::format("<|{:.2f}|>", i * 0.02));
  return tokens;
}

void write_hugging_face(const fs::path& folder, const WhisperFiles& files, bool in_parts) {
  fs::create_directories(folder);
  TensorsByName parts[2];
  Json map;
  std::size_t number = 0;
  for (const auto& [name, tensor] : files.tensors) {
    const std::size_t part = in_parts ? number++ % 2 : 0;
    parts[part][hugging_face_name(name)] = tensor;
    map[hugging_face_name(name)] = fmt::format("model-0000{}-of-00002.safetensors", part + 1);
  }
  if (in_parts) {
    write_tensors(folder / "model-00001-of-00002.safetensors", parts[0]);
    write_tensors(folder / "model-00002-of-00002.safetensors", parts[1]);
    write_text(folder / "model.safetensors.index.json", Json{{"weight_map", map}}.dump());
  } else {
    write_tensors(folder / "model.safetensors", parts[0]);
  }
  write_text(folder / "config.json", Json{{"encoder_attention_heads", files.sizes.audio_heads},
                                          {"decoder_attention_heads", files.sizes.text_heads}}
                                         .dump());
  write_text(folder / "generation_config.json",
             Json{{"alignment_heads", Json::array({Json::array({1, 0})})}}.dump());
  write_text(folder / "tokenizer.json", tokenizer_json(files).dump());
}

void write_ctranslate2(const fs::path& folder, const WhisperFiles& files, Ct2Numbers numbers) {
  const NamedTensors& tensors = files.tensors;
  Ct2Writer writer(numbers);
  for (const char* name : {"encoder/conv1", "encoder/conv2"}) {
    std::string from = name;
    from[from.find('/')] = '.';
    writer.add(std::string(name) + "/weight", tensors.at(from + ".weight"));
    writer.add(std::string(name) + "/bias", tensors.at(from + ".bias"));
  }
  for (const char* side : {"encoder", "decoder"}) {
    writer.add(fmt::format("{}/position_encodings/encodings", side),
               tensors.at(fmt::format("{}.positional_embedding", side)));
  }
  writer.add("decoder/embeddings/weight", tensors.at("decoder.token_embedding.weight"));
  add_norm(writer, tensors, "encoder.ln_post", "encoder/layer_norm");
  add_norm(writer, tensors, "decoder.ln", "decoder/layer_norm");
  for (std::int64_t i = 0; i < files.sizes.audio_layers; ++i) {
    add_block(writer, tensors, fmt::format("encoder.blocks.{}.", i),
              fmt::format("encoder/layer_{}/", i), false);
  }
  for (std::int64_t i = 0; i < files.sizes.text_layers; ++i) {
    add_block(writer, tensors, fmt::format("decoder.blocks.{}.", i),
              fmt::format("decoder/layer_{}/", i), true);
  }
  writer.add_number("encoder/num_heads", files.sizes.audio_heads);
  writer.add_number("decoder/num_heads", files.sizes.text_heads);
  writer.finish(folder / "model.bin");
  write_text(
      folder / "config.json",
      Json{{"alignment_heads", Json::array({Json::array({0, 1}), Json::array({1, 1})})}}.dump());
  write_text(folder / "vocabulary.json", Json(tiny_tokens(files)).dump());
}

}  // namespace myxtts::test
