// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file_remedies.h"
#include "base/files.h"
#include "support/small_disk.h"
#include "support/temporary_folder.h"

namespace myxtts::atomic_file_test {
namespace {

using test::contents_of;
using test::TemporaryFolder;

std::string sentence_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  write_file_atomically(path, bytes_of(text));
}

std::size_t entries_of(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                std::filesystem::directory_iterator()));
}

TEST(AtomicFile, ReplacesTheFileOnlyWhenItIsCommitted) {
  const TemporaryFolder folder;
  write_text(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write(bytes_of("ne"));
    file.write(bytes_of("w"));
    EXPECT_EQ(file.size(), 3u);
    EXPECT_EQ(contents_of(folder / "a"), "old");
    file.commit();
    EXPECT_EQ(contents_of(folder / "a"), "new");
    EXPECT_THROW(file.write(bytes_of("more")), InternalError);
    EXPECT_THROW(file.commit(), InternalError);
  }
  EXPECT_EQ(contents_of(folder / "a"), "new");
  EXPECT_EQ(entries_of(folder.path()), 1u);
}

TEST(AtomicFile, LeavesNothingBehindWhenItIsNotCommitted) {
  const TemporaryFolder folder;
  { AtomicFile(folder / "a").write(bytes_of("half")); }
  EXPECT_EQ(entries_of(folder.path()), 0u);
}

TEST(AtomicFile, WritesIntoTheCurrentFolderWhenThePathHasNone) {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto sentence = sentence_of([] { write_text("plain", "text"); });
  std::filesystem::current_path(before);
  EXPECT_EQ(sentence, "no error");
  EXPECT_EQ(contents_of(folder / "plain"), "text");
}

TEST(AtomicFile, KeepsPermissionsAndFollowsALink) {
  const TemporaryFolder folder;
  write_text(folder / "real", "old");
  ASSERT_EQ(chmod((folder / "real").c_str(), 0640), 0);
  std::filesystem::create_symlink("real", folder / "link");
  write_text(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(contents_of(folder / "real"), "new");
  struct stat status {};
  ASSERT_EQ(stat((folder / "real").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST(AtomicFile, PassesOverATemporaryFileThatADeadProcessLeft) {
  const TemporaryFolder folder;
  for (int i = 0; i < 500; ++i) {
    std::ofstream(folder / (".myxtts-tmp-" + std::to_string(getpid()) + "-" + std::to_string(i)));
  }
  write_text(folder / "a", "text");
  EXPECT_EQ(contents_of(folder / "a"), "text");
}

TEST(AtomicFile, SaysWhatIsWrongWithThePathAndWhatToDo) {
  const TemporaryFolder folder;
  const std::string none = (folder / "none").string();
  EXPECT_EQ(sentence_of([&] { write_text(none + "/a", "x"); }),
            none + "/a cannot be written: the folder " + none +
                " does not exist. Make it with mkdir -p '" + none + "'.");
  write_text(folder / "file", "x");
  EXPECT_NE(sentence_of([&] { write_text(folder / "file" / "a", "x"); }).find("is not a folder"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] { write_text(folder.path(), "x"); }).find("it is a folder"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] { write_text("/dev/null", "x"); }).find("it is a device"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] { write_text(folder / std::string(300, 'n'), "x"); }).find("too long"),
            std::string::npos);
}

// Runs `action` in a process of its own; gives its exit status.
int in_child(const std::function<int()>& action) {
  const pid_t child = fork();
  if (child == 0) _exit(action());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(AtomicFile, SaysThatTheFolderMayNotBeWritten) {
  const TemporaryFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  const int status = in_child([&] {
    if (getuid() == 0 && setuid(65534) != 0) return 2;  // root may write everywhere
    const auto sentence = sentence_of([&] { write_text(folder / "a", "x"); });
    return sentence.find("you may not write to the folder") != std::string::npos ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
}

TEST(PermissionRemedy, IsChmodForWhatIsOnesOwnAndNeverForWhatIsSomebodyElses) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "a b";
  write_text(file, "x");
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  const std::string name = "'" + file.string() + "'";
  constexpr uid_t kNobody = 65534;
  const auto remedies_of_user = [&](uid_t owner) {
    const bool may_give = getuid() == 0;
    EXPECT_TRUE(!may_give || chown(file.c_str(), owner, owner) == 0);
    in_child([&] {
      if (getuid() == 0 && setuid(kNobody) != 0) return 2;
      std::cerr << permission_remedy(file, FileUse::Read) << "\n"
                << permission_remedy(file, FileUse::Write) << "\n";
      return 0;
    });
  };
  testing::internal::CaptureStderr();
  remedies_of_user(kNobody);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "Type chmod -R u+rX " + name + " to be allowed to.\nType chmod u+wx " + name +
                ", or give a path in another folder.\n");
  if (getuid() != 0) GTEST_SKIP() << "only root can give a file away";
  testing::internal::CaptureStderr();
  remedies_of_user(54321);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("chmod"), std::string::npos) << said;
  EXPECT_TRUE(said.starts_with("It belongs to user 54321: ")) << said;
  EXPECT_NE(said.find("sudo chown -R \"$USER\" " + name), std::string::npos) << said;
  testing::internal::CaptureStderr();
  in_child([] {
    if (setuid(kNobody) != 0) return 2;
    std::cerr << permission_remedy("/no-such-home/.cache/a", FileUse::Write);
    return 0;
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "It belongs to root: give a path in a folder of yours.");
}

TEST(PermissionRemedy, OfRootIsAnotherPlace) {
  if (getuid() != 0) GTEST_SKIP() << "only root can see it";
  const auto sentence = sentence_of([] { require_output("--out", "/proc/b", Output::Folder); });
  EXPECT_EQ(sentence,
            "--out /proc/b cannot be written: you may not write to the folder /proc. Even root may "
            "not: give a path on another disk.");
}

TEST(Output, IsRefusedBeforeTheWorkWithTheFlagThePathAndTheRemedy) {
  const TemporaryFolder folder;
  const std::string none = (folder / "none").string();
  write_text(folder / "file", "x");
  const auto said = [](const std::filesystem::path& path, Output kind) {
    return sentence_of([&] { require_output("--out", path, kind); });
  };
  for (const Output kind : {Output::File, Output::GrowingFile}) {
    EXPECT_EQ(said(none + "/a", kind), "--out " + none + "/a cannot be written: the folder " +
                                           none + " does not exist. Make it with mkdir -p '" +
                                           none + "'.");
    EXPECT_NE(said(folder.path(), kind).find("it is a folder"), std::string::npos);
    EXPECT_EQ(said(folder / "new", kind), "no error");
    EXPECT_EQ(said(folder / "file", kind), "no error");
  }
  EXPECT_EQ(said("/dev/null", Output::GrowingFile), "no error");
  EXPECT_NE(said("/dev/null", Output::File).find("it is a device"), std::string::npos);
  EXPECT_EQ(said(folder / "a" / "b" / "c", Output::Folder), "no error") << "it can be made";
  EXPECT_NE(said(folder / "file" / "b", Output::Folder).find("is not a folder"), std::string::npos);
  EXPECT_NE(said("/proc/b", Output::Folder).find("you may not write to the folder /proc"),
            std::string::npos);
  EXPECT_EQ(entries_of(folder.path()), 1U) << "only the file that was there";
  EXPECT_EQ(contents_of(folder / "file"), "x");
}

TEST(Output, IsRefusedWhereTheUserMayNotWrite) {
  const TemporaryFolder folder;
  write_text(folder / "file", "x");
  ASSERT_EQ(chmod((folder / "file").c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  const bool was_root = getuid() == 0;  // and what it made is not the other's
  const int status = in_child([&] {
    if (was_root && setuid(65534) != 0) return 2;  // root may write everywhere
    for (const Output kind : {Output::File, Output::GrowingFile, Output::Folder}) {
      const auto sentence = sentence_of([&] { require_output("--out", folder / "a", kind); });
      if (sentence.find("you may not write to the folder") == std::string::npos) return 1;
    }
    const auto sentence =
        sentence_of([&] { require_output("--out", folder / "file", Output::GrowingFile); });
    return sentence.find(was_root ? "give a path in a folder of yours" : "chmod u+w") !=
                   std::string::npos
               ? 0
               : 3;
  });
  EXPECT_EQ(status, 0);
}

TEST(Output, IsRefusedOnADiskThatIsReadOnly) {
  test::SmallDisk disk(64);
  if (!disk.mounted() || !disk.make_read_only()) GTEST_SKIP() << "this user may mount no disk";
  for (const Output kind : {Output::File, Output::GrowingFile, Output::Folder}) {
    EXPECT_NE(sentence_of([&] { require_output("--out", disk / "a", kind); }).find("read-only"),
              std::string::npos);
  }
}

TEST(AtomicFile, AWriteThatBreaksOffKeepsTheOldFileAndRemovesTheNew) {
  const TemporaryFolder folder;
  write_text(folder / "a", "old");
  const int status = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    const auto sentence = sentence_of([&] { write_text(folder / "a", std::string(5000, 'x')); });
    return sentence.find("See ulimit -f") != std::string::npos ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(contents_of(folder / "a"), "old");
  EXPECT_EQ(entries_of(folder.path()), 1u);
}

TEST(AtomicFile, AFullDiskIsNamedWithARemedy) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  EXPECT_EQ(sentence_of([&] { detail::write_all(full, bytes_of("x"), "/data/run/model.bin"); }),
            "/data/run/model.bin cannot be written: the disk of /data/run is full. Free some space "
            "(see df -h /data/run), or give a path on another disk.");
  EXPECT_EQ(sentence_of([&] {
              detail::write_all(full, bytes_of("x"), "/data/run/.unfinished-7/model.bin");
            }),
            "/data/run/.unfinished-7/model.bin cannot be written: the disk of /data/run is full. "
            "Free some space (see df -h /data/run), or give a path on another disk.")
      << "a hidden folder is gone when the sentence is read";
  close(full);
}

// Generation g of the file: 64 pieces of 1 KiB that all say g.
std::string generation_text(unsigned generation) {
  std::string piece = std::to_string(generation);
  piece.resize(1024, '.');
  return piece;
}

[[noreturn]] void write_generations_for_ever(const std::filesystem::path& path, unsigned first) {
  for (unsigned generation = first;; ++generation) {
    const std::string piece = generation_text(generation);
    AtomicFile file(path);
    for (int i = 0; i < 64; ++i) file.write(bytes_of(piece));
    file.commit();
  }
}

// The generation of a whole file; the test fails when it is torn.
unsigned whole_generation(const std::filesystem::path& path) {
  const std::string text = contents_of(path);
  EXPECT_EQ(text.size(), 64u * 1024u);
  const auto generation = static_cast<unsigned>(std::stoul(text));
  const std::string piece = generation_text(generation);
  for (std::size_t at = 0; at + 1024 <= text.size(); at += 1024) {
    EXPECT_EQ(text.compare(at, 1024, piece), 0) << "torn at byte " << at;
  }
  return generation;
}

TEST(AtomicFile, AProcessKilledAtAnyMomentLeavesTheOldOrTheNewFileWhole) {
  const TemporaryFolder folder;
  std::string first;
  for (int i = 0; i < 64; ++i) first += generation_text(0);
  write_text(folder / "a", first);
  std::mt19937 random(7);
  unsigned generation = 0;
  int killed_while_writing = 0;
  constexpr int kKills = 200;
  // On a busy machine many a kill comes before the first write: then more of them follow.
  const auto met = [&] { return killed_while_writing > 50 && generation > 200u; };
  for (int kill_number = 0; kill_number < kKills || (!met() && kill_number < 20 * kKills);
       ++kill_number) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_generations_for_ever(folder / "a", generation + 1);
    const timespec moment{0, static_cast<long>(random() % 20'000'000)};
    ppoll(nullptr, 0, &moment, nullptr);
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);

    const unsigned found = whole_generation(folder / "a");
    ASSERT_FALSE(HasFailure()) << "after kill " << kill_number;
    ASSERT_GE(found, generation) << "an older file came back";
    generation = found;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      if (entry.path().filename() == "a") continue;
      ++killed_while_writing;
      std::filesystem::remove(entry.path());
    }
  }
  // Otherwise the kills came too early or too late to prove anything.
  EXPECT_TRUE(met()) << killed_while_writing << " kills while writing, generation " << generation;
}

}  // namespace
}  // namespace myxtts::atomic_file_test
