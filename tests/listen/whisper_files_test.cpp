// SPDX-License-Identifier: Apache-2.0
#include "listen/whisper_files.h"

#include <fstream>

#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include "base/error.h"
#include "listen/tiny_whisper.h"
#include "support/golden.h"
#include "support/temporary_folder.h"
#include "weights/tensor_files.h"

namespace myxtts::test::whisper_files_test {
namespace {

namespace fs = std::filesystem;

std::string refusal(const fs::path& path) {
  try {
    open_whisper(path);
  } catch (const DataError& error) {
    return error.what();
  }
  return "opened";
}

bool has_words(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

// Largest difference of any tensor.
double difference(const WhisperFiles& a, const WhisperFiles& b) {
  double most = 0;
  for (const auto& [name, tensor] : a.tensors) {
    most = std::max(most,
                    max_abs_difference(tensor.to(at::kFloat), b.tensors.at(name).to(at::kFloat)));
  }
  return most;
}

TEST(WhisperFiles, AllFormsOfOneModelAreOneModel) {
  const WhisperFiles openai = open_whisper(tiny_whisper());
  EXPECT_EQ(openai.sizes, (WhisperSizes{.bands = 80,
                                        .audio_context = 100,
                                        .width = 32,
                                        .audio_heads = 4,
                                        .audio_layers = 2,
                                        .tokens = 1888,
                                        .text_context = 40,
                                        .text_heads = 2,
                                        .text_layers = 2}));
  const TemporaryFolder folder;
  write_hugging_face(folder / "hf", openai);
  write_hugging_face(folder / "parts", openai, true);
  write_ctranslate2(folder / "fp32", openai, Ct2Numbers::Float32);
  write_ctranslate2(folder / "fp16", openai, Ct2Numbers::Float16);
  for (const char* form : {"hf", "parts", "fp32", "fp16"}) {
    const WhisperFiles files = open_whisper(folder / form);
    EXPECT_EQ(files.sizes, openai.sizes) << form;
    EXPECT_EQ(difference(openai, files), 0.0) << form;
    EXPECT_EQ(files.vocabulary.never_said(), openai.vocabulary.never_said()) << form;
    EXPECT_EQ(files.vocabulary.encode(" and the thing"),
              openai.vocabulary.encode(" and the thing"));
  }
  write_ctranslate2(folder / "int8", openai, Ct2Numbers::Int8);
  const double rounding = difference(openai, open_whisper(folder / "int8"));
  EXPECT_GT(rounding, 0.0);
  EXPECT_LT(rounding, 0.02);
}

TEST(WhisperFiles, AFileOfAFormIsAsGoodAsItsFolder) {
  EXPECT_EQ(open_whisper(tiny_whisper() / "tiny.pt").sizes.tokens, 1888);
}

TEST(WhisperFiles, HeadsThatFollowTheSoundAreReadWhereFilesNameThem) {
  const WhisperFiles openai = open_whisper(tiny_whisper());
  EXPECT_TRUE(openai.following_heads.empty());
  const TemporaryFolder folder;
  write_hugging_face(folder / "hf", openai);
  EXPECT_EQ(open_whisper(folder / "hf").following_heads, (std::vector<WhisperHead>{{1, 0}}));
  std::ofstream(folder / "hf/generation_config.json") << R"({"alignment_heads": [[7, 0]]})";
  EXPECT_TRUE(has_words(refusal(folder / "hf"), "head 0 of layer 7"));
}

TEST(WhisperFiles, WhatIsNoModelIsRefusedWithTheThreeForms) {
  const TemporaryFolder folder;
  for (const fs::path& path : {folder.path(), folder / "nowhere"}) {
    const std::string sentence = refusal(path);
    for (const char* form : {"base.pt", "model.safetensors", "model.bin"}) {
      EXPECT_TRUE(has_words(sentence, form)) << sentence;
    }
  }
  std::ofstream(folder / "model.bin") << "no model";
  EXPECT_TRUE(has_words(refusal(folder.path()), "is no model.bin of CTranslate2"));
  fs::remove(folder / "model.bin");
  std::ofstream(folder / "base.pt") << "no archive";
  EXPECT_TRUE(has_words(refusal(folder.path()), "base.pt"));
  std::ofstream(folder / "tiny.pt") << "another";
  EXPECT_TRUE(has_words(refusal(folder.path()), "2 files .pt"));
}

TEST(WhisperFiles, AVocabularyThatIsMissingIsAskedForByName) {
  const TemporaryFolder folder;
  fs::copy_file(tiny_whisper() / "tiny.pt", folder / "tiny.pt");
  const std::string sentence = refusal(folder.path());
  EXPECT_TRUE(has_words(sentence, "multilingual.tiktoken")) << sentence;
  EXPECT_TRUE(has_words(sentence, "tokenizer.json")) << sentence;
}

TEST(WhisperFiles, AVocabularyOfAnotherModelIsRefused) {
  const TemporaryFolder folder;
  fs::copy_file(tiny_whisper() / "tiny.pt", folder / "tiny.pt");
  const std::string lines = contents_of(tiny_whisper() / "multilingual.tiktoken");
  std::ofstream(folder / "multilingual.tiktoken") << lines << "cXE= 280\ncXFx 281\n";
  EXPECT_TRUE(has_words(refusal(folder.path()), "vocabulary of another model"));
  std::ofstream(folder / "multilingual.tiktoken") << "not a token\n";
  EXPECT_TRUE(has_words(refusal(folder.path()), "is no token"));
  std::ofstream(folder / "vocabulary.json") << "[1, 2]";
  EXPECT_TRUE(has_words(refusal(folder.path()), "is no vocabulary of Whisper"));
}

TEST(WhisperFiles, ATensorThatIsMissingMisshapenOrNotFiniteIsNamed) {
  const WhisperFiles openai = open_whisper(tiny_whisper());
  const TemporaryFolder folder;
  const std::string name = "decoder.blocks.1.cross_attn.key.weight";
  const auto refused_with = [&](const at::Tensor& tensor) {
    WhisperFiles changed = openai;
    changed.tensors.erase(name);
    if (tensor.defined()) changed.tensors[name] = tensor;
    write_hugging_face(folder / "hf", changed);
    return refusal(folder / "hf");
  };
  EXPECT_TRUE(has_words(refused_with({}), "lacks the tensor " + name));
  EXPECT_TRUE(has_words(refused_with(at::zeros({32, 16})), name + " is [32, 16]"));
  EXPECT_TRUE(has_words(refused_with(at::full({32, 32}, NAN)), name));
  EXPECT_EQ(refused_with(at::zeros({32, 32})), "opened");
}

TEST(WhisperFiles, AnIndexThatLeadsElsewhereIsRefused) {
  const WhisperFiles openai = open_whisper(tiny_whisper());
  const TemporaryFolder folder;
  write_hugging_face(folder / "hf", openai, true);
  std::ofstream(folder / "hf/model.safetensors.index.json")
      << R"({"weight_map": {"a": "../../etc/passwd"}})";
  EXPECT_TRUE(has_words(refusal(folder / "hf"), "names no file for a"));
}

}  // namespace
}  // namespace myxtts::test::whisper_files_test
