// SPDX-License-Identifier: Apache-2.0
#include "fetch/download_folder.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace myxtts::test::download_folder_test {
namespace {

namespace fs = std::filesystem;

std::string sentence_of(const std::function<void()>& act) {
  try {
    act();
    return {};
  } catch (const DataError& error) {
    return error.what();
  }
}

TEST(DownloadFolder, BelongsToOneAtATimeAndToTheNextWhenThatEnds) {
  const TemporaryFolder folder;
  const fs::path path = folder / "deep" / ".m.download";
  std::optional<DownloadFolder> first(std::in_place, path, "m");
  EXPECT_NE(sentence_of([&] { DownloadFolder second(path, "m"); }).find("Another myxtts pull"),
            std::string::npos);
  EXPECT_TRUE(fs::exists(path)) << "the second did not take it away";
  first.reset();
  EXPECT_FALSE(fs::exists(path)) << "there was nothing in it";
  const DownloadFolder third(path, "m");
}

TEST(DownloadFolder, RoomIsNeededForWhatIsMissingAndForTheModel) {
  const TemporaryFolder folder;
  const DownloadFolder download(folder / ".m.download", "m");
  const std::uint64_t free = fs::space(folder.path()).available;
  const std::vector<RemoteFile> fits{{.name = "model.pth", .url = "", .size = free / 4}};
  EXPECT_EQ(sentence_of([&] { download.require_room(fits); }), "");
  const std::vector<RemoteFile> large{{.name = "model.pth", .url = "", .size = free / 4 * 3}};
  const std::string refused = sentence_of([&] { download.require_room(large); });
  EXPECT_NE(refused.find("XDG_DATA_HOME"), std::string::npos) << refused;
}

TEST(DownloadFolder, APlaceThatIsNoFolderIsSaid) {
  const TemporaryFolder folder;
  const std::string said = sentence_of([] { DownloadFolder("/dev/null/x/.m.download", "m"); });
  EXPECT_NE(said.find("cannot be"), std::string::npos) << said;
}

}  // namespace
}  // namespace myxtts::test::download_folder_test
