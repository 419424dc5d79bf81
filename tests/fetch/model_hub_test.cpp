// SPDX-License-Identifier: Apache-2.0
#include "fetch/model_hub.h"

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/environment.h"

namespace myxtts::test::model_hub_test {
namespace {

TEST(ModelHub, ANameIsAKnownModelOrARepositoryWithARevision) {
  const HubModel known = parse_hub_model("xtts-v2");
  EXPECT_EQ(known.name, "xtts-v2");
  EXPECT_EQ(known.repository, "coqui/XTTS-v2");
  EXPECT_EQ(known.revision.size(), 40U) << "a commit, so that it stays what it is";
  const HubModel other = parse_hub_model("some-one/Their.Model_2@refs/pr/1");
  EXPECT_EQ(other.name, "Their.Model_2");
  EXPECT_EQ(other.repository, "some-one/Their.Model_2");
  EXPECT_EQ(other.revision, "refs/pr/1");
  EXPECT_EQ(parse_hub_model("a/b").revision, "main");
}

TEST(ModelHub, NamesThatAPathOrATerminalWouldActOnAreRefused) {
  for (const std::string given :
       {"",       "x",      "/",      "a/",          "/b",      "a/b/c",  "../b",
        "a/..",   "a/b..c", ".a/b",   "a/.b",        "a/b@",    "a/b@..", "a/b@../c",
        "a/b@/c", "a b/c",  "a/b\n",  "a/\x1b[31m",  "a/b?x",   "a/b#x",  "a/b%2e",
        "a\\b/c", "-a/b",   "a/b@-x", "https://x/y", "a/b@x@y", "ä/b"}) {
    EXPECT_THROW(parse_hub_model(given), ConfigError) << given;
  }
  EXPECT_THROW(parse_hub_model("a/" + std::string(200, 'b')), ConfigError);
  EXPECT_TRUE(is_model_name("my-voice_2.0"));
  for (const char* name : {"", ".", "..", ".hidden", "a/b", "a b", "a..b"}) {
    EXPECT_FALSE(is_model_name(name)) << name;
  }
}

TEST(ModelHub, PlainHttpIsForThisMachineOrForWhoeverAsksForIt) {
  const Environment none({{"HF_ENDPOINT", ""}});
  EXPECT_EQ(hub_endpoint(""), "https://huggingface.co");
  EXPECT_EQ(hub_endpoint("https://mirror.example/hub/"), "https://mirror.example/hub");
  EXPECT_EQ(hub_endpoint("http://mirror.example"), "http://mirror.example");
  for (const char* wrong : {"mirror.example", "ftp://x", "https://", "https://name:word@x",
                            "https://x?y", "https://x y", "file:///etc"}) {
    EXPECT_THROW(hub_endpoint(wrong), ConfigError) << wrong;
  }
  for (const char* here : {"http://127.0.0.1:8000", "http://localhost:1", "http://[::1]:80"}) {
    const Environment set({{"HF_ENDPOINT", here}});
    EXPECT_EQ(hub_endpoint(""), here);
  }
  for (const char* away : {"http://mirror.example", "http://localhost.evil.example"}) {
    const Environment set({{"HF_ENDPOINT", away}});
    EXPECT_THROW(hub_endpoint(""), ConfigError) << away;
  }
}

TEST(ModelHub, ATokenIsNotSentWhereItCouldBeReadNorWithWhatWouldEndItsHeader) {
  const Environment set({{"HF_TOKEN", "hf_secret"}});
  EXPECT_EQ(hub_token("https://huggingface.co"), "hf_secret");
  EXPECT_EQ(hub_token("http://127.0.0.1:80"), "hf_secret");
  EXPECT_EQ(hub_token("http://mirror.example"), "");
  for (const char* wrong : {"a b", "a\r\nX-Evil: 1", "a\n", "\xff"}) {
    const Environment odd({{"HF_TOKEN", wrong}});
    try {
      hub_token("https://huggingface.co");
      FAIL();
    } catch (const ConfigError& error) {
      EXPECT_EQ(std::string(error.what()).find(wrong), std::string::npos) << "it is a secret";
    }
  }
}

TEST(ModelHub, ACredentialInAnAddressIsNotRepeated) {
  try {
    hub_endpoint("https://name:password@mirror.example");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).find("password"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace myxtts::test::model_hub_test
