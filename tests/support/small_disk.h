// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mount.h>

#include <string>

#include "support/temporary_folder.h"

namespace myxtts::test {

// A disk of so many kilobytes for a test of its own, where this user may mount one.
class SmallDisk {
 public:
  explicit SmallDisk(int kilobytes) {
    const std::string size = "size=" + std::to_string(kilobytes) + "k";
    mounted_ = ::mount("none", folder_.path().c_str(), "tmpfs", 0, size.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  bool resize(int kilobytes) {
    const std::string size = "size=" + std::to_string(kilobytes) + "k";
    return ::mount("none", folder_.path().c_str(), "tmpfs", MS_REMOUNT, size.c_str()) == 0;
  }
  bool make_read_only() {
    return ::mount("none", folder_.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }
  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

 private:
  TemporaryFolder folder_;
  bool mounted_ = false;
};

}  // namespace myxtts::test
