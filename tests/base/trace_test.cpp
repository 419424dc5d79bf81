// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/thread_group.h"
#include "support/temporary_folder.h"

namespace myxtts::trace_test {
namespace {

using test::contents_of;
using test::TemporaryFolder;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

TEST(Trace, EveryThreadAndEveryStreamHasALaneOfItsOwn) {
  const TemporaryFolder folder;
  start_trace(folder / "trace.json");
  ThreadGroup threads;
  for (const char* name : {"decoder 0", "decoder 1"}) {
    threads.start(name, [] { const TraceScope scope("decode", 7); });
  }
  threads.join();
  const auto now = system_clock().now();
  trace_lane("data stream").add("features", now, now + std::chrono::microseconds(1500), 3);
  finish_trace();

  const std::string trace = contents_of(folder / "trace.json");
  EXPECT_TRUE(trace.starts_with("[{")) << trace;
  EXPECT_TRUE(trace.ends_with("}\n]\n")) << trace;
  EXPECT_EQ(count(trace, "\"thread_name\""), 3U) << trace;
  EXPECT_EQ(count(trace, "\"args\":{\"name\":\"decoder 0\"}"), 1U);
  EXPECT_EQ(count(trace, "\"args\":{\"name\":\"decoder 1\"}"), 1U);
  EXPECT_EQ(count(trace, "\"name\":\"decode\",\"ph\":\"X\""), 2U);
  EXPECT_EQ(count(trace, "\"dur\":1500.000,\"args\":{\"batch\":3}"), 1U) << trace;
}

TEST(Trace, NothingIsKeptWhileNoTraceIsWritten) {
  const TemporaryFolder folder;
  { const TraceScope scope("before"); }
  start_trace(folder / "trace.json");
  { const TraceScope scope("while"); }
  finish_trace();
  { const TraceScope scope("after"); }
  finish_trace();
  const std::string trace = contents_of(folder / "trace.json");
  EXPECT_EQ(count(trace, "before") + count(trace, "after"), 0U);
  EXPECT_EQ(count(trace, "while"), 1U);
}

TEST(Trace, ASecondTraceHasItsOwnLanes) {
  const TemporaryFolder folder;
  for (const char* file : {"first.json", "second.json"}) {
    start_trace(folder / file);
    { const TraceScope scope("work"); }
    finish_trace();
    const std::string trace = contents_of(folder / file);
    EXPECT_EQ(count(trace, "\"thread_name\""), 1U) << trace;
    EXPECT_EQ(count(trace, "\"work\""), 1U) << trace;
  }
}

TEST(Trace, MoreEventsThanALaneKeepsAreAllWritten) {
  const TemporaryFolder folder;
  start_trace(folder / "trace.json");
  for (int i = 0; i < 10'000; ++i) const TraceScope scope("work", i);
  trace_lane("queues").count("depth", system_clock().now(), 2);
  finish_trace();
  const std::string trace = contents_of(folder / "trace.json");
  EXPECT_EQ(count(trace, "\"work\""), 10'000U);
  EXPECT_EQ(count(trace, "\"ph\":\"C\""), 1U);
  EXPECT_EQ(count(trace, "\"args\":{\"value\":2}"), 1U);
}

TEST(Trace, AFileThatCannotBeWrittenIsAnErrorThatNamesIt) {
  try {
    start_trace("/no/such/folder/trace.json");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/folder/trace.json"), std::string::npos);
  }
  EXPECT_FALSE(tracing());
}

TEST(Trace, ADiskThatIsFullIsSaid) {
  start_trace("/dev/full");
  for (int i = 0; i < 10'000; ++i) const TraceScope scope("work", i);
  EXPECT_THROW(finish_trace(), DataError);
}

}  // namespace
}  // namespace myxtts::trace_test
