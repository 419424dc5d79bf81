// SPDX-License-Identifier: Apache-2.0
#include "fetch/http_file.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"
#include "config/json.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kBetweenRecords = 500ms;
constexpr std::size_t kLongestRecord = 16U << 20U;
constexpr std::size_t kHashedAtOnce = 8U << 20U;

// The content on the server is not what the pieces are of.
struct ChangedFile : DataError {
  using DataError::DataError;
};

fs::path part_of(const fs::path& target) {
  return target.string() + ".part";
}

fs::path record_of(const fs::path& target) {
  return target.string() + ".part.json";
}

// In hex, of `prefix` and the file.
std::string digest_of(const fs::path& path, const EVP_MD* kind, std::string_view prefix) {
  const auto file = MappedFile::open(path);
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> digest(EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free);
  EVP_DigestInit_ex(digest.get(), kind, nullptr);
  EVP_DigestUpdate(digest.get(), prefix.data(), prefix.size());
  for (auto rest = file->bytes(); !rest.empty();) {
    const auto part = rest.first(std::min(rest.size(), kHashedAtOnce));
    EVP_DigestUpdate(digest.get(), part.data(), part.size());
    file->forget(part);
    rest = rest.subspan(part.size());
    stop_if_interrupted();
  }
  std::vector<unsigned char> value(EVP_MAX_MD_SIZE);
  unsigned size = 0;
  EVP_DigestFinal_ex(digest.get(), value.data(), &size);
  std::string hex;
  for (unsigned at = 0; at < size; ++at) hex += fmt::format("{:02x}", value[at]);
  return hex;
}

bool has_right_sum(const RemoteFile& file, const fs::path& path) {
  if (!file.sha256.empty() && digest_of(path, EVP_sha256(), "") != file.sha256) return false;
  if (file.git_blob.empty()) return true;
  const std::string prefix = fmt::format("blob {}", fs::file_size(path)) + '\0';
  return digest_of(path, EVP_sha1(), prefix) == file.git_blob;
}

bool is_whole(const RemoteFile& file, const fs::path& path) {
  std::error_code absent;
  if (!fs::is_regular_file(path, absent)) return false;
  if (file.size && fs::file_size(path) != *file.size) return false;
  const bool has_sum = !file.sha256.empty() || !file.git_blob.empty();
  return has_sum && has_right_sum(file, path);
}

// What is there of a file, piece by piece. Its record never claims a byte that was not written.
class PartialFile {
 public:
  // `content` names what the pieces are of; those of another content, or size, are thrown away.
  PartialFile(const fs::path& target, std::uint64_t size, std::string content,
              std::uint64_t piece_bytes)
      : target_(target), size_(size), content_(std::move(content)), piece_bytes_(piece_bytes) {
    file_ = ::open(part_of(target_).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) {
      throw DataError(fmt::format("{} cannot be written: {}. Check the folder and the disk.",
                                  part_of(target_).string(),
                                  std::generic_category().message(errno)));
    }
    if (content_.empty() || !read_record()) begin_anew();
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile() {
    ::close(file_);
    if (!is_kept_) return;
    try {
      write_record();
    } catch (const DataError& error) {
      log_debug("fetch", "{}", error.what());  // the one from half a second ago is there
    }
  }

  void begin_anew() {
    have_.assign((size_ + piece_bytes_ - 1) / piece_bytes_, 0);
    if (::ftruncate(file_, 0) != 0) log_debug("fetch", "{} keeps its length", target_.string());
  }

  std::size_t pieces() const { return have_.size(); }
  std::uint64_t begin(std::size_t piece) const { return piece * piece_bytes_; }
  std::uint64_t end(std::size_t piece) const { return std::min(begin(piece + 1), size_); }
  std::uint64_t next(std::size_t piece) const { return begin(piece) + have_[piece]; }

  // The next bytes of a piece; throws DataError where the disk refuses.
  void write(std::size_t piece, std::span<const std::byte> bytes) {
    ::lseek(file_, static_cast<off_t>(next(piece)), SEEK_SET);
    detail::write_all(file_, bytes, part_of(target_));
    have_[piece] += bytes.size();
    const auto now = system_clock().now();
    if (now < next_record_) return;
    write_record();
    next_record_ = now + kBetweenRecords;
  }

  // The same for a server without ranges: the whole, from its first byte on.
  void write_whole(std::uint64_t at, std::span<const std::byte> bytes) {
    if (at + bytes.size() > size_) throw ChangedFile(longer_than_said());
    ::lseek(file_, static_cast<off_t>(at), SEEK_SET);
    detail::write_all(file_, bytes, part_of(target_));
  }

  // Gives the file its name if its size and sums are right, and removes it if not.
  bool finish(const RemoteFile& file) {
    is_kept_ = false;
    const fs::path part = part_of(target_);
    const bool right = fs::file_size(part) == size_ && has_right_sum(file, part);
    if (right) {
      ::fsync(file_);
      fs::rename(part, target_);
      bring_folder_to_disk(target_.parent_path());
    } else {
      fs::remove(part);
    }
    fs::remove(record_of(target_));
    return right;
  }

 private:
  std::string longer_than_said() const {
    return fmt::format("{} is longer than the {} that its server stated. Try again later.",
                       target_.filename().string(), human_size(size_));
  }

  bool read_record() {
    std::error_code absent;
    if (!fs::exists(record_of(target_), absent)) return false;
    const auto json = parse_shallow_json<nlohmann::json>(
        read_text_file(record_of(target_), "record", kLongestRecord));
    if (!json.is_object() || json.value("size", nlohmann::json()) != size_ ||
        json.value("content", nlohmann::json()) != content_ ||
        json.value("piece_bytes", nlohmann::json()) != piece_bytes_) {
      return false;
    }
    std::vector<std::uint64_t> have;
    for (const auto& count : json.value("have", nlohmann::json::array())) {
      if (!count.is_number_unsigned()) return false;
      have.push_back(count.get<std::uint64_t>());
    }
    have_ = std::move(have);
    return fits_file();
  }

  bool fits_file() const {
    if (have_.size() != (size_ + piece_bytes_ - 1) / piece_bytes_) return false;
    const std::uint64_t length = fs::file_size(part_of(target_));
    for (std::size_t piece = 0; piece < have_.size(); ++piece) {
      if (have_[piece] > end(piece) - begin(piece)) return false;
      if (have_[piece] > 0 && next(piece) > length) return false;
    }
    return true;
  }

  void write_record() {
    const nlohmann::json record = {
        {"size", size_}, {"content", content_}, {"piece_bytes", piece_bytes_}, {"have", have_}};
    write_file_atomically(record_of(target_), bytes_of(record.dump()));
  }

  const fs::path target_;
  const std::uint64_t size_;
  const std::string content_;
  const std::uint64_t piece_bytes_;
  int file_ = -1;
  std::vector<std::uint64_t> have_;  // bytes of each piece
  Clock::Time next_record_{};
  bool is_kept_ = true;  // the record, for a later call
};

// What names the content: sums that are known, else what the server calls it.
std::string content_of(const RemoteFile& file, const HttpAnswer& answer) {
  if (!file.sha256.empty()) return file.sha256;
  return file.git_blob.empty() ? answer.content() : file.git_blob;
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The file with what the server says of it. Throws DataError where that is another file.
RemoteFile checked(RemoteFile file, const HttpAnswer& answer) {
  const auto expect = [&file](const std::optional<std::uint64_t>& size) {
    if (!size) return;
    if (file.size.value_or(*size) != *size) {
      throw DataError(
          fmt::format("{} has {} bytes where it was announced with {}. Try again "
                      "later, or name another mirror with --from URL.",
                      file.name, *size, *file.size));
    }
    file.size = size;
  };
  expect(answer.linked_size);
  expect(answer.size);
  if (is_sha256(answer.linked_etag)) {
    if (!file.sha256.empty() && file.sha256 != answer.linked_etag) {
      throw DataError(
          fmt::format("{} is not the file that was announced: its SHA-256 is another. "
                      "Try again later, or name another mirror with --from URL.",
                      file.name));
    }
    file.sha256 = answer.linked_etag;
  }
  if (!file.size) {
    throw DataError(
        fmt::format("{} does not say how long {} is. Name another mirror with --from "
                    "URL.",
                    host_of(file.url), file.name));
  }
  return file;
}

void fetch_pieces(HttpClient& client, const RemoteFile& file, const std::string& etag,
                  PartialFile& partial, Progress& progress) {
  const auto check = [&](const HttpAnswer& answer) {
    if (answer.content() != etag) {
      throw ChangedFile(fmt::format("{} changed on {} while it was fetched. Try again later.",
                                    file.name, host_of(file.url)));
    }
    checked(file, answer);
  };
  std::vector<HttpRequest> requests;
  for (std::size_t piece = 0; piece < partial.pieces(); ++piece) {
    if (partial.next(piece) == partial.end(piece)) continue;
    requests.push_back({.url = file.url,
                        .next = partial.next(piece),
                        .end = partial.end(piece),
                        .check = check,
                        .take = [&partial, &progress, piece](auto, auto bytes) {
                          partial.write(piece, bytes);
                          progress.advance(bytes.size());
                        }});
  }
  client.fetch(requests);
}

void fetch_whole(HttpClient& client, const RemoteFile& file, PartialFile& partial,
                 Progress& progress) {
  partial.begin_anew();
  std::vector<HttpRequest> requests(1);
  requests[0] = {.url = file.url,
                 .check = [&file](const HttpAnswer& answer) { checked(file, answer); },
                 .take =
                     [&](std::uint64_t at, std::span<const std::byte> bytes) {
                       partial.write_whole(at, bytes);
                       progress.advance(bytes.size());
                     }};
  client.fetch(requests);
}

// False: what came was not what was announced, and is removed.
bool try_file(HttpClient& client, const RemoteFile& asked, const fs::path& target,
              Progress& progress) {
  const HttpAnswer answer = client.ask(asked.url);
  const RemoteFile file = checked(asked, answer);
  PartialFile partial(target, *file.size, content_of(file, answer), client.settings().piece_bytes);
  if (answer.has_ranges()) {
    fetch_pieces(client, file, answer.content(), partial, progress);
  } else {
    fetch_whole(client, file, partial, progress);
  }
  return partial.finish(file);
}

}  // namespace

void fetch_file(HttpClient& client, const RemoteFile& file, const fs::path& folder,
                Progress& progress) {
  const fs::path target = folder / file.name;
  if (is_whole(file, target)) {
    fs::remove(record_of(target));  // of a process that was killed after it named the file
    return;
  }
  for (const bool is_last : {false, true}) {
    try {
      if (try_file(client, file, target, progress)) return;
      if (is_last) break;
      log_warning("fetch", "{} came with other bytes than announced; it is fetched once more.",
                  file.name);
    } catch (const ChangedFile& changed) {
      fs::remove(part_of(target));
      fs::remove(record_of(target));
      if (is_last) throw;
      log_warning("fetch", "{} It is fetched once more.", changed.what());
    }
  }
  throw DataError(
      fmt::format("{} from {} has wrong bytes (its sum is not the one announced), twice, "
                  "and was removed. Try again later, or name another mirror with --from "
                  "URL.",
                  file.name, host_of(file.url)));
}

std::uint64_t bytes_present(const RemoteFile& file, const fs::path& folder) {
  std::error_code absent;
  const fs::path target = folder / file.name;
  if (fs::exists(target, absent)) return fs::file_size(target, absent);
  if (!fs::exists(record_of(target), absent)) return 0;
  const auto json = parse_shallow_json<nlohmann::json>(
      read_text_file(record_of(target), "record", kLongestRecord));
  std::uint64_t sum = 0;
  if (!json.is_object()) return sum;
  for (const auto& count : json.value("have", nlohmann::json::array())) {
    if (count.is_number_unsigned()) sum += count.get<std::uint64_t>();
  }
  return std::min(sum, file.size.value_or(sum));
}

}  // namespace myxtts
