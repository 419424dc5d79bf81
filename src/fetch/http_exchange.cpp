// SPDX-License-Identifier: Apache-2.0
#include "fetch/http.h"

#include <curl/curl.h>

#include <memory>

namespace myxtts {
namespace {

constexpr std::size_t kLongestAnswer = 1'000'000;  // bytes

std::size_t take_answer(const char* data, std::size_t size, std::size_t count, void* into) {
  auto& answer = *static_cast<std::string*>(into);
  if (answer.size() + size * count > kLongestAnswer) return 0;
  answer.append(data, size * count);
  return size * count;
}

// Called about once a second; anything but 0 ends the exchange.
int is_given_up(void* stopped, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(stopped)->load() ? 1 : 0;
}

}  // namespace

void run_exchange(HttpExchange& request, const std::atomic<bool>& stopped) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(),
                                                                   &curl_easy_cleanup);
  CURL* curl = handle.get();
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(nullptr,
                                                                      &curl_slist_free_all);
  if (!request.body.empty()) {
    headers.reset(curl_slist_append(nullptr, "Content-Type: application/json"));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  if (!request.token.empty()) {
    const std::string header = "Authorization: Bearer " + request.token;
    headers.reset(curl_slist_append(headers.release(), header.c_str()));
  }
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  if (!request.user.empty()) curl_easy_setopt(curl, CURLOPT_USERPWD, request.user.c_str());
  const std::string certificates = certificate_file();
  if (!certificates.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, certificates.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, static_cast<long>(request.limit.count()));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &take_answer);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &request.answer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &is_given_up);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &stopped);
  request.status = 0;
  request.answer.clear();
  request.failure.clear();
  const CURLcode result = curl_easy_perform(curl);
  if (result != CURLE_OK) {
    request.failure = curl_easy_strerror(result);
    return;
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  request.status = static_cast<int>(status);
}

}  // namespace myxtts
