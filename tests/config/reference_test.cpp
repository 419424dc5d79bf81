// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "config/effective_config.h"
#include "support/temporary_file.h"

namespace myxtts::reference_test {
namespace {

std::string repository_file(const std::string& path) {
  const auto root = std::filesystem::path(std::getenv("MYXTTS_TEST_DATA")).parent_path();
  std::ifstream file(root / path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

TEST(Reference, ReadsBackAsTheDefaults) {
  const test::TemporaryFile file(print_reference());
  EXPECT_EQ(make_effective_config({.file = file.path()}).values, make_effective_config({}).values);
}

TEST(Reference, TheFileInConfigsIsWhatTheProgramPrints) {
  EXPECT_EQ(repository_file("configs/reference.yaml"), print_reference())
      << "Refresh it: myxtts config --format reference > configs/reference.yaml";
}

TEST(Reference, ThePageInDocsHoldsTheTablesTheProgramPrints) {
  const std::string page = repository_file("docs/reference/configuration.md");
  EXPECT_TRUE(page.starts_with("# Configuration\n")) << "The tables replaced the page around them.";
  EXPECT_NE(page.find(print_markdown()), std::string::npos)
      << "Refresh its tables with: myxtts config --format markdown";
}

}  // namespace
}  // namespace myxtts::reference_test
