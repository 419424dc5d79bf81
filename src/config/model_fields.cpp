// SPDX-License-Identifier: Apache-2.0
#include "config/model_json.h"

#include <array>

namespace myxtts {
namespace {

constexpr std::int64_t kMostLayers = 1000;
constexpr std::int64_t kMost = 1'000'000;

// The shortest way to name a member of a nested struct at compile time.
template <auto Part, auto Member>
std::int64_t& in(ModelConfig& config) {
  return config.*Part.*Member;
}
template <auto Part, auto Member>
std::int64_t* number(ModelConfig& config) {
  return &(config.*Part.*Member);
}
template <auto Part, auto Member>
std::vector<std::int64_t>* list(ModelConfig& config) {
  return &(config.*Part.*Member);
}

constexpr auto kGpt = &ModelConfig::gpt;
constexpr auto kDvae = &ModelConfig::dvae;
constexpr auto kDecoder = &ModelConfig::decoder;
constexpr auto kSpeaker = &ModelConfig::speaker_encoder;

constexpr std::array kArguments = {
    ArgumentField{"gpt_layers", "gpt.layers", 30, kMostLayers, in<kGpt, &GptConfig::layers>},
    ArgumentField{"gpt_n_model_channels", "gpt.width", 1024, kMost, in<kGpt, &GptConfig::width>},
    ArgumentField{"gpt_n_heads", "gpt.heads", 16, kMost, in<kGpt, &GptConfig::heads>},
    ArgumentField{"gpt_max_audio_tokens", "gpt.max_audio_tokens", 605, kMost,
                  in<kGpt, &GptConfig::max_audio_tokens>},
    ArgumentField{"gpt_max_text_tokens", "gpt.max_text_tokens", 402, kMost,
                  in<kGpt, &GptConfig::max_text_tokens>},
    ArgumentField{"gpt_max_prompt_tokens", "gpt.max_prompt_tokens", 70, kMost,
                  in<kGpt, &GptConfig::max_prompt_tokens>},
    ArgumentField{"gpt_num_audio_tokens", "gpt.audio_ids", 8194, kMost,
                  in<kGpt, &GptConfig::audio_ids>},
    ArgumentField{"gpt_start_audio_token", "gpt.start_audio", 8192, kMost,
                  in<kGpt, &GptConfig::start_audio>},
    ArgumentField{"gpt_stop_audio_token", "gpt.stop_audio", 8193, kMost,
                  in<kGpt, &GptConfig::stop_audio>},
    ArgumentField{"gpt_code_stride_len", "gpt.code_stride", 1024, kMost,
                  in<kGpt, &GptConfig::code_stride>},
    ArgumentField{"input_sample_rate", "decoder.input_sample_rate", 22050, kMost,
                  in<kDecoder, &DecoderConfig::input_sample_rate>},
    ArgumentField{"output_sample_rate", "decoder.output_sample_rate", 24000, kMost,
                  in<kDecoder, &DecoderConfig::output_sample_rate>},
    ArgumentField{"output_hop_length", "decoder.output_hop", 256, kMost,
                  in<kDecoder, &DecoderConfig::output_hop>},
    ArgumentField{"decoder_input_dim", "decoder.input_dim", 1024, kMost,
                  in<kDecoder, &DecoderConfig::input_dim>},
    ArgumentField{"d_vector_dim", "decoder.speaker_dim", 512, kMost,
                  in<kDecoder, &DecoderConfig::speaker_dim>},
};

constexpr std::array kNetworks = {
    NetworkField{"dvae", "hidden", number<kDvae, &DvaeConfig::hidden>, nullptr},
    NetworkField{"dvae", "channels", number<kDvae, &DvaeConfig::channels>, nullptr},
    NetworkField{"dvae", "codebook_dim", number<kDvae, &DvaeConfig::codebook_dim>, nullptr},
    NetworkField{"dvae", "blocks", number<kDvae, &DvaeConfig::blocks>, nullptr},
    NetworkField{"decoder", "initial_channels", number<kDecoder, &DecoderConfig::initial_channels>,
                 nullptr},
    NetworkField{"decoder", "upsample_rates", nullptr,
                 list<kDecoder, &DecoderConfig::upsample_rates>},
    NetworkField{"decoder", "upsample_kernels", nullptr,
                 list<kDecoder, &DecoderConfig::upsample_kernels>},
    NetworkField{"decoder", "resblock_kernels", nullptr,
                 list<kDecoder, &DecoderConfig::resblock_kernels>},
    NetworkField{"decoder", "resblock_dilations", nullptr,
                 list<kDecoder, &DecoderConfig::resblock_dilations>},
    NetworkField{"speaker_encoder", "layers", nullptr,
                 list<kSpeaker, &SpeakerEncoderConfig::layers>},
    NetworkField{"speaker_encoder", "filters", nullptr,
                 list<kSpeaker, &SpeakerEncoderConfig::filters>},
    NetworkField{"speaker_encoder", "attention_dim",
                 number<kSpeaker, &SpeakerEncoderConfig::attention_dim>, nullptr},
};

}  // namespace

std::span<const ArgumentField> argument_fields() {
  return kArguments;
}
std::span<const NetworkField> network_fields() {
  return kNetworks;
}

}  // namespace myxtts
