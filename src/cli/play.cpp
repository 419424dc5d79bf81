// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "audio/audio_file.h"
#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/synthesize.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

// What plays a WAV file that is named behind it. The sound servers first: where one runs, it holds
// the card.
const std::vector<Words> kPlayers = {{"pw-play"},
                                     {"paplay"},
                                     {"aplay", "-q"},
                                     {"ffplay", "-nodisp", "-autoexit", "-loglevel", "error"}};

std::vector<Words> players_here() {
  std::vector<Words> players = kPlayers;
  std::erase_if(players, [](const Words& player) { return find_program(player[0]).empty(); });
  return players;
}

// The sound as the WAV that every player knows: the file itself where it is one.
fs::path as_wav(const fs::path& sound, const ScratchFolder& folder) {
  if (sound.extension() == ".wav") return sound;
  const AudioData audio = read_audio(sound);
  fs::path wav = folder / "sound.wav";
  write_wav(wav, audio.samples, audio.sample_rate);
  return wav;
}

// Players that fail are out of the list from then on; the last one's failure is an error.
void play_sound(std::vector<Words>& players, const fs::path& sound, const fs::path& wav,
                const Interruption& interruption) {
  while (!interruption.came()) {
    Words command = players.front();
    command.push_back(wav.string());
    ChildProcess player(command);
    const int exit_code = finish_command(player, interruption);
    if (exit_code == 0 || interruption.came()) return;
    if (players.size() == 1) {
      throw DataError(
          fmt::format("{} could not play {} (exit code {}); is there a sound card here? "
                      "To keep the sound instead, give --out FILE.wav without --play.",
                      command[0], sound.string(), exit_code));
    }
    players.erase(players.begin());
  }
}

}  // namespace

void require_player() {
  if (!players_here().empty()) return;
  throw ConfigError(
      "--play needs pw-play, paplay, aplay or ffplay, and none of them is in PATH; install one, as "
      "in apt-get install alsa-utils, or give --out FILE.wav without --play.");
}

int play(const std::vector<SpeakingJob>& jobs, const Interruption& interruption) {
  const ScratchFolder folder("play");
  std::vector<Words> players = players_here();
  for (const SpeakingJob& job : jobs) {
    play_sound(players, job.out, as_wav(job.out, folder), interruption);
    if (interruption.came()) return kExitBySignal + interruption.signal();
  }
  return 0;
}

}  // namespace myxtts
