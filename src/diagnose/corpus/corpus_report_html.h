// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "diagnose/corpus/corpus_report.h"

namespace myxtts {

// The report as one page that needs nothing else: pictures are inline SVG, there is no script, and
// whatever the corpus holds is shown as text. Reads well from a telephone to a wide screen.
std::string to_html(const CorpusReport& report);

}  // namespace myxtts
