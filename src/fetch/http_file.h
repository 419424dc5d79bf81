// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/progress.h"
#include "fetch/http.h"

namespace myxtts {

// A file on a server, and what is known of it before it is asked for.
struct RemoteFile {
  std::string name;  // of the file it becomes
  std::string url;
  std::optional<std::uint64_t> size = {};  // nothing: what the server says
  std::string sha256 = {};                 // in hex; empty: not known
  std::string git_blob = {};               // SHA-1 of git, in hex; empty: not known
};

// Fetches the file into the folder, in pieces over several connections where the server has ranges.
//
//   NAME.part ........ the pieces, each at its place
//   NAME.part.json ... how much of each is there, of which content; written every half second
//   NAME ............. appears when size and sums are right
//
// A later call goes on with the pieces, unless the content on the server is another by then; a NAME
// with the right sum is taken as it is. Bytes with a wrong sum are removed and fetched once more.
// Throws DataError, and Interrupted where somebody looks for that; the pieces stay.
void fetch_file(HttpClient& client, const RemoteFile& file, const std::filesystem::path& folder,
                Progress& progress);

// How much of the file is in the folder already.
std::uint64_t bytes_present(const RemoteFile& file, const std::filesystem::path& folder);

}  // namespace myxtts
