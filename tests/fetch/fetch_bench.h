// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "fetch/model_hub.h"
#include "support/model_server.h"
#include "support/temporary_folder.h"

namespace myxtts::test {

// A server for all tests of a suite, over small files in the public layout, and a folder for each
// test. What takes minutes in earnest takes milliseconds here.
class FetchBench : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kModelBytes = 300'000;

  static void SetUpTestSuite() {
    files_ = std::make_unique<TemporaryFolder>();
    write("LICENSE.txt", "Some Model License 1.0\nYou may not.\n");
    write("config.json", R"({"model_args": {}})");
    write("vocab.json", "{}");
    std::string model;
    for (std::uint32_t state = 1; model.size() < kModelBytes;
         state = state * 1664525 + 1013904223) {
      model += static_cast<char>(state >> 24U);
    }
    write("model.pth", model);
    server_ = std::make_unique<ModelServer>(files_->path());
  }
  static void TearDownTestSuite() {
    server_.reset();
    files_.reset();
  }

  static void write(const std::string& name, const std::string& text) {
    std::ofstream(*files_ / name, std::ios::binary) << text;
  }

  static HttpSettings quick() {
    return {.connections = 3,
            .piece_bytes = 64U << 10U,
            .tries = 4,
            .first_wait = std::chrono::milliseconds(1),
            .stall = std::chrono::seconds(1)};
  }

  // Everything of the repository FAULT/NAME, NAME being that of the test.
  void pull(const std::string& fault, const HttpSettings& settings = quick()) {
    const HubModel model{.name = "m", .repository = repository(fault), .revision = "main"};
    HttpClient client(settings);
    const auto files = list_files(client, server_->url(), model);
    fetch_files(client, model, files, folder_.path());
  }

  static std::string repository(const std::string& fault) {
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    return fault + "/" + test.substr(0, test.find('/'));
  }

  // The sentence that it ended with; empty: it went well.
  std::string sentence_of(const std::string& fault, const HttpSettings& settings = quick()) {
    try {
      pull(fault, settings);
      return {};
    } catch (const DataError& error) {
      return error.what();
    }
  }

  bool is_whole(const std::string& name = "model.pth") const {
    return std::filesystem::exists(folder_ / name) &&
           contents_of(folder_ / name) == contents_of(*files_ / name);
  }

  // What the server was asked of the repository.
  static std::vector<nlohmann::json> requests(const std::string& fault) {
    HttpClient client(quick());
    std::vector<nlohmann::json> found;
    std::istringstream lines(client.text(server_->url() + "/log", 64U << 20U));
    for (std::string line; std::getline(lines, line);) {
      if (line.find(repository(fault) + "/") == std::string::npos) continue;
      found.push_back(nlohmann::json::parse(line));
    }
    return found;
  }

  static std::unique_ptr<TemporaryFolder> files_;
  static std::unique_ptr<ModelServer> server_;
  TemporaryFolder folder_;
};

inline std::unique_ptr<TemporaryFolder> FetchBench::files_;
inline std::unique_ptr<ModelServer> FetchBench::server_;

}  // namespace myxtts::test
