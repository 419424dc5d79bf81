// SPDX-License-Identifier: Apache-2.0
#include "config/model_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace myxtts::test::model_json_test {
namespace {

// The fields of the public file that matter, with its bare words.
constexpr const char* kPublic = R"({
  "model": "xtts",
  "max_audio_len": Infinity, "floor": -Infinity, "odd": NaN,
  "note": "Infinity \" and NaN stay in texts",
  "model_args": {
    "gpt_layers": 30, "gpt_n_model_channels": 1024, "gpt_n_heads": 16,
    "gpt_max_audio_tokens": 605, "gpt_max_text_tokens": 402, "gpt_max_prompt_tokens": 70,
    "gpt_number_text_tokens": 6681, "gpt_start_text_token": null, "gpt_stop_text_token": null,
    "gpt_num_audio_tokens": 1026, "gpt_start_audio_token": 1024, "gpt_stop_audio_token": 1025,
    "gpt_use_perceiver_resampler": true, "decoder_input_dim": 1024, "d_vector_dim": 512
  },
  "gpt_cond_len": 30, "gpt_cond_chunk_len": 4, "max_ref_len": 30
})";

std::string refusal(const std::string& json) {
  try {
    parse_model_config(json, "x/config.json");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(ModelJson, ThePublicFileGivesThePublicSizes) {
  EXPECT_EQ(parse_model_config(kPublic, "x"), model_preset("xtts-v2"));
  const ReferenceConfig reference = parse_reference_config(kPublic, "x");
  EXPECT_EQ(reference.max_ref_len, 30.0);
  EXPECT_EQ(reference.gpt_cond_len, 30.0);
  EXPECT_EQ(reference.gpt_cond_chunk_len, 4.0);
}

TEST(ModelJson, AMissingFieldTakesThePeersDefaultAndNotThePublicValue) {
  const auto json = replaced(
      kPublic,
      R"("gpt_num_audio_tokens": 1026, "gpt_start_audio_token": 1024, "gpt_stop_audio_token": 1025,)",
      "");
  const ModelConfig config = parse_model_config(json, "x");
  EXPECT_EQ(config.gpt.audio_ids, 8194);
  EXPECT_EQ(config.gpt.stop_audio, 8193);
  EXPECT_EQ(config.dvae.codes, 8192);
  EXPECT_EQ(parse_reference_config("{}", "x"), ReferenceConfig{});
}

TEST(ModelJson, EverySizeComesBackFromItsOwnFile) {
  for (const auto name : model_preset_names()) {
    const ModelConfig config = model_preset(name);
    EXPECT_EQ(parse_model_config(print_model_config(config), "x"), config) << name;
  }
}

TEST(ModelJson, TheVocabularyHasTheLastWordOnTextIds) {
  const auto json = with_text_ids(kPublic, {.count = 7000, .start = 5, .stop = 9}, "x");
  const ModelConfig config = parse_model_config(json, "x");
  EXPECT_EQ(config.gpt.text_ids, 7000);
  EXPECT_EQ(config.gpt.start_text, 5);
  EXPECT_EQ(config.gpt.stop_text, 9);
}

TEST(ModelJson, TextIdsReplaceNumbersOfThePublicPartButNoNulls) {
  const TextIds ids = {.count = 7000, .start = 5, .stop = 9};
  const std::string made = print_model_config(model_preset("tiny"));
  const auto json = nlohmann::json::parse(public_config(with_text_ids(made, ids, "x"), "x"));
  EXPECT_EQ(json["model_args"]["gpt_number_text_tokens"], 7000);
  EXPECT_EQ(json["model_args"]["gpt_start_text_token"], 5);
  EXPECT_EQ(json["model_args"]["gpt_stop_text_token"], 9);
  const std::string nulls = R"({"model_args": {"gpt_number_text_tokens": null}})";
  const auto kept = nlohmann::json::parse(with_text_ids(nulls, ids, "x"));
  EXPECT_TRUE(kept["model_args"]["gpt_number_text_tokens"].is_null());
  EXPECT_EQ(kept["model_args"].size(), 1U);
}

TEST(ModelJson, OursIsStrictJsonAndGoesBackToThePublicContent) {
  auto json = with_text_ids(kPublic, {.count = 6681, .start = 261, .stop = 0}, "x");
  json = with_licence(json, {.name = "CPML", .file = "LICENSE.txt", .accepted = true}, "x");
  EXPECT_TRUE(nlohmann::json::accept(json));
  const Licence licence = parse_licence(json, "x");
  EXPECT_EQ(licence.name, "CPML");
  EXPECT_EQ(licence.file, "LICENSE.txt");
  EXPECT_TRUE(licence.accepted);

  const std::string back = public_config(json, "x");
  EXPECT_NE(back.find("\"max_audio_len\": Infinity,"), std::string::npos) << back;
  EXPECT_NE(back.find("\"floor\": -Infinity,"), std::string::npos) << back;
  EXPECT_NE(back.find("\"odd\": NaN,"), std::string::npos) << back;
  EXPECT_NE(back.find(R"("Infinity \" and NaN stay in texts")"), std::string::npos) << back;
  EXPECT_EQ(back.find("myxtts"), std::string::npos) << back;
}

TEST(ModelJson, AnotherArchitectureIsRefusedByItsSwitch) {
  EXPECT_NE(refusal(replaced(kPublic, "\"gpt_use_perceiver_resampler\": true", "\"a\": 1"))
                .find("gpt_use_perceiver_resampler"),
            std::string::npos);
}

TEST(ModelJson, DamagedAndHostileFilesAreRefusedWithTheFieldAtFault) {
  for (const char* layers : {"-1", "1000000000000", "2.5", "\"30\"", "[]", "true", "1e400"}) {
    const auto message =
        refusal(replaced(kPublic, "\"gpt_layers\": 30", std::string("\"gpt_layers\": ") + layers));
    EXPECT_NE(message, "") << layers;
  }
  EXPECT_NE(
      refusal(replaced(kPublic, "\"gpt_n_heads\": 16", "\"gpt_n_heads\": 7")).find("gpt.heads"),
      std::string::npos);
  EXPECT_NE(refusal(""), "");
  EXPECT_NE(refusal("[]"), "");
  EXPECT_NE(refusal("{\"model_args\": 3}"), "");
  EXPECT_NE(refusal(std::string(100000, '[')), "");
  EXPECT_NE(refusal("{\"a\":" + std::string(200, '[') + std::string(200, ']') + "}"), "");
}

TEST(ModelJson, OurFieldsAreNamedAsTheFileNamesThem) {
  EXPECT_EQ(config_json_name("gpt.width"), "model_args.gpt_n_model_channels");
  EXPECT_EQ(config_json_name("dvae.hidden"), "dvae.hidden");
  EXPECT_NE(config_json_name("gpt.text_ids").find("vocab.json"), std::string::npos);
}

}  // namespace
}  // namespace myxtts::test::model_json_test
