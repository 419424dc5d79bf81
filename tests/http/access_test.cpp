// SPDX-License-Identifier: Apache-2.0
#include "http/access.h"

#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace myxtts::access_test {
namespace {

int status(Access& access, const Visitor& visitor) {
  const auto refusal = access.check(visitor);
  return refusal ? refusal->status() : 200;
}

TEST(Access, AKeyMustComeWithEverythingButThePageAndTheLookWhetherItIsThere) {
  Access access({.keys = {"right", "other"}, .hosts = {}, .origins = {}});
  const auto with = [&](const std::string& authorization, const std::string& path) {
    return status(access, {.path = path, .authorization = authorization});
  };
  EXPECT_EQ(with("Bearer right", "/v1/models"), 200);
  EXPECT_EQ(with("Bearer other", "/v1/models"), 200);
  for (const char* wrong : {"", "Bearer ", "Bearer righ", "Bearer right ", "Bearer rightx", "right",
                            "Basic right", "bearer right", "Bearer RIGHT"}) {
    EXPECT_EQ(with(wrong, "/v1/models"), 401) << wrong;
    EXPECT_EQ(with(wrong, "/metrics"), 401) << wrong;
    EXPECT_EQ(with(wrong, "/health"), 200) << wrong;
    EXPECT_EQ(with(wrong, "/"), 200) << wrong;
  }
}

TEST(Access, KeysAreEqualOnlyWhenAllOfThemIs) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_TRUE(equal_in_constant_time("", ""));
  for (const char* other : {"", "a", "ab", "abd", "abcd", "abcabc"}) {
    EXPECT_FALSE(equal_in_constant_time("abc", other)) << other;
    EXPECT_FALSE(equal_in_constant_time(other, "abc")) << other;
  }
}

TEST(Access, NamesThatAreNotOursAreTurnedAway) {
  Access access({.keys = {}, .hosts = {"localhost", "127.0.0.1", "::1"}, .origins = {}});
  for (const char* host : {"localhost", "localhost:8020", "127.0.0.1:1", "[::1]:8020", "[::1]"}) {
    EXPECT_EQ(status(access, {.path = "/", .host = host}), 200) << host;
  }
  for (const char* host : {"", "evil.example", "evil.example:8020", "localhost.evil.example",
                           "127.0.0.1.evil.example", "[::2]", "["}) {
    EXPECT_EQ(status(access, {.path = "/", .host = host}), 403) << host;
  }
}

TEST(Access, PagesOfOtherSitesAreTurnedAwayUnlessTheyWereNamed) {
  Access access({.keys = {}, .hosts = {}, .origins = {"https://friend.example"}});
  const auto from = [&](const std::string& origin, const std::string& site = "") {
    return status(access, {.path = "/v1/audio/speech",
                           .host = "localhost:8020",
                           .origin = origin,
                           .fetch_site = site});
  };
  EXPECT_EQ(from(""), 200);
  EXPECT_EQ(from("http://localhost:8020"), 200);
  EXPECT_EQ(from("", "same-origin"), 200);
  EXPECT_EQ(from("", "none"), 200);
  EXPECT_EQ(from("https://friend.example", "cross-site"), 200);
  EXPECT_EQ(from("https://evil.example"), 403);
  EXPECT_EQ(from("null"), 403);
  EXPECT_EQ(from("http://localhost:8000"), 403);
  EXPECT_EQ(from("", "cross-site"), 403);
}

TEST(Access, AnAddressThatComesTooOftenWaits) {
  test::FakeClock clock;
  Access access({.keys = {}, .hosts = {}, .origins = {}, .per_minute = 3}, clock);
  const auto come = [&](const char* address) {
    return status(access, {.path = "/", .address = address});
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(come("a"), 200);
  EXPECT_EQ(come("a"), 429);
  EXPECT_EQ(come("b"), 200);
  clock.advance(std::chrono::seconds(20));
  EXPECT_EQ(come("a"), 200);
  EXPECT_EQ(come("a"), 429);
}

}  // namespace
}  // namespace myxtts::access_test
