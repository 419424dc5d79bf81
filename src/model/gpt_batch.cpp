// SPDX-License-Identifier: Apache-2.0
#include "model/gpt_batch.h"

#include <ATen/ATen.h>

namespace myxtts {

GptBatch to_batch(const GptRows& rows, c10::Device device) {
  GptBatch batch;
  copy_row_info(rows, batch);
  const auto upload = [device]<typename Value>(const std::vector<Value>& values,
                                               at::Tensor& tensor) {
    tensor = at::tensor(at::ArrayRef<Value>(values)).to(device);
  };
  for_each_row_array(upload, rows, batch);
  batch.text_count = batch.text_count.squeeze(0);
  batch.audio_count = batch.audio_count.squeeze(0);
  return batch;
}

}  // namespace myxtts
