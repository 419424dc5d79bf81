// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "model/network_specs.h"
#include "support/small_networks.h"

namespace myxtts::test::network_specs_test {
namespace {

// One line as tests/golden/networks/names.txt has it.
std::string line_of(const std::string& network, const TensorSpec& spec) {
  std::string line =
      network + " " + spec.name + (spec.role == TensorRole::Counter ? " i64" : " f32");
  for (const auto size : spec.shape) line += " " + std::to_string(size);
  return line;
}

std::vector<std::string> golden_lines(const std::string& network) {
  const std::filesystem::path tests = std::getenv("MYXTTS_TEST_DATA");
  std::ifstream file(tests / "golden/networks/names.txt");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(network + " ")) lines.push_back(line);
  }
  return lines;
}

void expect_golden(const std::string& network, const TensorSpecs& specs, std::size_t count) {
  std::vector<std::string> lines;
  for (const auto& spec : specs) lines.push_back(line_of(network, spec));
  auto expected = golden_lines(network);
  std::ranges::sort(lines);
  std::ranges::sort(expected);
  EXPECT_EQ(lines, expected);
  EXPECT_EQ(lines.size(), count);
}

TEST(NetworkSpecs, ThePublicDvaesNamesAndShapesEqualTheGolden) {
  expect_golden("public dvae", dvae_specs({}), 56);
}

TEST(NetworkSpecs, ThePublicDecodersNamesAndShapesEqualTheGolden) {
  expect_golden("public decoder", decoder_specs({}), 241);
}

TEST(NetworkSpecs, ThePublicSpeakerEncodersNamesAndShapesEqualTheGolden) {
  expect_golden("public speaker_encoder", speaker_encoder_specs({}), 295);
}

TEST(NetworkSpecs, SmallNetworksNamesAndShapesEqualTheGolden) {
  expect_golden("small dvae", dvae_specs(small_dvae()), 44);
  expect_golden("small decoder", decoder_specs(small_decoder()), 241);
  expect_golden("small speaker_encoder", speaker_encoder_specs(small_speaker_encoder()), 119);
}

}  // namespace
}  // namespace myxtts::test::network_specs_test
