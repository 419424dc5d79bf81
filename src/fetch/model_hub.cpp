// SPDX-License-Identifier: Apache-2.0
#include "fetch/model_hub.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/message_text.h"
#include "base/progress.h"
#include "config/json.h"

namespace myxtts {
namespace {

constexpr const char* kPublicHub = "https://huggingface.co";
constexpr std::size_t kLongestName = 96;
constexpr std::size_t kLongestList = 16U << 20U;
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 40U;

// The public XTTS v2.
constexpr std::string_view kKnownName = "xtts-v2";
constexpr std::string_view kKnownRepository = "coqui/XTTS-v2";
constexpr std::string_view kKnownRevision = "6c2b0d75eae4b7047358e3b6bd9325f857d43f77";

// A file of a repository. Sizes and sums are of the public XTTS v2, as several programs which pin
// this revision state them alike; LICENSE.txt is taken as the hub states it.
struct WantedFile {
  std::string_view name;
  bool required;
  std::uint64_t size = 0;
  std::string_view sha256 = {};  // empty: not known
};

// In the order in which they are fetched. Nothing else of a repository is ever asked for.
constexpr std::array<WantedFile, 9> kWanted{
    {{"LICENSE.txt", false},
     {"LICENSE", false},
     {"LICENSE.md", false},
     {"config.json", true, 4'368,
      "ef262b1454dd2a77e1461b0b2cd53e19b8a7624cc131b837d36df67356bc75e8"},
     {"vocab.json", true, 361'219,
      "928260878a59da8a72a2a5b7687fea29d5106137669d90945430fe17e415304a"},
     {"mel_stats.pth", false, 1'067,
      "1f69422a8a8f344c4fca2f0c6b8d41d2151d6615b7321e48e6bb15ae949b119c"},
     {"speakers_xtts.pth", false, 7'754'818,
      "f0f6137c19a4eab0cbbe4c99b5babacf68b1746e50da90807708c10e645b943b"},
     {"dvae.pth", false, 210'514'388,
      "b29bc227d410d4991e0a8c09b858f77415013eeb9fba9650258e96095557d97a"},
     {"model.pth", true, 1'867'929'118,
      "c7ea20001c6a0a841c77e252d8409f6a74fb423e79b3206a0771ba5989776187"}}};

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Letters, digits and what `also` holds; nothing that a path or a terminal would act on.
bool is_plain(std::string_view text, std::string_view also) {
  if (text.empty() || text.size() > kLongestName || !is_letter_or_digit(text.front())) return false;
  if (text.find("..") != std::string_view::npos) return false;
  return std::ranges::all_of(text, [also](char c) {
    return is_letter_or_digit(c) || also.find(c) != std::string_view::npos;
  });
}

bool is_repository(std::string_view text) {
  const auto slash = text.find('/');
  return slash != std::string_view::npos && is_plain(text.substr(0, slash), "-_.") &&
         is_plain(text.substr(slash + 1), "-_.");
}

bool is_loopback(const std::string& endpoint) {
  std::string host = host_of(endpoint);
  host = host.substr(0, host.starts_with('[') ? host.find(']') + 1 : host.find(':'));
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// "refs/pr/1" is one part of a path.
std::string as_path_part(std::string_view revision) {
  std::string part;
  for (const char c : revision) part += c == '/' ? std::string("%2F") : std::string(1, c);
  return part;
}

[[noreturn]] void explain(const HttpStatusError& error, const HubModel& model) {
  const long status = error.answer.status;
  const std::string& code = error.answer.error_code;
  const std::string shown = model.repository + "@" + model.revision;
  if (status == 404 && code == "RevisionNotFound") {
    throw DataError(
        fmt::format("{} has no revision {}. Leave it out, or look the name up on the "
                    "page of the repository.",
                    model.repository, model.revision));
  }
  if (status == 404) {
    throw DataError(
        fmt::format("There is no {} there. Check the name of the repository and of the "
                    "revision.",
                    shown));
  }
  if (status == 401 || status == 403) {
    throw DataError(
        fmt::format("{} is not open to everybody, or does not exist ({}). Check the "
                    "name; where it is right, accept its terms on its page and set "
                    "HF_TOKEN to a token that may read it.",
                    model.repository, status));
  }
  throw error;
}

// Of what the hub says of a file; nothing where it says nothing of use.
std::optional<std::uint64_t> size_in(const nlohmann::json& entry, const std::string& name) {
  const auto size = entry.value("size", nlohmann::json());
  if (!size.is_number_unsigned()) return std::nullopt;
  if (size.get<std::uint64_t>() > kLargestFile) {
    throw DataError(
        fmt::format("The list of the repository gives {} a size of {}, which cannot be. "
                    "Name another mirror with --from URL.",
                    name, human_size(size.get<std::uint64_t>())));
  }
  return size.get<std::uint64_t>();
}

std::string text_in(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto text = object.value(key, nlohmann::json());
  return text.is_string() ? text.get<std::string>() : std::string();
}

RemoteFile file_in(const nlohmann::json& entry, const std::string& name, const std::string& url) {
  RemoteFile file{.name = name, .url = url, .size = size_in(entry, name)};
  const auto lfs = entry.value("lfs", nlohmann::json());
  if (lfs.is_object()) {
    file.sha256 = text_in(lfs, "sha256");
  } else {
    file.git_blob = text_in(entry, "blobId");
  }
  return file;
}

void pin(RemoteFile& file, const WantedFile& known) {
  if (known.sha256.empty()) return;
  const bool differs = file.size.value_or(known.size) != known.size ||
                       (!file.sha256.empty() && file.sha256 != known.sha256);
  if (differs) {
    throw DataError(
        fmt::format("{} is not the one of {} that this program knows: its size or "
                    "SHA-256 is another. Name another mirror with --from URL.",
                    file.name, kKnownName));
  }
  file.size = known.size;
  file.sha256 = known.sha256;
}

}  // namespace

HubModel parse_hub_model(std::string_view given) {
  if (given == kKnownName) {
    return {std::string(kKnownName), std::string(kKnownRepository), std::string(kKnownRevision)};
  }
  const auto at = given.find('@');
  const std::string_view repository = given.substr(0, at);
  const std::string_view revision = at == std::string_view::npos ? "main" : given.substr(at + 1);
  if (!is_repository(repository) || !is_plain(revision, "-_./")) {
    const std::vector<std::string> known{std::string(kKnownName)};
    if (given.starts_with("xtts") || nearest_name(given, known)) {
      throw ConfigError(
          fmt::format("'{}' is no model to pull; did you mean {}?", printable(given), kKnownName));
    }
    throw ConfigError(
        fmt::format("'{}' is no model to pull; give {}, or a repository as "
                    "OWNER/NAME or OWNER/NAME@REVISION.",
                    printable(given), kKnownName));
  }
  return {std::string(repository.substr(repository.find('/') + 1)), std::string(repository),
          std::string(revision)};
}

bool is_model_name(std::string_view name) {
  return is_plain(name, "-_.");
}

std::string hub_endpoint(const std::string& from) {
  const std::string variable = environment("HF_ENDPOINT");
  std::string endpoint = !from.empty() ? from : !variable.empty() ? variable : kPublicHub;
  const std::string subject = !from.empty() ? "--from" : "HF_ENDPOINT";
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const bool is_https = endpoint.starts_with("https://");
  const bool is_http = endpoint.starts_with("http://");
  const bool is_sound = (is_https || is_http) && !host_of(endpoint).empty() &&
                        endpoint.find_first_of("@?# \t\r\n") == std::string::npos;
  if (!is_sound) {
    throw ConfigError(fmt::format("{} {} is no address of a hub; give one such as {}.", subject,
                                  printable(endpoint.substr(endpoint.find('@') + 1)), kPublicHub));
  }
  if (is_http && from.empty() && !is_loopback(endpoint)) {
    throw ConfigError(
        fmt::format("HF_ENDPOINT {} is plain http, which anybody on the way can read "
                    "and change; use https, or name it with --from.",
                    printable(endpoint)));
  }
  return endpoint;
}

std::string hub_token(const std::string& endpoint) {
  if (endpoint.starts_with("http://") && !is_loopback(endpoint)) return {};
  const std::string token = environment("HF_TOKEN");
  const bool is_sound = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
  if (!is_sound) {
    throw ConfigError("HF_TOKEN holds something that no token has; set it anew, without spaces.");
  }
  return token;
}

std::string files_by_hand(const HubModel& model) {
  return fmt::format(
      "config.json, vocab.json and model.pth, and where there are LICENSE.txt, dvae.pth, "
      "mel_stats.pth and speakers_xtts.pth, of {}/{}/tree/{}",
      kPublicHub, model.repository, model.revision);
}

std::vector<RemoteFile> files_in_list(std::string_view list, const std::string& endpoint,
                                      const HubModel& model) {
  const auto json = parse_shallow_json<nlohmann::json>(list);
  const auto entries = json.is_object() ? json.value("siblings", nlohmann::json()) : json;
  if (!entries.is_array()) {
    throw DataError(
        fmt::format("{} does not answer as a hub does. Check the address: --from URL, or "
                    "HF_ENDPOINT.",
                    host_of(endpoint)));
  }
  // The commit, so that all files are of the same, whatever happens to the branch meanwhile.
  const std::string commit = text_in(json, "sha");
  const std::string revision = is_plain(commit, "") ? commit : as_path_part(model.revision);
  const bool is_known = revision == kKnownRevision || model.revision == kKnownRevision;
  std::vector<RemoteFile> files;
  for (const WantedFile& wanted : kWanted) {
    const auto entry = std::ranges::find_if(
        entries, [&wanted](const auto& each) { return text_in(each, "rfilename") == wanted.name; });
    if (entry != entries.end()) {
      files.push_back(file_in(
          *entry, std::string(wanted.name),
          fmt::format("{}/{}/resolve/{}/{}", endpoint, model.repository, revision, wanted.name)));
      if (is_known) pin(files.back(), wanted);
    } else if (wanted.required) {
      throw DataError(
          fmt::format("{} has no {}, so it is no model of the public XTTS layout; name "
                      "a repository with config.json, vocab.json and model.pth.",
                      model.repository, wanted.name));
    }
  }
  return files;
}

std::vector<RemoteFile> list_files(HttpClient& client, const std::string& endpoint,
                                   const HubModel& model) try {
  return files_in_list(client.text(fmt::format("{}/api/models/{}/revision/{}?blobs=true", endpoint,
                                               model.repository, as_path_part(model.revision)),
                                   kLongestList),
                       endpoint, model);
} catch (const HttpStatusError& error) {
  explain(error, model);
}

void fetch_files(HttpClient& client, const HubModel& model, std::span<const RemoteFile> files,
                 const std::filesystem::path& folder) try {
  std::uint64_t total = 0;
  std::uint64_t present = 0;
  for (const RemoteFile& file : files) {
    total += file.size.value_or(0);
    present += bytes_present(file, folder);
  }
  Progress progress({.title = "Fetching " + model.name,
                     .total = total,
                     .unit = ProgressOptions::Unit::Bytes,
                     .at_once = true,
                     .done_before = std::min(present, total)});
  for (const RemoteFile& file : files) fetch_file(client, file, folder, progress);
} catch (const HttpStatusError& error) {
  explain(error, model);
}

}  // namespace myxtts
