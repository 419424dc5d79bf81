// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "fetch/fetch_bench.h"

namespace myxtts::test::fetch_faults_test {
namespace {

namespace fs = std::filesystem;

// What a server may do, and how it ends: whole, or with words of one sentence.
struct Fault {
  const char* name;
  const char* says;  // empty: all files are there in the end
};

constexpr Fault kFaults[] = {
    {"none", ""},
    {"redirect-1", ""},
    {"redirect-5", ""},
    {"redirect-6", "redirects in a circle, or more than 5 times"},
    {"redirect-host", ""},
    {"redirect-port", ""},
    {"redirect-loop", "redirects in a circle"},
    {"redirect-file", "not one of HTTPS"},
    {"redirect-nowhere", "no address for nowhere.invalid"},
    {"linked", ""},
    {"linked-other-size", "bytes where it was announced with"},
    {"linked-other-sum", "wrong bytes"},
    {"status-401", "HF_TOKEN"},
    {"status-403", "HF_TOKEN"},
    {"gated", "HF_TOKEN"},
    {"status-404", "Check the name"},
    {"status-410", "answers with 410"},
    {"status-416", "answers with 416"},
    {"api-status-401", "HF_TOKEN"},
    {"api-status-404", "Check the name"},
    {"api-no-revision", "has no revision main"},
    {"api-status-503-once", ""},
    {"api-hang-up-once", "broke off"},  // nothing was heard of this server before
    {"api-garbage", "broke off"},
    {"status-429-once", ""},
    {"status-429", "too many requests"},
    {"status-429-after-3600", "asks to wait 1 h 00 min"},
    {"status-500-once", ""},
    {"status-500", "cannot answer now (500)"},
    {"model-status-503-after-1-once", ""},
    {"status-503", "cannot answer now (503)"},
    {"hang-up-once", ""},
    {"hang-up", "broke off"},
    {"garbage-once", ""},
    {"break-off", ""},  // each time after half of what is asked for
    {"model-stall-once", ""},
    {"length-too-long-once", ""},
    {"length-too-short-once", ""},
    {"length-too-short", ""},
    {"no-ranges", ""},
    {"no-ranges-break-off", "broke off"},
    {"ranges-only-of-one-byte", "something else than was asked for"},
    {"other-range", "something else than was asked for"},
    {"more-than-asked", "something else than was asked for"},
    {"range-other-size", "bytes where it was announced with"},
    {"wrong-bytes-once", ""},
    {"wrong-bytes", "wrong bytes"},
    {"changes-always", "changed"},
    {"no-names", ""},
    {"list-names-only", ""},
    {"list-odd-types", ""},
    {"list-other-size", "bytes where it was announced with"},
    {"list-other-sum", "wrong bytes"},
    {"list-other-blob", "config.json"},
    {"list-huge-size", "which cannot be"},
    {"list-without-model", "has no model.pth"},
    {"list-hostile-names", ""},
    {"list-hostile-commit", ""},
    {"list-cut", "does not answer as a hub does"},
    {"list-html", "does not answer as a hub does"},
    {"list-empty", "does not answer as a hub does"},
    {"list-deep", "does not answer as a hub does"},
    {"list-number", "does not answer as a hub does"},
    {"list-no-siblings", "does not answer as a hub does"},
    {"list-large", "answers with more than"},
};

class FetchFaults : public FetchBench, public ::testing::WithParamInterface<Fault> {};

TEST_P(FetchFaults, EndsWholeOrWithASentenceAndNeverWithWrongBytes) {
  const auto [name, says] = GetParam();
  const std::string sentence = sentence_of(name);
  if (*says == '\0') {
    EXPECT_EQ(sentence, "");
    for (const char* file : {"LICENSE.txt", "config.json", "vocab.json", "model.pth"}) {
      EXPECT_TRUE(is_whole(file)) << file;
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 4) << "no part is left";
  } else {
    EXPECT_NE(sentence.find(says), std::string::npos) << sentence;
    EXPECT_TRUE(sentence.ends_with('.')) << sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    EXPECT_TRUE(!fs::exists(folder_ / "model.pth") || is_whole()) << "a name is a promise";
  }
  EXPECT_FALSE(fs::exists(folder_.path().parent_path() / "evil"));
}

INSTANTIATE_TEST_SUITE_P(Every, FetchFaults, ::testing::ValuesIn(kFaults), [](const auto& fault) {
  std::string name = fault.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace myxtts::test::fetch_faults_test
