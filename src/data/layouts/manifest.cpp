// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/manifest.h"

#include "base/error.h"
#include "base/file_remedies.h"
#include "base/files.h"
#include "config/value_text.h"
#include "data/layouts/corpus_faults.h"
#include "data/layouts/layout.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

// "corpora/lj" for "./corpora//lj/", so that paths below it compare.
fs::path without_slash(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

LayoutFiles files_of(const CorpusSource& source, CorpusPart part) {
  std::error_code failed;
  const auto status = fs::status(source.path, failed);
  const fs::path path = without_slash(source.path);
  if (fs::is_directory(status)) return {.folder = path, .part = part};
  if (fs::is_regular_file(status)) {
    const fs::path folder = path.parent_path();
    return {.folder = folder.empty() ? fs::path(".") : folder, .manifest = path, .part = part};
  }
  if (status.type() == fs::file_type::none) {
    throw DataError(fmt::format("The corpus {} cannot be read: {}. {}", source.path.string(),
                                failed.message(), permission_remedy(source.path, FileUse::Read)));
  }
  throw DataError(
      fmt::format("There is no corpus {}; give the path of its folder or of its manifest.",
                  source.path.string()));
}

bool is_of_folders(CorpusLayout layout) {
  return layout == CorpusLayout::Vctk || layout == CorpusLayout::LibriTts ||
         layout == CorpusLayout::TextFiles;
}

Manifest read_layout(CorpusLayout layout, const LayoutFiles& files) {
  switch (layout) {
    case CorpusLayout::LjSpeech:
      return read_ljspeech(files);
    case CorpusLayout::Original:
      return read_original(files);
    case CorpusLayout::Vctk:
      return read_vctk(files);
    case CorpusLayout::CommonVoice:
      return read_common_voice(files);
    case CorpusLayout::LibriTts:
      return read_libritts(files);
    case CorpusLayout::CoquiCsv:
      return read_coqui_csv(files);
    case CorpusLayout::Plain:
      return read_plain(files);
    case CorpusLayout::NemoJsonl:
      return read_nemo_jsonl(files);
    case CorpusLayout::TextFiles:
      return read_text_files(files);
  }
  MYXTTS_CHECK(false, "there is no layout {}", static_cast<int>(layout));
  return {};
}

CorpusLayout layout_of(const CorpusSource& source, const LayoutFiles& files) {
  return source.layout ? *source.layout : detect_layout(files);
}

}  // namespace

void check_corpora(const DataConfig& config) {
  for (const auto* sources : {&config.train_data, &config.val_data}) {
    for (CorpusSource source : *sources) {
      if (!source.layout) source.layout = config.format;
      const LayoutFiles files = files_of(source, CorpusPart::Train);
      const CorpusLayout layout = layout_of(source, files);
      // What a look does not settle, all lines do.
      if (sources == &config.train_data && !shows_recordings(files, layout)) read_manifest(source);
    }
  }
}

Manifest read_manifest(const CorpusSource& source, CorpusPart part) {
  const LayoutFiles files = files_of(source, part);
  const CorpusLayout layout = layout_of(source, files);
  if (is_of_folders(layout) && !files.manifest.empty()) {
    throw DataError(
        fmt::format("{} is a file, but the layout {} is one of folders; name the folder.",
                    source.path.string(), name_of(layout)));
  }
  Manifest manifest = read_layout(layout, files);
  if (part == CorpusPart::Train && manifest.entries.empty()) {
    throw RefusedCorpusError(no_clip_found(files, manifest));
  }
  return manifest;
}

}  // namespace myxtts
