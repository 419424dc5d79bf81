// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "support/temporary_folder.h"

namespace myxtts::test {

// tests/support/model_server.py over a folder of files, until the end of the scope.
class ModelServer {
 public:
  // With a certificate and its key in one file it speaks https.
  explicit ModelServer(const std::filesystem::path& files,
                       const std::filesystem::path& certificate = {})
      : scheme_(certificate.empty() ? "http" : "https"),
        process_(command(files, folder_ / "port", certificate)) {
    while (!std::filesystem::exists(folder_ / "port")) {
      if (process_.wait_for(std::chrono::milliseconds(5))) {
        throw std::runtime_error("model_server.py does not start");
      }
    }
    std::ifstream(folder_ / "port") >> port_;
  }
  ~ModelServer() { process_.send(SIGKILL); }

  std::string url() const { return scheme_ + "://127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }

 private:
  static std::vector<std::string> command(const std::filesystem::path& files,
                                          const std::filesystem::path& port,
                                          const std::filesystem::path& certificate) {
    const std::string tests = std::getenv("MYXTTS_TEST_DATA");
    std::vector<std::string> words{"python3", tests + "/support/model_server.py", files, port};
    if (!certificate.empty()) words.push_back(certificate);
    return words;
  }

  TemporaryFolder folder_;
  const std::string scheme_;
  ChildProcess process_;
  int port_ = 0;
};

}  // namespace myxtts::test
