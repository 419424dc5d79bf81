// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fetch/http.h"
#include "fetch/http_file.h"

namespace myxtts {

// A model that can be pulled: a repository of a hub that speaks as Hugging Face does.
struct HubModel {
  std::string name;        // of the folder it becomes: "xtts-v2"
  std::string repository;  // "coqui/XTTS-v2"
  std::string revision;    // branch, tag or commit
};

// "xtts-v2", or REPOSITORY[@REVISION]; the name is that of the repository without its owner. Throws
// ConfigError.
HubModel parse_hub_model(std::string_view given);

// Whether it may be the name of a model folder: letters, digits, '.', '-' and '_', not first '.'.
bool is_model_name(std::string_view name);

// The hub's address, without a last '/': `from` where it is given, else HF_ENDPOINT, else the
// public one. Plain http is for this machine, or where `from` says so. Throws ConfigError.
std::string hub_endpoint(const std::string& from);

// HF_TOKEN, to be sent to `endpoint`; empty: there is none, or the way there is not safe. Throws
// ConfigError for one that no header can hold.
std::string hub_token(const std::string& endpoint);

// The files of the model that an import reads, as the hub at `endpoint` lists them, its licence
// first and large ones last. Sizes and sums are the hub's and, of a model that is known here, ours.
// Throws DataError, also where the repository holds no model of the public layout.
std::vector<RemoteFile> files_in_list(std::string_view list, const std::string& endpoint,
                                      const HubModel& model);

// The same of the list that the hub gives now.
std::vector<RemoteFile> list_files(HttpClient& client, const std::string& endpoint,
                                   const HubModel& model);

// Which files a person fetches with a browser to import them, and where they are.
std::string files_by_hand(const HubModel& model);

// Fetches them, as fetch_file() does; what the server answers is told in terms of the model.
void fetch_files(HttpClient& client, const HubModel& model, std::span<const RemoteFile> files,
                 const std::filesystem::path& folder);

}  // namespace myxtts
