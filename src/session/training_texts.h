// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/data.h"
#include "text/vocabulary_learning.h"

namespace myxtts {

// The texts of every clip that data.train_data names, clean, by language; nothing of their sound is
// looked at. Languages that have no rules of cleaning are left out, as they are when the corpus is
// opened. Throws DataError where a corpus cannot be read or holds no text at all.
SentencesByLanguage training_texts(const DataConfig& config);

}  // namespace myxtts
