// SPDX-License-Identifier: Apache-2.0
#include "fetch/http.h"

#include <initializer_list>

#include <gtest/gtest.h>

namespace myxtts::test::http_answer_test {
namespace {

HttpAnswer answer_of(std::initializer_list<const char*> lines) {
  HttpAnswer answer;
  for (const char* line : lines) read_header(line, answer);
  return answer;
}

TEST(HttpAnswer, TheLastHopCountsButWhatTheHubSaysOfItsFileStays) {
  const HttpAnswer answer =
      answer_of({"HTTP/1.1 302 Found\r\n", "X-Linked-Size: 1000\r\n", "x-linked-etag: \"abc\"\r\n",
                 "ETag: \"of-the-redirect\"\r\n", "Content-Length: 12\r\n", "\r\n",
                 "HTTP/1.1 206 Partial Content\r\n", "Content-Range: bytes 5-99/1000\r\n",
                 "Content-Length: 95\r\n", "ETag: W/\"of-the-file\"\r\n", "\r\n"});
  EXPECT_EQ(answer.status, 206);
  EXPECT_EQ(answer.begin, 5U);
  EXPECT_EQ(answer.size, 1000U);
  EXPECT_EQ(answer.linked_size, 1000U);
  EXPECT_EQ(answer.etag, "of-the-file");
  EXPECT_EQ(answer.content(), "abc");
}

TEST(HttpAnswer, WhatCannotBeReadIsNotThere) {
  for (const char* range : {"Content-Range: bytes */1000", "Content-Range: bytes 0-1/*",
                            "Content-Range: 0-1/9", "Content-Range: bytes", "Content-Range:",
                            "Content-Range: bytes -5-1/99999999999999999999999"}) {
    EXPECT_EQ(answer_of({"HTTP/1.1 206 x", range}).begin, 0U) << range;
  }
  EXPECT_FALSE(answer_of({"HTTP/1.1 200 OK", "Content-Length: -1"}).size);
  EXPECT_FALSE(answer_of({"HTTP/1.1 200 OK", "Content-Length: 7 bytes"}).size);
  EXPECT_FALSE(answer_of({"HTTP/1.1 206 x", "Content-Length: 7"}).size) << "of a part alone";
  EXPECT_EQ(answer_of({"HTTP/1.1"}).status, 0);
  EXPECT_EQ(answer_of({"HTTP/1.1 abc"}).status, 0);
  EXPECT_EQ(answer_of({"HTTP/1.1 404 x", "X-Error-Code: \x1b[31mred"}).error_code, "?[31mred");
}

TEST(HttpAnswer, AHostIsNamedWithoutThePathAndWhatASignatureHolds) {
  EXPECT_EQ(host_of("https://cdn.example/a/b?Signature=secret"), "cdn.example");
  EXPECT_EQ(host_of("http://127.0.0.1:80"), "127.0.0.1:80");
  EXPECT_EQ(host_of("https://x?y"), "x");
}

}  // namespace
}  // namespace myxtts::test::http_answer_test
