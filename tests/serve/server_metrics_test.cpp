// SPDX-License-Identifier: Apache-2.0
#include "serve/server_metrics.h"

#include <gtest/gtest.h>

namespace myxtts::server_metrics_test {
namespace {

TEST(ServerMetrics, AreInPrometheusForm) {
  ServerMetrics metrics;
  metrics.add_answer(200);
  metrics.add_answer(200);
  metrics.add_answer(404);
  metrics.add_first_sound(0.04);
  metrics.add_first_sound(9.0);
  metrics.add_sound(1.5);
  const std::string text = metrics.text({.places = 8, .used = 2});
  for (const char* line :
       {"myxtts_requests_total{status=\"200\"} 2\n", "myxtts_requests_total{status=\"404\"} 1\n",
        "myxtts_places 8\n", "myxtts_places_used 2\n", "myxtts_audio_seconds_total 1.5\n",
        "myxtts_first_sound_seconds_bucket{le=\"0.025\"} 0\n",
        "myxtts_first_sound_seconds_bucket{le=\"0.05\"} 1\n",
        "myxtts_first_sound_seconds_bucket{le=\"+Inf\"} 2\n",
        "myxtts_first_sound_seconds_sum 9.04\n", "# TYPE myxtts_places gauge\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

}  // namespace
}  // namespace myxtts::server_metrics_test
