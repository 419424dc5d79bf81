// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/interruption.h"
#include "base/process.h"
#include "cli/command_line.h"
#include "session/console.h"

namespace myxtts {
namespace {

enum ExitCode { kConfigError = 2, kDataError = 3, kDeviceError = 4, kInternalError = 70 };

// Any file may be the one too many, so the remedy stands here and not where each is opened.
std::string with_limit_of_files(std::string sentence) {
  if (sentence.find(std::generic_category().message(EMFILE)) == std::string::npos) return sentence;
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  return fmt::format("{} This shell allows {} open files at once; allow more with: ulimit -n 4096",
                     sentence, files.rlim_cur);
}

int report(const std::exception& error, ExitCode exit_code) {
  report_error(with_limit_of_files(error.what()));
  return exit_code;
}

// A failure that nobody gave a sentence of its own.
int report_bug(const char* what) {
  report_error(
      fmt::format("This is a bug of MyXTTS, please report it with the command line: {}", what));
  return kInternalError;
}

}  // namespace
}  // namespace myxtts

int main(int argument_count, char** arguments) {
  using namespace myxtts;
  keep_freed_memory();
  std::signal(SIGPIPE, SIG_DFL);  // `myxtts config | head` ends quietly, whoever started us
  try {
    return run_command_line(argument_count, arguments);
  } catch (const ConfigError& error) {
    return report(error, kConfigError);
  } catch (const DataError& error) {
    return report(error, kDataError);
  } catch (const DeviceError& error) {
    return report(error, kDeviceError);
  } catch (const Interrupted& interrupted) {
    report_error("Interrupted; what was begun is removed.");
    return kExitBySignal + interrupted.signal;
  } catch (const std::filesystem::filesystem_error& error) {
    report_error(
        with_limit_of_files(fmt::format("A file or folder cannot be used: {}.", error.what())));
    return kDataError;
  } catch (const c10::OutOfMemoryError&) {
    report_error("The memory of the GPU is full; use a smaller batch or model, or --device cpu.");
    return kDeviceError;
  } catch (const std::bad_alloc&) {
    report_error("There is no memory left; use a smaller batch or model.");
    return kDeviceError;
  } catch (const std::exception& error) {
    return report_bug(error.what());
  } catch (...) {
    return report_bug("something unknown was thrown");
  }
}
